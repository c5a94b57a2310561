"""The policy: every number and list the gates decide by, from one validated YAML file."""

import hashlib
import json
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from events.errors import BadInputError
from events.model import Unit


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


class Policy(BaseModel):
    """What the gates decide by; equal policies have equal digests."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    confidence: ConfidencePolicy
    hold_days: int = Field(ge=1, le=365)
    sensitive: frozenset[str]
    multi_valued: tuple[str, ...]
    near_duplicate: Unit
    about: AboutPolicy

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of the canonical JSON form, in hex."""
        data = self.model_dump(mode="json")
        data["sensitive"] = sorted(data["sensitive"])
        canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def holds_several(self, key: str) -> bool:
        """Say whether a key can hold several values at once (R20)."""
        return any(fnmatchcase(key, pattern) for pattern in self.multi_valued)


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
