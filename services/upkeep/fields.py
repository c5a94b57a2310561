"""Ending values of the profile that were kept as long as their field may be (R16). Never what was asked for."""

from datetime import datetime, timedelta
from typing import ClassVar

from events.model import Expired, MemoryBody, Scope
from events.postgres import Database
from events.vault import Vault
from projections.changes import CURRENT
from projections.memories import open_memories
from services.extraction.vocabulary import kinds_of
from services.profile.fields import Fields as Declared
from services.upkeep.job import Action, Plan, commit, scopes_of
from services.upkeep.person import read_person

_BATCH = 500
# which key a memory has is sealed, so whoever has something that old is looked at
_DUE = """
select tenant_id, subject_id from facts.memory
where status = any($1::text[]) and not asked and verified_at <= $2 and kind = any($3::text[])
group by tenant_id, subject_id order by min(verified_at), tenant_id, subject_id
"""


class Fields:
    """Ends what the person last said longer ago than the field of its key is kept; until then agents are blind to it.

    What the person asked to remember is not dropped: no agent reads it any more, and the person's page says why.
    A value that is said again is kept anew.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        vault: opens memories, to know their keys.
        declared: the fields there are.
    """

    name: ClassVar[str] = "fields"

    def __init__(self, eraser: Database, vault: Vault, declared: Declared) -> None:
        self._eraser = eraser
        self._vault = vault
        self._kept = {key: field for key, field in declared.items() if field.retention_days is not None}
        self._kinds = kinds_of(self._kept)

    async def due(self, now: datetime) -> list[Scope]:
        """Name who has something that is older than the shortest retention, the oldest first."""
        days = min((field.retention_days or 0 for field in self._kept.values()), default=None)
        if days is None:
            return []
        async with self._eraser.connection() as connection:
            rows = await connection.fetch(_DUE, list(CURRENT), now - timedelta(days=days), list(self._kinds))
        return scopes_of(rows)

    async def plan(self, scope: Scope, now: datetime) -> Plan | None:
        """Say what is over."""
        person = await read_person(self._eraser, scope)
        facts = [fact for fact in person.current if not fact.asked and fact.kind in self._kinds]
        async with self._eraser.connection() as connection:
            bodies = await open_memories(connection, await self._vault.keyring(scope), facts)
        over = [
            fact.memory_id
            for fact in facts
            if isinstance(body := bodies.get(fact.event_id), MemoryBody)
            and (field := self._kept.get(body.key or "")) is not None
            and (until := field.kept_until(fact.verified_at)) is not None
            and until <= now
        ]
        if not over:
            return None
        memories, keys = person.whole(sorted(over)[:_BATCH])
        ended = tuple(sorted(memories))
        action = Action(what="expire", reason="retention_over", memories=ended)
        return Plan(
            self.name, scope, person.version, (action,), (Expired(memories=ended, messages=(), keys=tuple(keys)),)
        )

    async def apply(self, plan: Plan, now: datetime) -> bool:
        """End them."""
        return await commit(self._eraser, plan, now)
