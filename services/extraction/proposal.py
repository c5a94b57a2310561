"""What a frame found, before it is coloured by cues and turned into a candidate."""

from dataclasses import dataclass

from events.model import Assertion, Kind


@dataclass(frozen=True, slots=True)
class Proposal:
    """A claim at `start:end` of the text; `features` are the names confidence is computed from."""

    frame: str
    kind: Kind
    key: str | None
    value: str
    content: str
    start: int
    end: int
    positive: bool = True
    scope: str = "personal"
    assertion: Assertion = Assertion.STATED
    ephemeral: bool = False
    correction: bool = False
    sensitivity: str | None = None
    replaces: str | None = None  # the value that it says is no longer so
    amends: bool = False  # says nothing unless something is known of the thing
    features: frozenset[str] = frozenset()
