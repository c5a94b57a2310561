"""Bringing people under the new key of their tenant, and their data keys under a new key of the person.

Each step goes on from what the tables hold and commits in small transactions, so it can be killed and repeated. A key
is made beside the old one and the old one dropped last; foreign keys refuse to drop one that something is wrapped
under.
"""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from events import failpoint
from events.envelope import decrypt, encrypt
from events.errors import TamperError
from events.keyring import KEY, LOOKUP
from events.model import TenantId
from events.postgres import Connection, Row

PEOPLE, DATA_KEYS = 64, 256
"""How many go into one transaction: few, as the event loop and their rows stand still meanwhile."""

PAUSE_S = 0.01

_STALE_PEOPLE = """
select p.subject_id, p.generation, p.tenant_generation, p.wrapped, p.lookup, n.generation as newest,
       n.wrapped as newest_wrapped, exists (select from vault.due d
         where d.tenant_id = p.tenant_id and d.subject_id = p.subject_id and d.taken) as due
from vault.person p
cross join lateral (select q.generation, q.wrapped from vault.person q
  where q.tenant_id = p.tenant_id and q.subject_id = p.subject_id order by q.generation desc limit 1) n
where p.tenant_id = $1 and p.tenant_generation < $2
limit $3 for no key update of p"""
_WRITE_PEOPLE = """
insert into vault.person (tenant_id, subject_id, generation, tenant_generation, wrapped, lookup, since)
select $1, s, g, $2, w, l, (select max(p.since) from vault.person p where p.tenant_id = $1 and p.subject_id = s)
from unnest($3::uuid[], $4::integer[], $5::bytea[], $6::bytea[]) as t(s, g, w, l)
on conflict (tenant_id, subject_id, generation) do update
  set tenant_generation = excluded.tenant_generation, wrapped = excluded.wrapped, lookup = excluded.lookup"""
# one that is locked is about to be destroyed: waiting for it could end in a deadlock
_STALE_KEYS = """
select d.key_id, d.subject_id, d.generation, d.wrapped from vault.data_key d
join unnest($2::uuid[], $3::integer[]) as t(s, g) on d.subject_id = t.s and d.generation = t.g
where d.tenant_id = $1 limit $4 for update of d skip locked"""
_WRITE_KEYS = """
update vault.data_key d set generation = t.g, wrapped = t.w
from unnest($1::uuid[], $2::integer[], $3::bytea[]) as t(k, g, w) where d.key_id = t.k"""
_DROP_PEOPLE = """
delete from vault.person p using unnest($2::uuid[], $3::integer[]) as t(s, g)
where p.tenant_id = $1 and p.subject_id = t.s and p.generation = t.g and not exists (select from vault.data_key d
  where d.tenant_id = $1 and d.subject_id = t.s and d.generation = t.g)"""
_LEFT = """
select count(*) from vault.person p join unnest($2::uuid[], $3::integer[]) as t(s, g)
  on p.subject_id = t.s and p.generation = t.g where p.tenant_id = $1"""


@dataclass
class Counts:
    """What a roll did."""

    tenants: int = 0
    new_tenant_keys: int = 0
    people: int = 0
    new_person_keys: int = 0
    data_keys: int = 0
    unreadable: int = 0
    """Wrapped keys that did not open before either, and were carried along as they are."""
    epochs_destroyed: int = 0


@dataclass(frozen=True, slots=True)
class TenantKeys:
    """A tenant's key in the middle of a roll: every generation that is still there, open."""

    tenant_id: TenantId
    secrets: Mapping[int, bytes]

    @property
    def newest(self) -> int:
        """The generation everybody is to come under."""
        return max(self.secrets)


@dataclass(frozen=True, slots=True)
class _Write:
    """A generation of a person's key as it is to stand in the table."""

    subject_id: UUID
    generation: int
    wrapped: bytes
    lookup: bytes


@dataclass(frozen=True, slots=True)
class _Change:
    """From which key to which a person's data keys go. The old one is None where it does not open."""

    old: bytes | None
    generation: int
    new: bytes


_Changes = dict[tuple[UUID, int], _Change]
"""By person and the generation that is to go."""


async def rewrap_people(connection: Connection, tenant: TenantKeys, counts: Counts) -> bool:
    """Bring some people under the newest key of their tenant; say whether there were any."""
    changes: _Changes = {}
    async with connection.transaction():
        rows = await connection.fetch(_STALE_PEOPLE, tenant.tenant_id, tenant.newest, PEOPLE)
        writes = [write for row in rows if (write := _plan(tenant, row, changes, counts)) is not None]
        await connection.execute(
            _WRITE_PEOPLE,
            tenant.tenant_id,
            tenant.newest,
            [write.subject_id for write in writes],
            [write.generation for write in writes],
            [write.wrapped for write in writes],
            [write.lookup for write in writes],
        )
    if rows:
        counts.people += len(writes)
        failpoint.hit("roll.people")
    if changes:
        await _rewrap_data_keys(connection, tenant.tenant_id, changes, counts)
    return bool(rows)


def _plan(tenant: TenantKeys, row: Row, changes: _Changes, counts: Counts) -> _Write | None:
    """Say what to write for a generation of a person's key, and note where data keys must follow."""
    above, new_above = tenant.secrets[row["tenant_generation"]], tenant.secrets[tenant.newest]
    subject, generation, due = row["subject_id"], row["generation"], row["due"]
    secret = _opened(above, row["wrapped"], subject.bytes + KEY, counts)
    if generation < row["newest"]:  # made by a roll that was killed
        newest = decrypt(new_above, row["newest_wrapped"], subject.bytes + KEY)
        changes[subject, generation] = _Change(secret, row["newest"], newest)
        return None
    lookup = _opened(above, row["lookup"], subject.bytes + LOOKUP, counts)
    if secret is None or lookup is None:
        return _Write(subject, generation, row["wrapped"], row["lookup"])
    new = os.urandom(32) if due else secret
    if due:
        changes[subject, generation] = _Change(secret, generation + 1, new)
        counts.new_person_keys += 1
    return _Write(
        subject,
        generation + due,
        encrypt(new_above, new, subject.bytes + KEY),
        encrypt(new_above, lookup, subject.bytes + LOOKUP),
    )


async def _rewrap_data_keys(connection: Connection, tenant_id: TenantId, changes: _Changes, counts: Counts) -> None:
    """Rewrap what is left of some people under their new keys, then drop the old ones."""
    going = ([subject for subject, _ in changes], [generation for _, generation in changes])
    while True:
        async with connection.transaction():
            rows = await connection.fetch(_STALE_KEYS, tenant_id, *going, DATA_KEYS)
            places = [changes[row["subject_id"], row["generation"]] for row in rows]
            await connection.execute(
                _WRITE_KEYS,
                [row["key_id"] for row in rows],
                [change.generation for change in places],
                [_rewrapped(change, row, counts) for change, row in zip(places, rows, strict=True)],
            )
        if rows:
            counts.data_keys += len(rows)
            failpoint.hit("roll.data_keys")
        elif await _drop(connection, tenant_id, going):
            failpoint.hit("roll.people_dropped")
            return
        else:  # a request of before has leased under an old key, or one of its keys is just being destroyed
            await asyncio.sleep(PAUSE_S)


async def _drop(connection: Connection, tenant_id: TenantId, going: tuple[list[UUID], list[int]]) -> bool:
    try:
        await connection.execute(_DROP_PEOPLE, tenant_id, *going)
    except asyncpg.ForeignKeyViolationError:
        return False
    return not await connection.fetchval(_LEFT, tenant_id, *going)


def _rewrapped(change: _Change, row: Row, counts: Counts) -> bytes:
    bound, wrapped = row["key_id"].bytes, row["wrapped"]
    secret = None if change.old is None else _opened(change.old, wrapped, bound, counts)
    return wrapped if secret is None else encrypt(change.new, secret, bound)


def _opened(secret: bytes, wrapped: bytes, bound: bytes, counts: Counts) -> bytes | None:
    """Open a wrapped key, None where it does not: it did not before either, and must not hold up everybody's roll."""
    try:
        return decrypt(secret, wrapped, bound)
    except TamperError:
        counts.unreadable += 1
        return None
