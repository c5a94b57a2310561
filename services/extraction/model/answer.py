"""What a model must answer: the JSON schema it is given, and the same checked strictly."""

from functools import lru_cache
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from events.model import Assertion, Kind
from services.extraction.lexicon import load
from services.extraction.model.failure import Fallback, ModelError

MOST: Final = 40
"""How many memories one turn may yield."""

_QUOTE = 2000
_SHORT = 400

SayableKind = Literal["preference", "fact", "goal", "project", "format", "profile", "plan", "episode"]
SayableAssertion = Literal["stated", "inferred", "planned", "past", "hypothetical", "negated"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Proposed(_Strict):
    """One memory as a model proposes it. Words of the person are quoted, everything else is chosen from lists.

    It says neither where the words stand nor what the memory will read like: both come from the message itself.
    """

    quote: str = Field(min_length=1, max_length=_QUOTE)
    value: str = Field(min_length=1, max_length=_SHORT)
    kind: SayableKind
    key: str | None = Field(max_length=_SHORT)
    positive: bool
    assertion: SayableAssertion
    once: bool
    sensitive: str | None = Field(max_length=_SHORT)
    confidence: float = Field(ge=0, le=1)

    @property
    def claims(self) -> tuple[Kind, Assertion]:
        """Kind and assertion as the vocabulary has them."""
        return Kind(self.kind), Assertion(self.assertion)


class Answer(_Strict):
    """Everything a model proposes for a turn."""

    memories: tuple[Proposed, ...] = Field(max_length=MOST)


def read_answer(text: str) -> tuple[Proposed, ...]:
    """Check an answer.

    Raises:
        ModelError: it is no JSON, or not of the schema; nothing of it is used then.
    """
    try:
        return Answer.model_validate_json(text).memories
    except ValidationError:
        raise ModelError(Fallback.BAD_ANSWER) from None


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """Return the JSON schema, in the subset that endpoints enforce: every field required, none besides."""
    text = {"type": "string"}
    fields = {
        "quote": text,
        "value": text,
        "kind": {"type": "string", "enum": list(get_args(SayableKind))},
        "key": {"type": ["string", "null"]},
        "positive": {"type": "boolean"},
        "assertion": {"type": "string", "enum": list(get_args(SayableAssertion))},
        "once": {"type": "boolean"},
        "sensitive": {"type": ["string", "null"], "enum": [*sensitive_classes(), None]},
        "confidence": {"type": "number"},
    }
    memory = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {
        "type": "object",
        "properties": {"memories": {"type": "array", "items": memory}},
        "required": ["memories"],
        "additionalProperties": False,
    }


@lru_cache(maxsize=1)
def sensitive_classes() -> tuple[str, ...]:
    """Return the sensitive classes of R13.8 that the vocabulary knows."""
    return tuple(load("sensitive.yaml"))
