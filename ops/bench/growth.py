"""`cenotaph bench growth`: what a log of so many events costs in bytes, and in time to verify and to rebuild from."""

import asyncio
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

from events.postgres import Database
from events.provider import FileProvider
from events.vault import Vault
from ops.bench.history import fill, house
from ops.bench.places import Places, durability, places
from projections.facts import Facts
from projections.follower import Follower
from projections.index import IndexReader
from projections.keywords import Keywords
from projections.sessions import Sessions
from services.audit.evidence import Trust
from services.audit.reading import Copies, snapshot, verify

_PEOPLE = 200
_RELATIONS = """
select n.nspname || '.' || c.relname as relation, c.relkind::text as kind,
       pg_relation_size(c.oid) as main, pg_total_relation_size(c.oid) as total
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'i') and n.nspname not in ('pg_catalog', 'pg_toast', 'information_schema')
  and pg_relation_size(c.oid) > 65536
order by total desc
"""


@dataclass(frozen=True)
class Relation:
    """A table (kind `r`) or an index (`i`): its own bytes, and in all, for a table with its indexes."""

    relation: str
    kind: str
    main: int
    total: int


@dataclass
class Spent:
    """What each step took: seconds, processor seconds of this process, and the most memory it had held by then."""

    seconds: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)
    peak_mib: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def on(self, name: str) -> Iterator[None]:
        """Note a step."""
        begun, processor = time.perf_counter(), time.process_time()
        yield
        self.seconds[name] = time.perf_counter() - begun
        self.processor[name] = time.process_time() - processor
        self.peak_mib[name] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


async def measure(events: int) -> dict[str, object]:
    """Fill a log with whole turns, then measure it; return bytes by relation and seconds by step."""
    load = os.getloadavg()
    async with places() as made, house(made, "growth", _PEOPLE) as home:
        settings = await durability(made.clusters.log_url)
        owner, vault_owner = Database(home.log_url, None), Database(home.vault_url, None)
        try:
            wal = {"log": await _wal(owner), "vault": await _wal(vault_owner)}
            spent = Spent()
            with spent.on("import_and_seal"):
                appended, sealing = await fill(home, events, turns=True)
                await sealing
            wal = {"log": await _wal(owner) - wal["log"], "vault": await _wal(vault_owner) - wal["vault"]}
            with spent.on("verify"):
                async with snapshot(owner) as connection:
                    checked = await verify(connection, Copies((), ()), Trust())
            await _rebuild(made, home.vault_url, owner, spent)
            relations = {"log": await _relations(owner), "vault": await _relations(vault_owner)}
        finally:
            await owner.close()
            await vault_owner.close()
    return {
        "events": appended,
        "verified": checked.end,
        "faults": checked.total,
        "seconds": {name: round(taken, 1) for name, taken in spent.seconds.items()},
        "client_core_s": {name: round(taken, 1) for name, taken in spent.processor.items()},
        "peak_rss_mib": spent.peak_mib,
        "events_per_s": {name: round(appended / taken) for name, taken in spent.seconds.items()},
        "events_per_client_core_s": {name: round(appended / taken) for name, taken in spent.processor.items()},
        "wal_bytes_per_event": {name: round(written / appended) for name, written in wal.items()},
        "bytes_per_event": {
            cluster: round(sum(each.total for each in found if each.kind == "r") / appended)
            for cluster, found in relations.items()
        },
        "relations": {cluster: [asdict(each) for each in found] for cluster, found in relations.items()},
        **settings,
        "load": {"before": load, "after": os.getloadavg()},
    }


async def _rebuild(made: Places, vault_url: str, owner: Database, spent: Spent) -> None:
    opener = made.pool(vault_url, "vault_opener")
    index = IndexReader(Vault(opener, FileProvider(made.clusters.keys)))
    try:
        for model in (Facts(index), Keywords(index), Sessions()):
            with spent.on(f"rebuild_{model.name}"):
                await Follower(model, owner).rebuild()
    finally:
        await opener.close()


async def _wal(database: Database) -> int:
    async with database.connection() as connection:
        written: int = await connection.fetchval("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
    return int(written)


async def _relations(database: Database) -> list[Relation]:
    async with database.connection() as connection:
        await connection.execute("vacuum analyze")
        return [Relation(**row) for row in await connection.fetch(_RELATIONS)]


def main(events: int) -> dict[str, object]:
    """Run it to its end."""
    return asyncio.run(measure(events))
