"""What a business system states about a person, through its own credential (R11, R14)."""

import json
from typing import Annotated, Literal

from pydantic import Field

from events.model import Frozen, Origin, Role
from services.wire.request import Request
from services.wire.text import Instant, OutsideId, Query
from services.wire.turns import MessageIn, TurnIn

_SEPARATOR = "\x1f"  # a control character, which no outside id may hold: a fact is never taken for a turn of an agent


class SystemFact(Request):
    """One fact under a semantic key that the system owns; `fact_id` makes handing it over idempotent.

    `content` is the sentence a reader sees; left out, it is the key and the value.
    """

    fact_id: OutsideId
    key: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z0-9_]+){0,3}$", max_length=80)]
    value: Query
    content: Query | None = None
    occurred_at: Instant
    valid_until: Instant | None = None

    def turn(self, system: str) -> TurnIn:
        """Return the turn it is stored as: one message of an origin that nothing from outside can name."""
        said = {"key": self.key, "value": self.value, "content": self.content or f"{self.key}: {self.value}"}
        if self.valid_until is not None:
            said["valid_until"] = self.valid_until.isoformat()
        message = MessageIn.model_construct(
            message_id="fact", role=Role.SYSTEM, origin=Origin.SYSTEM, content=json.dumps(said, ensure_ascii=False)
        )
        return TurnIn.model_construct(
            turn_id=fact_name(system, self.fact_id),
            session_id=fact_name(system, ""),
            occurred_at=self.occurred_at,
            messages=(message,),
            contexts=(),
        )


class FactAnswer(Frozen):
    """The fact is in the log (`stored`), was already (`known`), or was forgotten and stays so."""

    fact_id: str
    state: Literal["stored", "known", "forgotten"]
    position: int | None = None


def fact_name(system: str, fact_id: str) -> str:
    """Name a fact among the turns of a person."""
    return f"{system}{_SEPARATOR}{fact_id}"
