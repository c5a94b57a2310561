"""What a business system states: its message is read as it is, without cues, frames or a model (R11)."""

import json
from datetime import datetime

from pydantic import ValidationError

from events.model import Assertion, Candidate, Evidence, Frozen, Kind, Message, Origin, Turn
from services.extraction.extract import Extraction
from services.extraction.extractor import Extracted
from services.extraction.normalise import normalise
from services.extraction.vocabulary import holds_several, sensitivity_of, vocabulary

READER = "system/1"
_IMPORTANCE = 0.7  # who registers a system wants its facts
_CONFIDENCE = 0.99


class _Said(Frozen):
    """The content of such a message (`services/wire/facts.py`)."""

    key: str
    value: str
    content: str
    valid_until: datetime | None = None


def is_of_system(turn: Turn) -> bool:
    """Say whether a turn is a business system's statement."""
    return any(message.origin is Origin.SYSTEM for message in turn.messages)


def stated(turn: Turn, system: str) -> Extracted:
    """Return what a business system states in a turn; a message from which a secret was taken out may state nothing."""
    found = [_candidate(message, system) for message in turn.messages if message.origin is Origin.SYSTEM]
    candidates = tuple(each for each in found if each is not None)
    return Extracted(extraction=Extraction(candidates=candidates, suppressions=()), extractor=READER)


def _candidate(message: Message, system: str) -> Candidate | None:
    try:
        said = _Said.model_validate(json.loads(message.content))
    except (ValueError, ValidationError):
        return None
    named = vocabulary().get(said.key)
    return Candidate(
        kind=named.kind if named else _kind_of(said.key),
        key=said.key,
        value=said.value,
        content=said.content,
        multi_valued=holds_several(said.key),
        valid_until=said.valid_until,
        evidence=(Evidence(message_id=message.message_id, start=0, end=len(message.content)),),
        assertion=Assertion.STATED,
        confidence=_CONFIDENCE,
        importance=_IMPORTANCE,
        sensitivity=(named.sensitivity if named else None) or sensitivity_of(normalise(said.content).folded),
        said_by=system,
    )


def _kind_of(key: str) -> Kind:
    """Say what a key outside the vocabulary stands for: a configured way of doing things, or a fact (R15)."""
    return Kind.PROCEDURE if key.startswith(f"{Kind.PROCEDURE}.") else Kind.FACT
