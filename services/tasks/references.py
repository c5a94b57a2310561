"""What commands name by outside ids: tasks, commands, messages and memories (R52)."""

from typing import Final
from uuid import UUID

from events.errors import BadInputError
from events.keyring import Keyring
from events.model import CommandId, MemoryId, MessageId, TaskId
from services.tasks.decide import Found
from services.wire.names import message_name
from services.wire.tasks import Complete, FactIn, MessageRef, Observe, TaskChange, TaskStart

SEPARATOR: Final = "\x1f"
"""A control character, which no outside id may hold."""

_HALF: Final = 8


async def reached(keyring: Keyring, name: str) -> TaskId | None:
    """Find a task by its outside id; a credential of one task finds no other."""
    internal = await keyring.find(("task", name))
    return None if internal is None or keyring.scope.audience.task not in {None, internal} else TaskId(internal)


def command_name(task: str, command: str) -> tuple[str, str]:
    """Name a command by its outside ids: its own is unique within the task only."""
    return "task command", f"{task}{SEPARATOR}{command}"


def command_of(keyring: Keyring, named: UUID, said: TaskStart | TaskChange) -> CommandId:
    """Tell a command by its name and by what it says: the first half of its id is the one, the second the other.

    The version it expects is not part of what it says: who repeats a command whose answer was lost may have read again.
    """
    text = said.model_dump_json(exclude={"command_id", "expected_version"})
    return CommandId(UUID(bytes=named.bytes[:_HALF] + keyring.digest("task command", text)[:_HALF]))


def same_command(one: CommandId, other: CommandId) -> bool:
    """Tell whether two commands have one name, whatever they say."""
    return one.bytes[:_HALF] == other.bytes[:_HALF]


def _facts_of(change: TaskChange) -> list[FactIn]:
    inner = change.change
    return [*inner.facts, *((inner.result,) if inner.result else ())] if isinstance(inner, Observe) else []


def memories_of(change: TaskChange) -> tuple[MemoryId, ...]:
    """Name the memories that a change rests on."""
    return tuple(dict.fromkeys(MemoryId(each) for fact in _facts_of(change) for each in fact.memories))


async def messages_of(keyring: Keyring, change: TaskChange) -> Found:
    """Map the messages a change names to their internal ids.

    Raises:
        BadInputError: one was never seen.
    """
    inner = change.change
    named = [each for fact in _facts_of(change) for each in fact.messages]
    if isinstance(inner, Complete):
        named += [each for conclusion in inner.conclusions for each in conclusion.messages]
    found: dict[MessageRef, MessageId] = {}
    for ref in dict.fromkeys(named):
        internal = await keyring.find(message_name(ref.turn_id, ref.message_id))
        if internal is None:
            raise BadInputError("messages: there is no such message in this scope")
        found[ref] = MessageId(internal)
    return found
