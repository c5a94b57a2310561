"""One person's open keys, and the outside ids that only they can recognise (R4).

A `Keyring` lives for one request and holds what it opened; nothing that is open is kept beyond it. A person's key may
change while it lives: what is wrapped under another generation makes it open that one, and a lease under one that has
gone is made again.
"""

import hmac
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Final
from uuid import UUID, uuid4

import asyncpg

from events.envelope import DataKey, decrypt, encrypt
from events.errors import BadInputError, ErasedError, UnavailableError
from events.leases import Lease, Leases
from events.model import PRIVATE, KeyId, Scope, TenantId
from events.postgres import Connection, Database, Row

_TRIES = 5  # a roll changes a key once

Name = tuple[str, str]
"""An outside id with its kind: `("turn", "t-17")`."""

_PLACE_END: Final = "\x1e"  # a control character, which no outside id may hold
_OF_PROJECT: Final = frozenset({"task", "task command", "series"})
_BOUND_TO: Final = ("project", "task", "assistant", "purpose")
_OF_PLACE: Final = frozenset({"turn", "session", "message"})


@dataclass(frozen=True, slots=True)
class PersonKey:
    """One generation of a person's key, open, with the secret for keyed digests, which no generation changes.

    `since` is when somebody of the same outside id was forgotten, if that happened: what was said until then stays so.
    """

    generation: int
    secret: bytes = field(repr=False)
    lookup: bytes = field(repr=False)
    since: datetime | None = None


KEY, LOOKUP = b"key", b"lookup"
"""What a wrapped key is for, behind the id it is bound to."""

OpenKey = Callable[[Scope, int | None], Awaitable[PersonKey | None]]
"""Opens a generation of a person's key, the newest where none is named; None where it is gone."""


def keyed_digest(secret: bytes, purpose: str, text: str) -> bytes:
    """HMAC-SHA256 (RFC 2104) of a text for one purpose."""
    return hmac.digest(secret, f"{purpose}\x00{text}".encode(), sha256)


def open_person(scope: Scope, row: Row, tenant_key: bytes) -> PersonKey:
    """Open a generation of a person's key as the vault holds it."""
    return PersonKey(
        row["generation"],
        decrypt(tenant_key, row["wrapped"], scope.subject_id.bytes + KEY),
        decrypt(tenant_key, row["lookup"], scope.subject_id.bytes + LOOKUP),
        row["since"],
    )


class Keyring:
    """One person's keys for the length of one request.

    Outside ids of turns, sessions and tasks are those of what the scope is bound to (project, task, assistant,
    purpose): under another credential the same id is another thing, so that nobody reaches over by a name or learns
    that it is taken.

    Args:
        database: a pool to the vault's cluster.
        scope: whose keys.
        newest: the person's key.
        open_key: opens other generations of it.
        leases: makes leased data keys durable.
    """

    def __init__(self, database: Database, scope: Scope, newest: PersonKey, open_key: OpenKey, leases: Leases) -> None:
        self._database = database
        self.scope = scope
        self._newest = newest
        self._open_key = open_key
        self._leases = leases
        self._opened = {newest.generation: newest.secret}
        self._lookup = newest.lookup
        self.since = newest.since

    def entire(self) -> "Keyring":
        """Return the same keys for all of the person: to find what must be kept silent, never to give anything away."""
        entire = copy(self)
        entire.scope = self.scope.person
        return entire

    def digest(self, purpose: str, text: str) -> bytes:
        """Digest a text so that only this person's keyring can recognise it."""
        return keyed_digest(self._lookup, purpose, text)

    def secret(self, purpose: str) -> bytes:
        """Derive a secret for keyed hashes of one purpose."""
        return keyed_digest(self._lookup, "derive", purpose)

    async def lease(self, count: int) -> list[DataKey]:
        """Make data keys; they are durable in the vault when this returns.

        Raises:
            UnavailableError: the person's key keeps changing, or the person is gone.
        """
        newest = self._newest
        kept = self._leases.take(self.scope, newest.generation, count)
        keys = [DataKey(key_id, decrypt(newest.secret, wrapped, key_id.bytes)) for key_id, wrapped in kept.items()]
        missing = count - len(keys)
        if not missing:
            return keys
        fresh = [DataKey(KeyId(uuid4()), os.urandom(32)) for _ in range(missing + self._leases.ahead(self.scope))]
        for _ in range(_TRIES):
            lease = self._wrapped(fresh)
            try:
                await self._leases.keep(lease, {key.key_id: lease.wrapped[key.key_id] for key in fresh[missing:]})
            except asyncpg.ForeignKeyViolationError:  # a roll has replaced the person's key
                found = await self._open_key(self.scope, None)
                if found is None:
                    break
                self._newest = found
                continue
            return keys + fresh[:missing]
        raise UnavailableError("the person's key is being replaced or gone; try again")

    async def load(self, key_ids: Iterable[KeyId]) -> dict[KeyId, bytes]:
        """Open the data keys that still exist; a destroyed one is simply not in the answer.

        Raises:
            UnavailableError: the person's key keeps changing.
        """
        wanted = list(set(key_ids))
        if not wanted:
            return {}
        for _ in range(_TRIES):
            async with self._database.connection() as connection:
                rows = await connection.fetch(
                    "select key_id, generation, wrapped from vault.data_key where key_id = any($1::uuid[])"
                    " and tenant_id = $2 and subject_id = $3",
                    wanted,
                    self.scope.tenant_id,
                    self.scope.subject_id,
                )
            if await self._opens({row["generation"] for row in rows}):
                return {
                    KeyId(row["key_id"]): decrypt(self._opened[row["generation"]], row["wrapped"], row["key_id"].bytes)
                    for row in rows
                }
        raise UnavailableError("the person's key is being replaced; try again")

    async def intern(self, names: Sequence[Name]) -> dict[Name, UUID]:
        """Map outside ids, each of a kind, to internal ones, making those that are new."""
        placed = {name: self._placed(name) for name in names}
        found = await intern_names(
            self._database, self.scope.tenant_id, self.scope.subject_id, self._lookup, list(placed.values())
        )
        return {name: found[place] for name, place in placed.items()}

    async def find(self, name: Name) -> UUID | None:
        """Map an outside id to the internal one, None if it was never seen.

        The person, who reads everything, also finds what is called so in one place only, whoever was told there.

        Raises:
            BadInputError: several places have that id, and none is meant more than another.
        """
        async with self._database.connection() as connection:
            internal: UUID | None = await connection.fetchval(
                "select internal from vault.alias"
                " where tenant_id = $1 and subject_id = $2 and kind = $3 and digest = $4",
                self.scope.tenant_id,
                self.scope.subject_id,
                name[0],
                keyed_digest(self._lookup, *self._placed(name)),
            )
            if internal is not None or self.scope.reach is not None:
                return internal
            rows = await connection.fetch(
                "select internal, sealed from vault.alias where tenant_id = $1 and subject_id = $2 and kind = $3",
                self.scope.tenant_id,
                self.scope.subject_id,
                name[0],
            )
        named = {row["internal"]: opened[0] for row in rows if (opened := self._named(row))[2] == name[1]}
        if len(named) > 1:
            places = [await self._shown(place) for place in named.values()]
            raise BadInputError(
                f"{len(named)} places have a {name[0]} of that id: {'; '.join(sorted(places))}."
                " Ask with a token that is bound to the one that is meant"
            )
        return next(iter(named), None)

    async def _shown(self, place: str) -> str:
        """Write what a place is bound to in the caller's own ids."""
        bound = dict(zip(_BOUND_TO, place.split(","), strict=False))
        ids = {kind: UUID(hex=each) for kind, each in bound.items() if each}
        known = await self.outside(ids.values())
        return ", ".join(f"{kind} {known[each]}" for kind, each in ids.items() if each in known)

    async def outside(self, internal: Iterable[UUID]) -> dict[UUID, str]:
        """Map internal ids back to the outside ones; a name of another place is not in the answer."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select internal, kind, sealed from vault.alias where tenant_id = $1 and subject_id = $2"
                " and internal = any($3::uuid[])",
                self.scope.tenant_id,
                self.scope.subject_id,
                list(internal),
            )
        named = {}
        for row in rows:
            place, _, outside = self._named(row)
            if self.scope.audience == PRIVATE or place == self._place(row["kind"]):
                named[row["internal"]] = outside
        return named

    def _named(self, row: Row) -> tuple[str, str, str]:
        """Open the name of an internal id: its place, what ends that, and the outside id."""
        return decrypt(self._lookup, row["sealed"], row["internal"].bytes).decode().rpartition(_PLACE_END)

    def _placed(self, name: Name) -> Name:
        """Put an outside id into the place of the scope: what it is bound to."""
        kind, outside = name
        place = self._place(kind)
        return (kind, f"{place}{_PLACE_END}{outside}") if place else name

    def _place(self, kind: str) -> str:
        """Name the place of ids of a kind, empty where it has none."""
        audience = self.scope.audience
        within: list[UUID | None] = [audience.project, audience.task if kind in _OF_PLACE else None]
        if audience.assistant or audience.purpose:
            within += [audience.assistant, audience.purpose]
        if kind not in _OF_PLACE | _OF_PROJECT or not any(within):
            return ""
        return ",".join("" if each is None else each.hex for each in within)

    def _wrapped(self, keys: Sequence[DataKey]) -> Lease:
        newest = self._newest
        wrapped = {key.key_id: encrypt(newest.secret, key.secret, key.key_id.bytes) for key in keys}
        return Lease(self.scope, newest.generation, wrapped)

    async def _opens(self, generations: set[int]) -> bool:
        """Open what is not open yet; say whether all are, for a roll may have removed one since it was read."""
        for generation in generations - self._opened.keys():
            opened = await self._open_key(self.scope, generation)
            if opened is None:
                return False
            self._opened[generation] = opened.secret
        return True


async def intern_names(
    database: Database, tenant: TenantId, subject: UUID, lookup: bytes, names: Sequence[Name]
) -> dict[Name, UUID]:
    """Map outside ids to internal ones for whoever holds a lookup secret, making those that are new.

    New rows are written in the order of their key: two requests that meet the same new names in another order wait for
    each other one way round, never both.

    Raises:
        ErasedError: the person was forgotten as a whole: no name is taken any more.
    """
    digests = {name: keyed_digest(lookup, *name) for name in dict.fromkeys(names)}
    async with database.connection() as connection:
        known = await _aliases(connection, tenant, subject, digests)
        fresh = {name: uuid4() for name in digests if name not in known}
        if fresh:
            await connection.execute(
                "insert into vault.alias (tenant_id, subject_id, kind, digest, internal, sealed)"
                " select $1, $2, k, d, i, s from unnest($3::text[], $4::bytea[], $5::uuid[], $6::bytea[])"
                " as t(k, d, i, s)"
                " where not exists (select from vault.gone g where g.tenant_id = $1 and g.subject_id = $2)"
                " order by k, d on conflict do nothing",
                tenant,
                subject,
                [kind for kind, _ in fresh],
                [digests[name] for name in fresh],
                list(fresh.values()),
                [encrypt(lookup, outside.encode(), fresh[kind, outside].bytes) for kind, outside in fresh],
            )
            known = await _aliases(connection, tenant, subject, digests)
    if len(known) < len(digests):
        raise ErasedError(subject)
    return known


async def find_names(
    database: Database, tenant: TenantId, subject: UUID, lookup: bytes, names: Sequence[Name]
) -> dict[Name, UUID]:
    """Map outside ids to internal ones for whoever holds a lookup secret; an unknown one is not in the answer."""
    async with database.connection() as connection:
        return await _aliases(connection, tenant, subject, {name: keyed_digest(lookup, *name) for name in names})


async def _aliases(
    connection: Connection, tenant: TenantId, subject: UUID, digests: dict[Name, bytes]
) -> dict[Name, UUID]:
    rows = await connection.fetch(
        # the limit keeps the planner from reading all names of the person, which it takes for few
        "select t.kind, t.digest, a.internal from unnest($3::text[], $4::bytea[]) as t(kind, digest)"
        " cross join lateral (select a.internal from vault.alias a where a.tenant_id = $1 and a.subject_id = $2"
        " and a.kind = t.kind and a.digest = t.digest limit 1) a",
        tenant,
        subject,
        [kind for kind, _ in digests],
        list(digests.values()),
    )
    found = {(row["kind"], row["digest"]): row["internal"] for row in rows}
    return {name: found[place] for name, digest in digests.items() if (place := (name[0], digest)) in found}
