"""The parts somebody can act in, and which part may do what, as one table."""

from enum import StrEnum
from types import MappingProxyType


class TokenRole(StrEnum):
    """In which part somebody acts for a person's memory."""

    AGENT = "agent"
    PERSON = "person"
    AUDITOR = "auditor"


class Right(StrEnum):
    """Something that can be allowed."""

    WRITE_TURNS = "write_turns"
    READ_TURNS = "read_turns"
    READ_MEMORIES = "read_memories"
    FORGET = "forget"
    READ_RECEIPTS = "read_receipts"
    READ_TRACES = "read_traces"
    CHOOSE = "choose"


RIGHTS: MappingProxyType[TokenRole, frozenset[Right]] = MappingProxyType(
    {
        TokenRole.AGENT: frozenset(Right) - {Right.CHOOSE},  # consent is the person's own act, not the agent's
        TokenRole.PERSON: frozenset(Right),
        TokenRole.AUDITOR: frozenset({Right.READ_RECEIPTS, Right.READ_TRACES}),
    }
)


def may(role: TokenRole, right: Right) -> bool:
    """Tell whether a part has a right; what the table does not name is refused."""
    return right in RIGHTS.get(role, frozenset())
