"""The record of reads (R36): one row says who read which memories on which path, and how that came about."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from events.keyring import Keyring
from events.model import MemoryId, Scope
from events.postgres import Connection, Database, Row, bounds_of
from events.vault import Vault
from projections.sessions import turns_with_contexts
from services.recall.bm25 import Key
from services.recall.trace import Traced
from services.wire.traces import ReadPath, Trace, TracedMemory, TraceView

_NOBODY = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Given:
    """Memory versions that are given away, in order, with what led to them where they were ranked."""

    path: ReadPath
    role: str
    keys: Sequence[Key]
    traced: Traced | None = None


async def record(connection: Connection, scope: Scope, given: Given) -> tuple[UUID, set[UUID]]:
    """Record a read, as the last thing before memories are given away; needs no transaction of its own.

    Returns:
        The id of the record, and which of these memories are fenced by now: those must not be given away.
    """
    read_id, traced = uuid4(), given.traced
    stones: list[UUID] = await connection.fetchval(
        "select ops.record_read_v1($1, $2, $3, $4, $5, $6, $7, $8)",
        read_id,
        bounds_of(scope),
        given.path,
        given.role,
        [memory for memory, _ in given.keys],
        [version for _, version in given.keys],
        [] if traced is None else list(traced.memories),
        None if traced is None else traced.trace.model_dump_json(exclude_defaults=True),
    )
    return read_id, set(stones)


class Traces:
    """Shows reads of one person.

    Args:
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys, for the outside ids of turns.
    """

    def __init__(self, reader: Database, vault: Vault) -> None:
        self._reader = reader
        self._vault = vault

    async def show(self, scope: Scope, trace_id: UUID) -> TraceView | None:
        """Show one read; None where this person has none such, or its time is over."""
        keyring = await self._vault.keyring(scope)
        async with self._reader.transaction(scope) as connection:
            row = await connection.fetchrow(
                """select read_id, path, role, at, memories, forgotten, candidates, trace::text as trace from ops.read
                   where tenant_id = $1 and subject_id = $2 and read_id = $3""",
                scope.tenant_id,
                scope.subject_id,
                trace_id,
            )
            return None if row is None else await _view(connection, keyring, row)


async def _view(connection: Connection, keyring: Keyring, row: Row) -> TraceView:
    turns = await turns_with_contexts(connection, keyring.scope, [row["read_id"]])
    names = await keyring.outside(turns) if turns else {}
    trace = None if row["trace"] is None else Trace.model_validate_json(row["trace"])
    return TraceView(
        trace_id=row["read_id"],
        path=row["path"],
        role=row["role"],
        at=row["at"],
        memories=tuple(MemoryId(memory) for memory in row["memories"]),
        forgotten=row["forgotten"],
        turns=tuple(sorted(names.values())),
        trace=None if trace is None else trace.model_copy(update={"steps": ()}),
        candidates=()
        if trace is None
        else tuple(
            TracedMemory(**dict(step), memory_id=None if memory == _NOBODY else MemoryId(memory))
            for memory, step in zip(row["candidates"], trace.steps, strict=True)
        ),
    )
