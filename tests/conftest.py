"""Real servers for the rings that need them: started once, from an empty folder, ended with the run."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import settings

from events.log import EventLog
from events.model import Scope, SubjectId
from events.postgres import Database
from events.provider import FileProvider
from events.vault import Vault
from ops.embedded.supervisor import Embedded, Endpoints
from ops.migrations import migrate
from ops.settings import load_settings

# No deadline: a busy machine is no fault of the code. A check before a merge asks the same questions each time; new
# ones are sought by `make test-long`, which names the other profile.
settings.register_profile("seeded", deadline=None, derandomize=True)
settings.register_profile("searching", deadline=None, max_examples=500)
settings.load_profile("seeded")


@pytest.fixture(scope="session")
def endpoints(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoints]:
    """Run the embedded servers on a folder of their own."""
    with Embedded(load_settings(data=tmp_path_factory.mktemp("data"))) as embedded:
        yield embedded.endpoints


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the one folder of key files that belongs to the servers of this run."""
    return tmp_path_factory.mktemp("keys")


@dataclass(frozen=True)
class Stores:
    """The migrated stores of one test run."""

    endpoints: Endpoints
    keys: Path
    owner: Database
    appender: Database
    sealer: Database
    projector: Database
    reader: Database
    keeper: Database
    eraser: Database

    @property
    def provider(self) -> FileProvider:
        """Where the epoch keys lie."""
        return FileProvider(self.keys)

    @property
    def vault(self) -> Vault:
        """The vault as the write path holds it."""
        return Vault(self.keeper, self.provider)


@pytest.fixture(scope="session")
async def stores(endpoints: Endpoints, keys: Path) -> AsyncIterator[Stores]:
    """Migrate both clusters and open a pool for each role."""
    await migrate(endpoints.database_url, "log")
    await migrate(endpoints.vault_url, "vault")
    log, vault = endpoints.database_url, endpoints.vault_url
    stores = Stores(
        endpoints=endpoints,
        keys=keys,
        owner=Database(log, None),
        appender=Database(log, "cenotaph_appender"),
        sealer=Database(log, "cenotaph_sealer"),
        projector=Database(log, "cenotaph_projector"),
        reader=Database(log, "cenotaph_reader"),
        keeper=Database(vault, "vault_keeper"),
        eraser=Database(vault, "vault_eraser"),
    )
    yield stores
    for name in ("owner", "appender", "sealer", "projector", "reader", "keeper", "eraser"):
        await getattr(stores, name).close()


@pytest.fixture
async def scope(stores: Stores) -> Scope:
    """Make a fresh person in a fresh tenant."""
    tenant = await stores.vault.create_tenant()
    return Scope(tenant_id=tenant, subject_id=SubjectId(uuid4()))


@pytest.fixture
async def log(stores: Stores) -> AsyncIterator[EventLog]:
    """Give the log's write path."""
    log = EventLog(stores.appender)
    yield log
    await log.close()
