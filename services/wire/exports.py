"""Exports: memories as JSON lines, a person's own or of those who agreed for training and evaluation (R46)."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from events.model import Assertion, Frozen, Kind, MemoryId, SubjectId
from services.wire.memories import MemoryStatus, Source
from services.wire.request import Request

EXPORT_SCHEMA: Literal["cenotaph.export/1"] = "cenotaph.export/1"
Purpose = Literal["download", "training", "evaluation"]


class ExportRequest(Request):
    """What the memories are for."""

    purpose: Purpose


class ExportHead(Frozen):
    """The first line of an export."""

    schema_name: Literal["cenotaph.export/1"] = Field(default=EXPORT_SCHEMA, alias="schema")
    export_id: UUID
    purpose: Purpose
    at: datetime


class ExportedMemory(Frozen):
    """One line of an export: one version of one memory; version 0 is a candidate that is held.

    `person` is our id of the person, never the caller's. `sources`, and whom it is for, are given to the person only.
    """

    memory_id: MemoryId
    version: int
    person: SubjectId
    status: MemoryStatus
    kind: Kind
    key: str | None
    value: str | None
    content: str
    scope: str | None
    positive: bool | None
    assertion: Assertion | None
    recorded_at: datetime
    occurred_at: datetime | None
    valid_from: datetime | None
    valid_until: datetime | None
    sources: tuple[Source, ...]
    visibility: Literal["private", "project"] | None = None
    project: str | None = None
    task_id: str | None = None
    assistant: str | None = None
    purpose: str | None = None


class ExportTail(Frozen):
    """The last line; without it an export is cut short.

    `digest` is SHA-256 over the bytes of every line before it, line ends included. `left_out` counts what a tenant's
    set does not hold: persons without consent to it (`no_consent`), memories of a sensitive class, those that are for
    another purpose (`other_purpose`), those withheld.
    """

    export_id: UUID
    memories: int
    left_out: dict[str, int]
    digest: str


class ExportView(Frozen):
    """A registered export; content-free. One that was cut short has no `digest`."""

    export_id: UUID
    purpose: Purpose
    at: datetime
    memories: int
    digest: str | None


class ExportPage(Frozen):
    """The newest exports, at most a hundred."""

    exports: tuple[ExportView, ...]


class Line(Frozen):
    """A line of an export: which memory, which version."""

    memory_id: MemoryId
    version: int


class ExportDetail(ExportView):
    """A registered export, and which of its lines have been forgotten since."""

    forgotten: tuple[Line, ...]
