"""Cenotaph as a contender: the product's own write path, and the same with its encryption or its tree taken out."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from uuid import UUID, uuid4

from events.envelope import (
    Command,
    DataKey,
    SealedCommand,
    SealedPart,
    event_id_of,
    memory_stream,
    seal,
    write_envelope,
)
from events.log import EventLog, Tail, read_sealed
from events.model import (
    CommandId,
    KeyId,
    Position,
    Scope,
    SubjectId,
)
from events.postgres import Database
from events.provider import FileProvider
from events.sealer import Sealer
from events.vault import Vault
from ops.bench.append.contender import Ledger
from ops.bench.history import accepted
from ops.bench.places import Places
from workers import seal as sealing
from workers.loop import forever

_READ = 1000
_POLL_S = 0.05
_SEALED = 2000


@dataclass(frozen=True)
class Variant:
    """What is switched on. Without encryption there is no vault either: bodies are stored as they are."""

    name: str
    encryption: bool = True
    tree: bool = True


VARIANTS = (
    Variant("full"),
    Variant("no_encryption", encryption=False),
    Variant("no_tree", tree=False),
    Variant("plain", encryption=False, tree=False),
)


class Ours:
    """A log and a vault of its own; each writer is a person who appends to the memory stream, expecting its version.

    Every append opens the person's keyring, leases a data key for each event, seals and appends: as one request of the
    product does. The sealer and the reader run in the same process, as in `cenotaph up`.
    """

    def __init__(self, places: Places, variant: Variant) -> None:
        self.name = variant.name
        self._places = places
        self._variant = variant
        self._position = Position(-1)

    async def create(self) -> None:
        """Make log, vault and a tenant."""
        self._log_url, self._vault_url = await self._places.log(self.name), await self._places.vault(self.name)
        self._provider = FileProvider(self._places.clusters.keys)
        keeper = self._places.pool(self._vault_url, "vault_keeper")
        self._tenant = await Vault(keeper, self._provider).create_tenant()
        await keeper.close()

    @asynccontextmanager
    async def at_work(self, writers: int) -> AsyncIterator[None]:
        """Open the pools, meet new people, and seal."""
        async with AsyncExitStack() as stack:
            pools = {
                role: self._places.pool(self._vault_url if role == "vault_keeper" else self._log_url, role)
                for role in ("vault_keeper", "cenotaph_appender", "cenotaph_projector", "cenotaph_sealer")
            }
            for pool in pools.values():
                stack.push_async_callback(pool.close)
            self._reader = pools["cenotaph_projector"]
            self._vault = Vault(pools["vault_keeper"], self._provider)
            self._log = EventLog(pools["cenotaph_appender"])
            stack.push_async_callback(self._log.close)
            self._bell = Tail(self._reader.url, _POLL_S)
            stack.push_async_callback(self._bell.close)
            self._people = [Scope(tenant_id=self._tenant, subject_id=SubjectId(uuid4())) for _ in range(writers)]
            self._versions = [0] * writers
            sealer = pools["cenotaph_sealer"]
            work = sealing.seal(Sealer(sealer)) if self._variant.tree else seal_without_tree(sealer)
            task = asyncio.create_task(work)
            try:
                yield
            finally:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def write(self, writer: int, batch: int, ledger: Ledger) -> None:
        """Append as one person."""
        prepare = seal if self._variant.encryption else unsealed
        while ledger.more():
            begun = time.perf_counter()
            sealed = prepare(await self._command(writer, batch))
            answer = await self._log.append_sealed(sealed)
            assert answer.versions is not None, "append raises on a conflict"  # noqa: S101 - narrows the type
            self._versions[writer] = answer.versions[1]
            ledger.note(begun, [event.event_id for event in sealed.events])

    async def _command(self, writer: int, batch: int) -> Command:
        scope = self._people[writer]
        if self._variant.encryption:
            keys = await (await self._vault.keyring(scope)).lease(batch)
        else:
            keys = [DataKey(KeyId(uuid4()), b"") for _ in range(batch)]
        return Command(
            CommandId(uuid4()),
            scope,
            memory_stream(scope.subject_id),
            self._versions[writer],
            "worker:bench",
            tuple(accepted(key) for key in keys),
        )

    async def read(self) -> list[UUID]:
        """Read the sealed tail as a read model does."""
        async with self._reader.connection() as connection:
            events = await read_sealed(connection, self._position, _READ)
        if not events:
            await self._bell.wait()
            return []
        self._position = events[-1].position or Position(0)
        return [event.event_id for event in events]


def unsealed(command: Command) -> SealedCommand:
    """Prepare a command as `seal` does, with its bodies as they are."""
    events = []
    for ordinal, new in enumerate(command.events):
        parts = tuple(
            SealedPart(part.name, part.key.key_id, part.body.model_dump_json().encode()) for part in new.parts
        )
        events.append(write_envelope(command, ordinal, event_id_of(command.command_id, ordinal), parts))
    return SealedCommand(command, tuple(events))


_POSITIONS = """
with taken as (
  delete from log.unsealed where seq = any(array(select seq from log.unsealed order by seq limit $1)) returning seq
), given as (
  insert into log.sealed (position, seq)
  select (select size from log.head) + row_number() over (order by seq) - 1, seq from taken returning 1
)
select count(*) from given
"""


async def seal_without_tree(database: Database) -> None:
    """Give positions and notify like the sealer, without hashing anything."""

    async def step() -> bool:
        async with database.connection() as connection:
            if not await connection.fetchval("select exists (select from log.unsealed)"):
                return False
            async with connection.transaction():
                await connection.fetchval("select size from log.head for update")
                count: int = await connection.fetchval(_POSITIONS, _SEALED)
                await connection.execute("update log.head set size = size + $1", count)
                await connection.execute("select pg_notify('log', '')")
        return count == _SEALED

    await forever("seal", step, lambda: asyncio.sleep(0.01))
