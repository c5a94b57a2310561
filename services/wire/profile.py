"""The profile of a person: its fields, what each is for, and what is kept under it (R16)."""

from datetime import datetime
from typing import Literal

from events.model import Frozen
from services.wire.memories import MemoryView


class PurposeView(Frozen):
    """What a field is for, in both languages."""

    zh: str
    en: str


class FieldRules(Frozen):
    """What holds for a field: what it is for, which roles of agent see it, who changes it, and how long it is kept.

    `visible_to` is empty where it is the person's alone. `retention_days` counts from when the person last said it;
    None is until it is revoked. `sensitivity` is a class of R13.8.
    """

    key: str
    purpose: PurposeView
    visible_to: tuple[str, ...]
    editable: Literal["person", "confirm", "system"]
    retention_days: int | None
    sensitivity: str | None


class FieldValue(MemoryView):
    """A memory under a field. After `kept_until` no agent reads it, and upkeep ends it unless it was asked for."""

    kept_until: datetime | None


class FieldView(FieldRules):
    """A field with its values: several, where the key holds several; what is held waits for the person."""

    values: tuple[FieldValue, ...]


class ProfileView(Frozen):
    """All fields there are, also the empty ones."""

    fields: tuple[FieldView, ...]
