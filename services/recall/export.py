"""Exports as JSON lines: each batch is read, registered, checked against the fence, and only then handed on (R46)."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Literal
from uuid import UUID, uuid4

from events.model import Frozen, Scope
from events.postgres import Database
from events.vault import Vault
from projections.choices import TRAINING, read_consents
from services.access.rights import TokenRole
from services.recall.catalogue import Catalogue
from services.recall.register import Owner, Register
from services.wire.exports import ExportedMemory, ExportHead, ExportTail, Line, Purpose
from services.wire.memories import MemoryStatus, MemoryView

_BATCH = 100
_KEPT = (None, MemoryStatus.SUPERSEDED, MemoryStatus.MERGED)  # None: what lives, held candidates included
Leaves = Literal["leaves", "sensitive", "other_purpose", "withheld"]


class Exporter:
    """Writes exports.

    Args:
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys.
        catalogue: shows memories as a reader may see them.
        register: what left.
    """

    def __init__(self, reader: Database, vault: Vault, catalogue: Catalogue, register: Register) -> None:
        self._reader = reader
        self._vault = vault
        self._catalogue = catalogue
        self._register = register

    async def lines(self, owner: Owner, purpose: Purpose) -> AsyncIterator[bytes]:
        """Yield an export line by line: a head, memories, a tail with the digest of all before it.

        A person gets everything that is kept of them, all versions. A tenant gets what is current of those who agreed,
        without sensitive classes: consent to remember is none to train with.
        """
        head = ExportHead(export_id=uuid4(), purpose=purpose, at=datetime.now(UTC))
        await self._register.open(owner, head)
        digest, left_out, count = sha256(), Counter[str](), 0
        line = _line(head)
        digest.update(line)
        yield line
        async for memory in self._memories(owner, head.export_id, left_out):
            line = _line(memory)
            digest.update(line)
            count += 1
            yield line
        # registered as whole before the last line: who has that line can rely on it
        await self._register.close(owner, head.export_id, digest.hexdigest())
        yield _line(
            ExportTail(export_id=head.export_id, memories=count, left_out=dict(left_out), digest=digest.hexdigest())
        )

    async def _memories(self, owner: Owner, export_id: UUID, left_out: Counter[str]) -> AsyncIterator[ExportedMemory]:
        if isinstance(owner, Scope):
            for status in _KEPT:
                async for memory in self._of(owner, export_id, status, TokenRole.PERSON, Counter()):
                    yield memory
            return
        for subject in await self._vault.subjects(owner):
            scope = Scope(tenant_id=owner, subject_id=subject)
            if not await self._agreed(scope):
                left_out["no_consent"] += 1
                continue
            async for memory in self._of(scope, export_id, MemoryStatus.ACTIVE, TokenRole.AGENT, left_out):
                yield memory

    async def _agreed(self, scope: Scope) -> bool:
        async with self._reader.transaction(scope) as connection:
            return TRAINING in (await read_consents(connection, scope)).given

    async def _of(
        self,
        scope: Scope,
        export_id: UUID,
        status: MemoryStatus | None,
        reader: TokenRole,
        left_out: Counter[str],
    ) -> AsyncIterator[ExportedMemory]:
        cursor: str | None = None
        while True:
            page = await self._catalogue.page(scope, status, _BATCH, cursor, reader=reader)
            batch = []
            for view in page.memories:
                if (verdict := _verdict(view, reader)) == "leaves":
                    batch.append(_exported(scope, view, reader))
                else:
                    left_out[verdict] += 1
            lines = [Line(memory_id=each.memory_id, version=each.version) for each in batch]
            gone = await self._register.add(export_id, scope, lines) if lines else set()
            for each in batch:
                if each.memory_id not in gone:
                    yield each
            if page.next_cursor is None:
                return
            cursor = page.next_cursor


def _verdict(view: MemoryView, reader: TokenRole) -> Leaves:
    if view.content is None:
        return "withheld"
    if reader is TokenRole.PERSON:
        return "leaves"
    if view.sensitivity is not None:
        return "sensitive"
    return "leaves" if view.purpose is None else "other_purpose"


def _exported(scope: Scope, view: MemoryView, reader: TokenRole) -> ExportedMemory:
    return ExportedMemory(
        memory_id=view.memory_id,
        version=view.version or 0,
        person=scope.subject_id,
        status=view.status,
        kind=view.kind,
        key=view.key,
        value=view.value,
        content=view.content or "",
        scope=view.scope,
        positive=view.positive,
        assertion=view.assertion,
        recorded_at=view.recorded_at,
        occurred_at=view.occurred_at,
        valid_from=view.valid_from,
        valid_until=view.valid_until,
        sources=view.sources if reader is TokenRole.PERSON else (),
        visibility=view.visibility if reader is TokenRole.PERSON else None,
        project=view.project if reader is TokenRole.PERSON else None,
        task_id=view.task_id if reader is TokenRole.PERSON else None,
        assistant=view.assistant if reader is TokenRole.PERSON else None,
        purpose=view.purpose if reader is TokenRole.PERSON else None,
    )


def _line(value: Frozen) -> bytes:
    return value.model_dump_json(by_alias=True).encode() + b"\n"
