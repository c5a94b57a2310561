"""What earlier rounds of a task learned, as it is remembered now (R52)."""

from typing import Final
from uuid import UUID

from events.keyring import Keyring
from events.model import Kind, MemoryBody
from events.postgres import Connection
from projections.facts import memories_of_turns
from projections.memories import open_memories
from projections.tasks import rounds_of
from services.access.permission import permission_of
from services.access.rights import TokenRole
from services.wire.tasks import LessonView

_ROUNDS: Final = 20
_EACH: Final = 20


async def lessons_of(connection: Connection, keyring: Keyring, series: UUID) -> tuple[LessonView, ...]:
    """Read the reflections of the last rounds that are current and may be read by an agent, the heaviest first."""
    scope = keyring.scope
    turns = [each.turn_id for each in await rounds_of(connection, scope, series, _ROUNDS) if each.turn_id is not None]
    facts = [
        fact
        for fact in (await memories_of_turns(connection, scope, turns, _EACH)).values()
        if fact.kind is Kind.REFLECTION and fact.status == "current"
    ]
    opened = await open_memories(connection, keyring, facts)
    permission = await permission_of(connection, scope, TokenRole.AGENT)
    return tuple(
        LessonView(memory_id=fact.memory_id, version=fact.version, text=body.content)
        for fact in sorted(facts, key=lambda fact: (-fact.importance, fact.memory_id))
        if isinstance(body := opened.get(fact.event_id), MemoryBody) and permission.withheld(fact, body) is None
    )
