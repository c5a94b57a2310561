"""`cenotaph bench forget --whole`: a person and a tenant forgotten as a whole, up to the receipt; see the README."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from events.errors import CenotaphError
from events.model import EventId, Scope, SubjectId, TenantId
from events.postgres import Connection
from ops.bench.recall.fill import append
from ops.bench.running import Up, up
from ops.composition import Composition
from projections.follower import place_of
from projections.vector_probe import VectorProbe
from services.forgetting.whole import tables_of

_POLL_S: Final = 0.1
_GIVE_UP_S: Final = 900.0
_GOALS_S: Final = {"person": 10.0, "tenant": 60.0}
_NOBODY: Final = SubjectId(UUID(int=0))
_BEHIND: Final = """
select (select count(*) from log.unsealed) + coalesce(sum((select size - 1 from log.head) - position), 0)
from read_model.checkpoint where name in ('facts', 'keywords', 'vectors', 'sessions', 'tasks')"""
_OTHERS: Final = "select count(*) from {table} where tenant_id <> $1 or subject_id <> coalesce($2::uuid, subject_id)"
_ERASURE: Final = "select * from ops.erasure where tombstone = $1"

Counts = dict[str, int]


@dataclass(frozen=True)
class Wish:
    """Somebody who is forgotten as a whole: how many people that are, and how many memories together."""

    what: Literal["person", "tenant"]
    scope: Scope
    people: int
    memories: int

    @property
    def person(self) -> SubjectId | None:
        """Whose all goes; None for everybody's of the tenant."""
        return self.scope.subject_id if self.what == "person" else None


class Everything:
    """Forgets, waits for the receipts, and reclaims the bytes.

    Args:
        composition: the stores of a running system.
    """

    def __init__(self, composition: Composition) -> None:
        self._composition = composition

    async def followed(self) -> None:
        """Wait until every read model has reached the end of the log."""
        async with self._composition.log(None).connection() as connection:
            while behind := await connection.fetchval(_BEHIND):
                _say(f"{behind} positions to follow")
                await asyncio.sleep(_POLL_S)
            await connection.execute("vacuum analyze")

    async def forget(self, wish: Wish) -> dict[str, object]:
        """Forget it; return seconds from the tombstone to each layer and to the receipt, and what others lost."""
        load = os.getloadavg()
        before = await self._elsewhere(wish)
        left = await self._own(wish)
        tombstone = await self._composition.backend.forgetter.forget_whole(wish.scope, wish.what, "bench")
        row = await self._until_signed(tombstone)
        requested: datetime = row["requested_at"]
        layers = {each["layer"]: each for each in row["layers"]}
        seconds = {
            name: round((datetime.fromisoformat(each["at"]) - requested).total_seconds(), 2)
            for name, each in layers.items()
            if each["state"] != "not_configured"
        }
        receipt_s = round((row["propagated_at"] - requested).total_seconds(), 2)
        after = await self._elsewhere(wish)
        return {
            "people": wish.people,
            "memories": wish.memories,
            "rows_before": left,
            "rows_after": await self._own(wish),
            "receipt_s": receipt_s,
            "goal_s": _GOALS_S[wish.what],
            "tries": row["attempts"],
            "layers_s": seconds,
            "asked": {name: each["checks"] for name, each in layers.items() if name in {"vector_index", "read_path"}},
            "negative_queries": row["negatives"],
            "others_lost": {name: before[name] - after[name] for name in before if before[name] != after[name]},
            "load_average": {"before": load, "after": os.getloadavg()},
        }

    async def purge(self) -> dict[str, object]:
        """Reclaim the bytes step by step, and sign the second receipts; return how many seconds each step took."""
        composition, seconds = self._composition, dict[str, float]()
        for name, step in (
            ("tables_vacuumed", composition.reclaiming_tables.step),
            ("vector_partitions_written", composition.reclaiming_vectors.step),
            ("keys_rolled", composition.roller.roll),
            ("append_only_file_rewritten", composition.append_only_file.reclaim),
        ):
            begun = time.perf_counter()
            await step()
            seconds[name] = round(time.perf_counter() - begun, 2)
        return {"second_receipts": await composition.purger.step(), "purge_s": seconds}

    async def _until_signed(self, tombstone: EventId) -> dict[str, Any]:
        deadline = time.monotonic() + _GIVE_UP_S
        while time.monotonic() < deadline:
            async with self._composition.log("prober").connection() as connection:
                row = await connection.fetchrow(_ERASURE, tombstone)
            if row is not None and row["cleared_at"] is not None:
                return dict(row)
            await asyncio.sleep(_POLL_S)
        waiting = [] if row is None else [each["layer"] for each in row["layers"] if each["state"] == "present"]
        raise CenotaphError(f"receipt {tombstone} stays pending; still present: {', '.join(waiting) or 'nothing'}")

    async def _own(self, wish: Wish) -> int:
        """Count the vectors of whoever is forgotten, by a raw read of every partition."""
        async with self._composition.log(None).connection() as connection:
            place = await place_of(connection, "vectors")
        probe = VectorProbe(self._composition.endpoints.milvus_uri, place)
        try:
            return await probe.count(wish.scope.tenant_id, wish.person)
        finally:
            await probe.close()

    async def _elsewhere(self, wish: Wish) -> Counts:
        """Count the rows of everybody else, in every table that belongs to people, and in the vector index."""
        composition = self._composition
        async with composition.log(None).connection() as connection:
            found = await _counted(connection, ("log", "facts", "keywords", "sessions", "tasks"), wish)
            place = await place_of(connection, "vectors")
        async with composition._vault_owner.connection() as connection:  # noqa: SLF001 - the vault as its owner
            found |= await _counted(connection, ("vault",), wish)
        probe = VectorProbe(composition.endpoints.milvus_uri, place)
        found["vectors"] = await probe.count() - await probe.count(wish.scope.tenant_id, wish.person)
        await probe.close()
        return found


async def _counted(connection: Connection, schemas: Sequence[str], wish: Wish) -> Counts:
    found = {}
    for schema in schemas:
        for name in await tables_of(connection, schema):
            table = f"{schema}.{name}"
            personal = await connection.fetchval(
                "select exists (select from pg_attribute where attrelid = $1::text::regclass"
                " and attname = 'subject_id')",
                table,
            )
            if personal and table not in _GROWING:
                found[table] = await connection.fetchval(_OTHERS.format(table=table), wish.scope.tenant_id, wish.person)
    return found


_GROWING: Final = frozenset({"log.event", "log.stream", "log.fence", "vault.gone", "vault.due"})
"""Tables in which forgetting itself writes rows."""


async def measure(running: Up, memories: int, people: int, person: int) -> dict[str, object]:
    """Fill, forget a person of `person` memories, then a tenant of `memories`, then purge; return the figures."""
    composition = Composition(running.settings, running.endpoints)
    try:
        run = Everything(composition)
        begun = time.perf_counter()
        (one,) = await append(composition, 1, person, lambda count: _say(f"{count} memories of one person"))
        each = -(-memories // people)
        crowd = await append(composition, people, each, lambda count: _say(f"{count} more of a tenant"))
        stays = await append(composition, 5, 200, lambda count: _say(f"{count} of others"))
        neighbours = len(stays)
        await run.followed()
        filled_s = round(time.perf_counter() - begun, 1)
        alone = await run.forget(Wish("person", one.scope, 1, person))
        everybody = Scope(tenant_id=TenantId(crowd[0].scope.tenant_id), subject_id=_NOBODY)
        tenant = await run.forget(Wish("tenant", everybody, people, people * each))
        return {
            "person": alone,
            "tenant": tenant,
            "purge": await run.purge(),
            "filled_s": filled_s,
            "others": neighbours,
            "cpus": os.cpu_count(),
        }
    finally:
        await composition.close()


def main(memories: int, people: int, person: int) -> dict[str, object]:
    """Run everything on a `cenotaph up` of its own."""
    with up() as running:
        return asyncio.run(measure(running, memories, people, person))


def table(result: dict[str, object]) -> str:
    """Lay the figures out for reading."""
    lines = []
    for name in ("person", "tenant"):
        found = result[name]
        assert isinstance(found, dict)  # noqa: S101  # narrows the type
        lines.append(f"{name}: {found['memories']} memories of {found['people']}")
        lines.append(
            f"  receipt {found['receipt_s']} s after the tombstone (goal {found['goal_s']:g} s), {found['tries']} tries"
        )
        lines.append(
            "  layers, s: " + ", ".join(f"{layer} {at}" for layer, at in sorted(found["layers_s"].items(), key=_second))
        )
        rest = ("rows_before", "rows_after", "asked", "negative_queries", "others_lost", "load_average")
        lines += [f"  {each}: {json.dumps(found[each])}" for each in rest]
    beside = (each for each in result if each not in {"person", "tenant"})
    return "\n".join([*lines, *(f"{each}: {json.dumps(result[each])}" for each in beside)])


def _second(pair: tuple[str, float]) -> float:
    return pair[1]


def _say(words: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{words}")
