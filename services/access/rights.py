"""The parts somebody can act in, and which part may do what, as one table."""

from enum import StrEnum
from types import MappingProxyType


class TokenRole(StrEnum):
    """In which part somebody acts for a person's memory."""

    AGENT = "agent"
    PERSON = "person"
    AUDITOR = "auditor"
    WORKFLOW = "workflow"
    SYSTEM = "system"


class Right(StrEnum):
    """Something that can be allowed."""

    WRITE_TURNS = "write_turns"
    READ_TURNS = "read_turns"
    READ_MEMORIES = "read_memories"
    FORGET = "forget"
    READ_RECEIPTS = "read_receipts"
    READ_TRACES = "read_traces"
    CHOOSE = "choose"
    READ_TASKS = "read_tasks"
    WRITE_TASKS = "write_tasks"
    EXPORT = "export"
    FORGET_ALL = "forget_all"
    PROPOSE_FACTS = "propose_facts"


RIGHTS: MappingProxyType[TokenRole, frozenset[Right]] = MappingProxyType(
    {
        # consent is the person's own act, not the agent's, and so is taking everything away, or leaving; the state of
        # a task is the workflow's alone (R52), and what a business system states, nobody states for it (R14)
        TokenRole.AGENT: frozenset(Right)
        - {Right.CHOOSE, Right.EXPORT, Right.FORGET_ALL, Right.WRITE_TASKS, Right.PROPOSE_FACTS},
        TokenRole.PERSON: frozenset(Right) - {Right.WRITE_TASKS, Right.PROPOSE_FACTS},
        TokenRole.AUDITOR: frozenset({Right.READ_RECEIPTS, Right.READ_TRACES}),
        TokenRole.WORKFLOW: frozenset({Right.READ_MEMORIES, Right.READ_TURNS, Right.READ_TASKS, Right.WRITE_TASKS}),
        TokenRole.SYSTEM: frozenset({Right.PROPOSE_FACTS}),
    }
)


BOUND: frozenset[TokenRole] = frozenset({TokenRole.AGENT, TokenRole.WORKFLOW})
"""The parts that act in one project or task, or in none; the others reach all of the person that they may read."""


def may(role: TokenRole, right: Right) -> bool:
    """Tell whether a part has a right; what the table does not name is refused."""
    return right in RIGHTS.get(role, frozenset())
