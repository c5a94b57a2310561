"""Everybody's keys under new ones, from the top down to the data keys, so that a copy opens what is in it and no more.

A copy of the vault as it is would open, together with the epoch's secret, every other copy made before the next roll:
write-ahead log, older backups. So a backup gets tenant and person keys of its own under a secret of its own, and a
restored vault again new ones: neither secret opens anything else. Lookup secrets stay, as digests depend on them.
"""

import os
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from events.envelope import decrypt, encrypt
from events.errors import TamperError
from events.keyring import KEY, LOOKUP


class TenantRow(NamedTuple):
    """A row of `vault.tenant` as far as it is a key; `epoch` names what it is wrapped under."""

    tenant_id: UUID
    generation: int
    epoch: UUID
    wrapped: bytes
    lookup: bytes


class PersonRow(NamedTuple):
    """A row of `vault.person`."""

    tenant_id: UUID
    subject_id: UUID
    generation: int
    tenant_generation: int
    wrapped: bytes
    lookup: bytes


class DataKeyRow(NamedTuple):
    """A row of `vault.data_key` as far as it is a key."""

    key_id: UUID
    tenant_id: UUID
    subject_id: UUID
    generation: int
    wrapped: bytes


Cipher = Callable[[UUID, bytes, bytes], Awaitable[bytes]]
"""Wraps or unwraps under an epoch: its id, the bytes, what they are bound to."""


@dataclass
class Rechain:
    """Takes tenants, then people, then data keys, and gives each back under new keys of generation 1.

    Args:
        unwrap: opens what the old epochs wrapped.
        wrap: seals under the new epoch.
        epoch: the new epoch.
        gone: ids of tenants, people and data keys that must not come along.
    """

    unwrap: Cipher
    wrap: Cipher
    epoch: UUID
    gone: Container[UUID] = frozenset()
    unreadable: int = 0
    _tenants: dict[tuple[UUID, int], bytes] = field(default_factory=dict)
    _new_tenants: dict[UUID, bytes] = field(default_factory=dict)
    _people: dict[tuple[UUID, UUID, int], bytes] = field(default_factory=dict)
    _new_people: dict[tuple[UUID, UUID], bytes] = field(default_factory=dict)

    async def tenants(self, rows: Iterable[TenantRow]) -> list[TenantRow]:
        """Give every tenant a new key.

        Raises:
            EpochGoneError: an epoch was destroyed meanwhile.
            TamperError: a tenant's key does not open.
        """
        made: dict[UUID, TenantRow] = {}
        for row in rows:
            if row.tenant_id in self.gone:
                continue
            bound = row.tenant_id.bytes
            self._tenants[row.tenant_id, row.generation] = await self.unwrap(row.epoch, row.wrapped, bound + KEY)
            if row.tenant_id not in made:
                lookup = await self.unwrap(row.epoch, row.lookup, bound + LOOKUP)
                secret = self._new_tenants[row.tenant_id] = os.urandom(32)
                made[row.tenant_id] = TenantRow(
                    row.tenant_id,
                    1,
                    self.epoch,
                    await self.wrap(self.epoch, secret, bound + KEY),
                    await self.wrap(self.epoch, lookup, bound + LOOKUP),
                )
        return list(made.values())

    def people(self, rows: Iterable[PersonRow]) -> Iterator[PersonRow]:
        """Give every person a new key.

        Raises:
            TamperError: a person's key does not open.
        """
        for row in rows:
            if row.subject_id in self.gone or row.tenant_id in self.gone:
                continue
            old, who = self._tenants[row.tenant_id, row.tenant_generation], (row.tenant_id, row.subject_id)
            bound = row.subject_id.bytes
            self._people[*who, row.generation] = decrypt(old, row.wrapped, bound + KEY)
            if who in self._new_people:
                continue
            secret, above = self._new_people.setdefault(who, os.urandom(32)), self._new_tenants[row.tenant_id]
            lookup = decrypt(old, row.lookup, bound + LOOKUP)
            yield PersonRow(*who, 1, 1, encrypt(above, secret, bound + KEY), encrypt(above, lookup, bound + LOOKUP))

    def data_keys(self, rows: Iterable[DataKeyRow]) -> Iterator[DataKeyRow]:
        """Wrap data keys anew; one that does not open was lost before, and is counted and left out."""
        for row in rows:
            if row.key_id in self.gone or row.subject_id in self.gone or row.tenant_id in self.gone:
                continue
            bound, who = row.key_id.bytes, (row.tenant_id, row.subject_id)
            try:
                secret = decrypt(self._people[*who, row.generation], row.wrapped, bound)
            except TamperError:
                self.unreadable += 1
                continue
            yield DataKeyRow(row.key_id, *who, 1, encrypt(self._new_people[who], secret, bound))
