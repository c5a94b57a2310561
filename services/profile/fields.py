"""The fields of a profile: purpose, visibility, editability, retention, sensitivity (R16). Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, Literal

import yaml
from pydantic import Field, TypeAdapter

from events.model import Candidate, Frozen

AgentRole = Literal["chat", "planner", "search", "generator"]
Closed = Literal["person_only", "retention_over"]
Words = Annotated[str, Field(min_length=1)]


class Purpose(Frozen):
    """What a field is for, as the person reads it."""

    zh: Words
    en: Words


class ProfileField(Frozen):
    """What holds for one field of the profile; `retention_days` None is until the person revokes it."""

    purpose: Purpose
    visible_to: frozenset[AgentRole]
    editable: Literal["person", "confirm", "system"]
    retention_days: Annotated[int, Field(ge=1)] | None = None
    sensitivity: str | None = None

    def kept_until(self, said_at: datetime) -> datetime | None:
        """Return until when a value may be kept that the person last said then, None for as long as it stands."""
        return None if self.retention_days is None else said_at + timedelta(days=self.retention_days)

    def closed(self, said_at: datetime, now: datetime) -> Closed | None:
        """Say why no agent may read a value, None where the roles of the field may."""
        if not self.visible_to:
            return "person_only"
        until = self.kept_until(said_at)
        return "retention_over" if until is not None and until <= now else None


Fields = Mapping[str, ProfileField]
"""The fields by semantic key."""

_FILE = TypeAdapter(dict[str, ProfileField])


@lru_cache(maxsize=1)
def shipped_fields() -> Fields:
    """Read the fields that ship with the program."""
    return _FILE.validate_python(yaml.safe_load((files(__package__) / "fields.yaml").read_text("utf-8")))


def unseen(fields: Fields, role: AgentRole) -> tuple[str, ...]:
    """Name the fields that are none of a role's business."""
    return tuple(key for key, field in fields.items() if role not in field.visible_to)


def classified(candidate: Candidate, fields: Fields) -> Candidate:
    """Give a candidate the sensitive class of its field, where it has none of its own."""
    field = fields.get(candidate.key or "")
    if field is None or field.sensitivity is None or candidate.sensitivity is not None:
        return candidate
    return candidate.model_copy(update={"sensitivity": field.sensitivity})
