"""A finished turn on its way in, and what became of it (R10)."""

from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from events.model import Frozen, Kind, MemoryId, Origin, Outcome, Role, TurnStatus
from services.wire.limits import limits_of
from services.wire.request import Request
from services.wire.text import EARLIEST, Instant, OutsideId, Text, is_blank

TURN_SCHEMA: Literal["cenotaph.turn/1"] = "cenotaph.turn/1"

ORIGINS: MappingProxyType[Role, tuple[Origin, ...]] = MappingProxyType(
    {
        Role.USER: (Origin.USER,),
        Role.ASSISTANT: (Origin.ASSISTANT, Origin.SUBAGENT),
        Role.SYSTEM: (Origin.INJECTED,),
        Role.TOOL: (Origin.TOOL, Origin.RETRIEVED),
    }
)
"""Which origins fit a role; the first is what a message has when it names none."""


class MessageIn(Request):
    """One message of the turn. Its origin may be left out where the role already says it."""

    message_id: OutsideId
    role: Role
    origin: Origin
    content: Text

    @model_validator(mode="before")
    @classmethod
    def _default_origin(cls, data: object) -> object:
        if not isinstance(data, dict) or "origin" in data:
            return data
        # An unknown role is reported once, as a role; its missing origin is no second fault.
        role = next((each for each in Role if each == data.get("role")), Role.USER)
        return {**data, "origin": ORIGINS[role][0]}

    @field_validator("origin")
    @classmethod
    def _fits_role(cls, origin: Origin, info: ValidationInfo) -> Origin:
        role = info.data.get("role")
        if role is not None and origin not in ORIGINS[role]:
            raise PydanticCustomError(
                "origin_role",
                "does not fit role {role}, which takes {fitting}",
                {"role": role.value, "fitting": " or ".join(ORIGINS[role])},
            )
        return origin

    @field_validator("content")
    @classmethod
    def _not_too_long(cls, content: str, info: ValidationInfo) -> str:
        most = limits_of(info).max_message_chars
        if len(content) > most:
            raise PydanticCustomError("too_long", "is longer than {most} characters", {"most": most})
        return content


class TurnIn(Request):
    """A finished turn as the agent hands it over; `turn_id` makes the hand-over idempotent.

    `contexts` are the ids of the compiled contexts that were injected into this turn.
    """

    schema_name: Literal["cenotaph.turn/1"] = Field(default=TURN_SCHEMA, alias="schema")
    turn_id: OutsideId
    session_id: OutsideId
    occurred_at: Instant
    status: TurnStatus = TurnStatus.COMPLETED
    messages: tuple[MessageIn, ...]
    contexts: Annotated[tuple[UUID, ...], Field(max_length=100)] = ()

    @field_validator("messages", mode="before")
    @classmethod
    def _few_enough(cls, messages: object, info: ValidationInfo) -> object:
        # Before the messages are looked at, so that a flood costs nothing.
        most = limits_of(info).max_messages
        if isinstance(messages, list | tuple) and not messages:
            raise PydanticCustomError("blank", "is empty")
        if isinstance(messages, list | tuple) and len(messages) > most:
            raise PydanticCustomError("too_many", "has more than {most} messages", {"most": most})
        return messages

    @field_validator("occurred_at")
    @classmethod
    def _plausible(cls, occurred_at: datetime, info: ValidationInfo) -> datetime:
        skew = limits_of(info).max_skew
        if occurred_at > datetime.now(UTC) + skew:
            raise PydanticCustomError(
                "future", "lies more than {skew} s in the future; check the clock", {"skew": int(skew.total_seconds())}
            )
        if occurred_at < EARLIEST:
            raise PydanticCustomError("past", "lies before the year 2000")
        return occurred_at

    @field_validator("messages")
    @classmethod
    def _says_something_once(cls, messages: tuple[MessageIn, ...]) -> tuple[MessageIn, ...]:
        if len({message.message_id for message in messages}) < len(messages):
            raise PydanticCustomError("duplicate", "has a message_id twice; ids are unique within the turn")
        if all(is_blank(message.content) for message in messages):
            raise PydanticCustomError("blank", "has no message with content")
        return messages


class TurnAnswer(Frozen):
    """The turn is in the log (`stored`), was already (`known`), or was forgotten and stays so (`forgotten`).

    `redacted` counts the secrets that were replaced before anything was stored, by class. `position` can be given as
    `at_least` to a read that must see this turn.
    """

    turn_id: str
    state: Literal["stored", "known", "forgotten"]
    redacted: dict[str, int] = Field(default_factory=dict)
    position: int | None = None


class Verdict(Frozen):
    """What became of one candidate: a version of a memory (`accepted`, `reinforced`), or a gate and its reason."""

    memory_id: MemoryId
    outcome: Literal["accepted", "reinforced"] | Outcome
    gate: str | None
    reason: str | None
    kind: Kind
    version: int | None = None


class TurnOutcome(Frozen):
    """What a turn led to; `pending` until every candidate of it has met its end."""

    turn_id: str
    state: Literal["pending", "considered"]
    verdicts: tuple[Verdict, ...] = ()
    counts: dict[str, int] = Field(default_factory=dict)
