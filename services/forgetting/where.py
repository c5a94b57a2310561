"""Where a memory is now: every layer asked by the same raw probes that a receipt is made of (R45).

Only the erasing worker may look everywhere, so a door writes its question into `ops.locating` and waits for the answer.
Ids and numbers only, on both sides.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

import orjson

from events.envelope import memory_stream
from events.errors import UnavailableError
from events.log import read_stream, read_turns
from events.model import Frozen, LayerFinding, MemoryId, Scope, SubjectId, TenantId, Tombstoned
from events.postgres import Database, Row
from services.forgetting.layers import Registry, hits
from services.forgetting.plan import Going, plan, trace
from services.forgetting.question import Question, by_ids
from services.forgetting.semantic import ReadPathProbe

CHANNEL = "locating"
_WITHIN_S = 10.0
_POLL_S = 0.02
_AT_ONCE = 10


class Location(Frozen):
    """What one layer holds of a memory, and who may read it there."""

    finding: LayerFinding
    readers: tuple[str, ...]

    @property
    def holds(self) -> bool | None:
        """Say whether the layer holds any of it; None where it could not be asked."""
        if self.finding.state == "cannot_prove" and not self.finding.checks:
            return None
        return bool(hits(self.finding.checks))


class Locations:
    """Asks, for a door.

    Args:
        reader: a pool under `cenotaph_reader`.
    """

    def __init__(self, reader: Database) -> None:
        self._reader = reader

    async def of(self, scope: Scope, memory_id: MemoryId) -> tuple[Location, ...] | None:
        """Return what every layer holds; None where this person never had such a memory.

        Raises:
            UnavailableError: no erasing worker answers.
        """
        request = uuid4()
        async with self._reader.transaction(scope) as connection:
            await connection.execute(
                "insert into ops.locating (request_id, tenant_id, subject_id, memory_id) values ($1, $2, $3, $4)",
                request,
                scope.tenant_id,
                scope.subject_id,
                memory_id,
            )
            await connection.execute("select pg_notify($1, '')", CHANNEL)
        deadline = asyncio.get_running_loop().time() + _WITHIN_S
        while asyncio.get_running_loop().time() < deadline:
            async with self._reader.transaction(scope) as connection:
                row = await connection.fetchrow(
                    "select locations from ops.locating where request_id = $1 and answered_at is not null", request
                )
            if row is not None:
                found = row["locations"]
                return None if found is None else tuple(map(Location.model_validate, found))
            await asyncio.sleep(_POLL_S)
        raise UnavailableError("no erasing worker answers where a memory is; is `cenotaph worker erase` running?")


class Locator:
    """Answers, where every layer may be asked.

    Args:
        eraser: a pool under `cenotaph_eraser`, for the questions.
        prober: a pool under `cenotaph_prober`, for the log.
        registry: every layer and every probe.
    """

    def __init__(self, eraser: Database, prober: Database, registry: Registry) -> None:
        self._eraser = eraser
        self._prober = prober
        self._registry = registry

    async def step(self) -> int:
        """Answer what is asked, drop what was asked a while ago; return how many were answered."""
        async with self._eraser.connection() as connection:
            await connection.execute(
                "delete from ops.locating where asked_at < clock_timestamp() - interval '1 minute'"
            )
            rows = await connection.fetch(
                "select request_id, tenant_id, subject_id, memory_id from ops.locating where answered_at is null"
                " order by asked_at limit $1",
                _AT_ONCE,
            )
        await asyncio.gather(*map(self._answer, rows))
        return len(rows)

    async def locate(self, scope: Scope, memory_id: MemoryId) -> tuple[Location, ...] | None:
        """Ask every layer for what a forget of this memory would name, or named; None where there is no such memory."""
        question = await self._question(scope, memory_id)
        if question is None:
            return None
        answers = await self._registry.answers(question)
        readers = await asyncio.gather(*(probe.readers() for probe, _ in answers), return_exceptions=True)
        return tuple(
            Location(finding=found, readers=() if isinstance(may, BaseException) else tuple(may))
            for (_, found), may in zip(answers, readers, strict=True)
            if found.layer != ReadPathProbe.layer
        )

    async def _answer(self, asked: Row) -> None:
        scope = Scope(tenant_id=TenantId(asked["tenant_id"]), subject_id=SubjectId(asked["subject_id"]))
        found = await self.locate(scope, MemoryId(asked["memory_id"]))
        async with self._eraser.connection() as connection:
            await connection.execute(
                "update ops.locating set locations = $2, answered_at = clock_timestamp() where request_id = $1",
                asked["request_id"],
                None if found is None else _json(found),
            )

    async def _question(self, scope: Scope, memory_id: MemoryId) -> Question | None:
        async with self._prober.connection() as connection:
            stream = await read_stream(connection, scope, memory_stream(scope.subject_id))
            found = trace(stream, memory_id)
            if found.tombstone is not None and isinstance(found.tombstone.event, Tombstoned):
                return by_ids(scope, found.tombstone.recorded_at, found.tombstone.event)
            if not found.versions:
                return None
            turns = await read_turns(connection, sorted(found.turns))
        return by_ids(scope, datetime.now(UTC), plan(stream, Going({memory_id: found}), turns, ()))


def _json(found: Sequence[Location]) -> str:
    return orjson.dumps([each.model_dump(mode="json") for each in found]).decode()
