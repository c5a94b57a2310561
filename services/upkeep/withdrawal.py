"""What the person closed a class on: blind since then, and forgotten for good unless it is opened again (R22)."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import ClassVar, Protocol

from events.envelope import StoredEvent
from events.model import ConsentGiven, ConsentWithdrawn, EventId, MemoryBody, MemoryId, Scope
from events.postgres import Database
from events.vault import Vault
from projections.changes import STONES
from projections.memories import open_memories
from services.upkeep.job import ACTOR, Action, Plan, scopes_of
from services.upkeep.person import read_person

GRACE = timedelta(days=7)
"""How long a class may be closed before what is kept of it goes (R22)."""

# the predicate of the index `event_choice` holds for it: this costs what there are of choices, not what the log holds
_DUE = """
select tenant_id, subject_id from log.event
where type = 'consent_withdrawn' and recorded_at <= $1
group by tenant_id, subject_id order by min(recorded_at), tenant_id, subject_id
"""


class Forgets(Protocol):
    """Forgets one memory as anybody's wish would: with a tombstone, all layers, and a signed receipt."""

    async def forget(self, scope: Scope, memory_id: MemoryId, actor: str) -> EventId | None:
        """Fence a memory; again: the same tombstone."""
        ...


class Withdrawal:
    """Forgets the memories of a class whose consent was withdrawn a week ago and not given again.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        vault: opens memories, to know their classes.
        forgets: the ordinary way to forget.
    """

    name: ClassVar[str] = "withdrawal"

    def __init__(self, eraser: Database, vault: Vault, forgets: Forgets) -> None:
        self._eraser = eraser
        self._vault = vault
        self._forgets = forgets

    async def due(self, now: datetime) -> list[Scope]:
        """Name whose consent was withdrawn long enough ago, the longest first; it may have been given again."""
        async with self._eraser.connection() as connection:
            return scopes_of(await connection.fetch(_DUE, now - GRACE))

    async def plan(self, scope: Scope, now: datetime) -> Plan | None:
        """Say which memories go, every version and what is held of them."""
        person = await read_person(self._eraser, scope)
        classes = closed(person.stream, now)
        facts = [fact for fact in person.state.values() if fact.status not in STONES]
        if not classes or not facts:
            return None
        async with self._eraser.connection() as connection:
            bodies = await open_memories(connection, await self._vault.keyring(scope), facts)
        gone = sorted({fact.memory_id for fact in facts if _class_of(bodies.get(fact.event_id)) in classes})
        if not gone:
            return None
        action = Action(what="forget", reason="consent_withdrawn", memories=tuple(gone))
        return Plan(self.name, scope, person.version, (action,), ())

    async def apply(self, plan: Plan, now: datetime) -> bool:
        """Forget them one by one; False where a class was opened again, so that the next round plans anew."""
        wanted = await self.plan(plan.scope, now)
        if wanted is None or wanted.actions != plan.actions:
            return False
        for memory in plan.actions[0].memories:
            await self._forgets.forget(plan.scope, memory, ACTOR)
        return True


def closed(stream: Iterable[StoredEvent], now: datetime) -> frozenset[str]:
    """Return the classes whose last word is a withdrawal that was recorded long enough ago."""
    last: dict[str, datetime | None] = {}
    for stored in stream:
        if isinstance(event := stored.event, ConsentGiven):
            last[event.sensitivity] = None
        elif isinstance(event, ConsentWithdrawn):
            last[event.sensitivity] = stored.recorded_at
    return frozenset(name for name, since in last.items() if since is not None and since + GRACE <= now)


def _class_of(body: object) -> str | None:
    return body.sensitivity if isinstance(body, MemoryBody) else None
