"""The policy: every number and list the gates decide by, from one validated YAML file."""

import hashlib
import json
from functools import cached_property, lru_cache
from importlib.resources import files
from math import isclose
from pathlib import Path
from typing import Annotated, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from events.errors import BadInputError
from events.model import Kind, Unit
from services.profile.fields import AgentRole, ProfileField, shipped_fields


class ConfidencePolicy(BaseModel):
    """The two steps below full confidence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hold: Unit
    reject: Unit

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.reject > self.hold:
            raise ValueError("confidence.reject must not be above confidence.hold")
        return self


class AboutPolicy(BaseModel):
    """What counts how much for whether a memory is what somebody describes (`aboutness.py`), and from where on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    words: Unit
    topic: Unit
    elsewhere: Unit
    across: Unit
    threshold: Unit


class RenewalPolicy(BaseModel):
    """From which closeness on a newer statement without a key corrects an older one (`renewal.py`), by language."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    zh: Unit
    en: Unit


class SuccessionPolicy(BaseModel):
    """How likely a statement takes the place of a memory (`services/remembering/succession.py`): weights, and a line.

    `margin` is how much likelier the one must be than the next memory, or none is replaced.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    threshold: Unit
    margin: Unit
    weights: dict[str, float]


class WorthPolicy(BaseModel):
    """How much a candidate is worth keeping (gate 9): four weights, two lines, and what a kind is worth later."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    relevance: Unit
    importance: Unit
    confidence: Unit
    future_value: Unit
    write: Unit
    conflict: Unit
    relevance_without_key: Unit
    future: dict[Kind, Unit]

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not isclose(self.relevance + self.importance + self.confidence + self.future_value, 1.0):
            raise ValueError("the four weights of worth must add up to 1")
        if self.write > self.conflict:
            raise ValueError("worth.write must not be above worth.conflict")
        if missing := set(Kind) - self.future.keys():
            raise ValueError(f"worth.future lacks {', '.join(sorted(missing))}")
        return self


class RoleRules(BaseModel):
    """What a role of agent sees (R31): sections, kinds, how many memories, and keys that are none of its business."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    parts: tuple[Literal["task", "profile", "current", "summary", "recent_turns", "episodes"], ...]
    kinds: frozenset[Kind]
    memories: int = Field(ge=0, le=100)
    hidden_keys: tuple[str, ...] = ()


class Policy(BaseModel):
    """What the gates decide by; equal policies have equal digests."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    confidence: ConfidencePolicy
    hold_days: int = Field(ge=1, le=365)
    sensitive: frozenset[str]
    near_duplicate: Unit
    about: AboutPolicy
    renewal: RenewalPolicy
    succession: SuccessionPolicy
    worth: WorthPolicy
    capacity: dict[Kind, Annotated[int, Field(ge=1)]]
    roles: dict[AgentRole, RoleRules]
    profile: dict[str, ProfileField] = Field(default_factory=lambda: dict(shipped_fields()))

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if missing := set(Kind) - self.capacity.keys():
            raise ValueError(f"capacity lacks {', '.join(sorted(missing))}")
        if missing_roles := {"chat", "planner", "search", "generator"} - self.roles.keys():
            raise ValueError(f"roles lacks {', '.join(sorted(missing_roles))}")
        if unknown := {each.sensitivity for each in self.profile.values()} - self.sensitive - {None}:
            raise ValueError(f"profile names classes that `sensitive` lacks: {', '.join(sorted(map(str, unknown)))}")
        return self

    @cached_property
    def canonical(self) -> str:
        """Return the JSON form that is digested: sets sorted, no blanks."""
        return json.dumps(_sorted(self.model_dump(mode="json")), separators=(",", ":"), ensure_ascii=False)

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of the canonical JSON form, in hex."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()


def _sorted(value: object) -> object:
    """Bring JSON values into one order; no list of a policy has an order that means something but `roles.*.parts`."""
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return sorted(value) if isinstance(value, list) else value


def load_policy(path: Path | None = None) -> Policy:
    """Read a policy file; without a path the one that ships.

    Raises:
        BadInputError: The file is missing, is not YAML, or does not describe a policy.
    """
    try:
        text = path.read_text("utf-8") if path else (files(__package__) / "policy.yaml").read_text("utf-8")
        return Policy.model_validate(yaml.safe_load(text))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        raise BadInputError(f"the policy file cannot be used: {error}") from error


@lru_cache(maxsize=1)
def shipped_policy() -> Policy:
    """Return the policy that ships with the program."""
    return load_policy()
