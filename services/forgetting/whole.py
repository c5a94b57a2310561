"""Forgetting a whole person or tenant: the fence covers all at once, then keys, bodies and rows go in steps (R40).

Every step commits by itself and finds nothing to do when it is repeated, so it may be killed anywhere.
"""

import asyncio
from typing import ClassVar, Literal
from uuid import UUID

from events import failpoint
from events.envelope import StoredEvent, stored
from events.errors import UnavailableError
from events.model import Scope, SubjectId, Tombstoned
from events.postgres import Connection, Database
from events.vault import Vault
from services.forgetting.prepare import open_raw, targets_of
from services.forgetting.question import Question, Target, bare_question

_STEP_S = 120.0
_READING = 0.8  # the part of the time that reading may take; what was read is sealed in the rest
PEOPLE, VERSIONS = 4, 4
"""How many people of a tenant, and how many memory versions of each, the semantic probes ask for."""

# chosen by the tombstone's id, so that anybody can choose the same again
_PEOPLE = """
select subject_id from log.stream
where tenant_id = $1 and stream like 'memory/%' and ($2::uuid is null or subject_id = $2)
order by md5(subject_id::text || $3) limit $4
"""
_VERSIONS = """
with chosen as (
  select envelope, seq from log.event where tenant_id = $1 and stream = 'memory/' || $2::uuid and type = 'accepted'
  order by md5(event_id::text || $3) limit $4
)
select c.envelope, s.position from chosen c left join log.sealed s using (seq)
"""
_EVERYBODY = """
select distinct subject_id from log.stream where tenant_id = $1 and ($2::uuid is null or subject_id = $2) order by 1
"""
RECORDS = {
    "read": "delete from ops.read where tenant_id = $1 and ($2::uuid is null or subject_id = $2)",
    "dead_letter": "delete from ops.dead_letter where tenant_id = $1 and ($2::uuid is null or subject_id = $2)",
    "locating": "delete from ops.locating where tenant_id = $1 and ($2::uuid is null or subject_id = $2)",
    "api_key": "delete from ops.api_key where tenant_id = $1 and $2::uuid is null",
}
"""What goes with a person or a tenant in `ops`, by table."""

KEPT = frozenset({"erasure", "export", "exported", "layer"})
"""What stays in `ops`: ids only, for receipts and for who holds a file; whom a tenant asks, until its receipt."""


def person_of(tombstone: StoredEvent) -> SubjectId | None:
    """Return whose all is, None for everybody's of the tenant."""
    return tombstone.scope.subject_id if _event(tombstone).scope == "person" else None


async def count_whole(reader: Database, scope: Scope, what: Literal["person", "tenant"]) -> dict[str, int]:
    """Count the people, memories, turns and messages that go, as far as the read models have followed."""
    subject = None if what == "tenant" else scope.subject_id
    async with reader.connection() as connection:
        counts = await connection.fetchrow("select * from ops.count_whole_v1($1, $2)", scope.tenant_id, subject)
    return dict(counts or {})


def scratch_of(tombstone: StoredEvent) -> Scope:
    """Name the scratch person under whose key the probes are sealed, as the real one's goes first."""
    return Scope(tenant_id=tombstone.scope.tenant_id, subject_id=SubjectId(tombstone.event_id))


class Whole:
    """Prepares, destroys, and clears up after the receipt.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        vault: under `vault_eraser`.
    """

    name: ClassVar[str] = "records"

    def __init__(self, eraser: Database, vault: Vault) -> None:
        self._eraser = eraser
        self._vault = vault

    async def sample(self, tombstone: StoredEvent, within_s: float) -> Question:
        """Open a seeded sample of what goes, for the probes that ask by meaning: as much of it as is read in time.

        Args:
            tombstone: that of the person or the tenant.
            within_s: how long the erasure may wait for it.

        Raises:
            UnavailableError: nothing of it could be read.
        """
        seed = str(tombstone.event_id)
        async with self._eraser.connection() as connection:
            people = await connection.fetch(_PEOPLE, tombstone.scope.tenant_id, person_of(tombstone), seed, PEOPLE)
        scopes = [Scope(tenant_id=tombstone.scope.tenant_id, subject_id=SubjectId(row["subject_id"])) for row in people]
        reading = [asyncio.create_task(self._sample_of(scope, seed)) for scope in scopes]
        try:
            if reading:
                await asyncio.wait(reading, timeout=within_s * _READING)
        finally:
            for task in reading:
                task.cancel()  # which what is done does not mind
            found = await asyncio.gather(*reading, return_exceptions=True)
        targets = tuple(target for each in found if not isinstance(each, BaseException) for target in each)
        if not targets and any(isinstance(each, BaseException) for each in found):
            raise UnavailableError("nothing of the sample could be read in time")
        return bare_question(tombstone).model_copy(update={"targets": targets, "prepared": True})

    async def _sample_of(self, scope: Scope, seed: str) -> list[Target]:
        async with self._eraser.connection() as connection:
            rows = await connection.fetch(_VERSIONS, scope.tenant_id, scope.subject_id, seed, VERSIONS)
            versions = [stored(each["envelope"], each["position"]) for each in rows]
            if not versions:
                return []
            raw = await open_raw(connection, await self._vault.keyring(scope), versions)
        return [each.model_copy(update={"subject_id": scope.subject_id}) for each in targets_of(versions, raw)]

    async def destroy(self, tombstone: StoredEvent) -> None:
        """Destroy keys and outside ids, person by person, then every sealed body."""
        tenant, subject = tombstone.scope.tenant_id, person_of(tombstone)
        if subject is not None:
            await self._vault.erase_person(tombstone.scope, tombstone.recorded_at)
            failpoint.hit("erase.destroyed")
        else:
            await self._vault.bar_tenant(tenant)
            for each in await self._vault.people(tenant):
                if each != scratch_of(tombstone).subject_id:
                    await self._vault.erase_person(Scope(tenant_id=tenant, subject_id=each), tombstone.recorded_at)
                    failpoint.hit("erase.destroyed")
        for person in await self._everybody(tombstone):
            async with self._eraser.connection() as connection:
                await connection.fetchval(
                    "select log.remove_person_v1($1, $2)", tombstone.event_id, person, timeout=_STEP_S
                )
            failpoint.hit("erase.removed")

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """As a layer, drop what lies in `ops`; a read that is just being recorded is waited for."""
        del question
        for person in await self._everybody(tombstone):
            async with self._eraser.transaction() as connection:
                await connection.execute("select ops.lock_reads_v1($1)", person)
                await connection.execute(RECORDS["read"], tombstone.scope.tenant_id, person)
        for query in RECORDS.values():
            async with self._eraser.connection() as connection:
                await connection.execute(query, tombstone.scope.tenant_id, person_of(tombstone))

    async def release(self, tombstone: StoredEvent) -> None:
        """Destroy the key of the probes, and with a tenant its own key, which was the last of it."""
        if person_of(tombstone) is None:
            await self._vault.drop_tenant(tombstone.scope.tenant_id)
        else:
            await self._vault.discard(scratch_of(tombstone))

    async def _everybody(self, tombstone: StoredEvent) -> list[UUID]:
        async with self._eraser.connection() as connection:
            rows = await connection.fetch(_EVERYBODY, tombstone.scope.tenant_id, person_of(tombstone))
        return [row["subject_id"] for row in rows]


async def tables_of(connection: Connection, schema: str) -> list[str]:
    """Name the tables of a schema whose rows belong to a tenant."""
    rows = await connection.fetch(
        """select c.relname::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
           join pg_attribute a on a.attrelid = c.oid
           where n.nspname = $1 and c.relkind = 'r' and a.attname = 'tenant_id' and not a.attisdropped order by 1""",
        schema,
    )
    return [row["name"] for row in rows]


def _event(tombstone: StoredEvent) -> Tombstoned:
    event = tombstone.event
    assert isinstance(event, Tombstoned), "erasures are for tombstones"  # noqa: S101 - narrows the type
    return event
