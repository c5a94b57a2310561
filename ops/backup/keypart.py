"""The part of a backup that holds keys: the vault's rows under keys of their own, and the one secret above them."""

import asyncio
import os
import struct
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from events.envelope import decrypt, encrypt
from events.errors import EpochGoneError, SecretError, UnavailableError
from events.keyfile import read_secret, write_once
from events.postgres import Connection, Database
from events.provider import Provider
from ops.backup.copyfile import HEADER, TRAILER, Field, encode, rows_of
from ops.backup.folder import TableFile
from ops.backup.manifest import Listed, Manifest
from ops.backup.rechain import DataKeyRow, PersonRow, Rechain, TenantRow
from ops.backup.tables import copy_out
from services.audit.reading import snapshot
from services.forgetting.backups import SECRET

ALIASES: Final = "vault.alias"
GONE: Final = "vault.gone"
TABLES: Final = ("vault.tenant", "vault.person", "vault.data_key")

_TRIES = 5  # a roll destroys an epoch once
_PAUSE_S = 0.1
_BATCH = 5000
_INT = struct.Struct(">i")
_MICROS = struct.Struct(">q")
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)  # what the database counts from
_NO_EPOCH = UUID(int=0)
_IDS = frozenset({"epoch", "internal"})
_TENANTS = """
select tenant_id, generation, epoch_id, wrapped, lookup from vault.tenant order by tenant_id, generation desc"""
_PEOPLE = """
select tenant_id, subject_id, generation, tenant_generation, wrapped, lookup from vault.person
order by tenant_id, subject_id, generation desc"""
_DATA_KEYS = "select key_id, tenant_id, subject_id, generation, wrapped from vault.data_key"


class AliasRow(NamedTuple):
    """A row of `vault.alias`."""

    tenant_id: UUID
    subject_id: UUID
    kind: str
    digest: bytes
    internal: UUID
    sealed: bytes
    since: datetime | None


class GoneRow(NamedTuple):
    """A row of `vault.gone`."""

    tenant_id: UUID
    subject_id: UUID


T = TypeVar("T", TenantRow, PersonRow, DataKeyRow)
R = TypeVar("R", TenantRow, PersonRow, DataKeyRow, AliasRow, GoneRow)


async def write_keys(vault: Database, provider: Provider, folder: Path) -> tuple[list[Listed], str]:
    """Write the part into a folder; return what was written, and the revision of the vault's schema.

    The secret comes last, so that half a part opens nothing.

    Args:
        vault: the vault's cluster as its owner.
        provider: where the epochs' secrets lie.
        folder: where to write.

    Raises:
        UnavailableError: keys roll all the time, or a cluster does not answer.
    """
    secret = os.urandom(32)

    async def wrap(_epoch: UUID, content: bytes, bound: bytes) -> bytes:
        return encrypt(secret, content, bound)

    for _ in range(_TRIES):
        rechain = Rechain(provider.unwrap, wrap, _NO_EPOCH)
        async with snapshot(vault) as connection:
            rows = await connection.fetch(_TENANTS)
            try:
                tenants = await rechain.tenants(TenantRow(*row.values()) for row in rows)
            except EpochGoneError:  # a roll came between the rows and the secret
                await asyncio.sleep(_PAUSE_S)
                continue
            files = await _tables(connection, rechain, tenants, folder)
            revision = await connection.fetchval("select version_num from alembic_version")
        write_once(folder / SECRET, secret)
        return files, revision
    raise UnavailableError("the keys keep rolling; take the backup again")


async def read_keys(
    folder: Path, manifest: Manifest, provider: Provider, epoch: UUID, gone: AbstractSet[UUID]
) -> AsyncIterator[tuple[str, tuple[str, ...], Iterable[tuple[object, ...]]]]:
    """Read the part back, under new keys again and a new epoch: table, columns and rows, in the order to insert.

    Args:
        folder: where the part lies.
        manifest: of it, checked.
        provider: where the new epoch's secret lies.
        epoch: the new epoch; the provider has it already.
        gone: ids of tenants, people and data keys that must not come back.

    Raises:
        SecretError: the secret of the part cannot be read.
        TamperError: the rows do not open.
    """
    try:
        secret = read_secret(folder / SECRET)
    except FileNotFoundError:
        raise SecretError(f"{folder} has no {SECRET}: the keys of this backup were destroyed") from None

    async def unwrap(_epoch: UUID, content: bytes, bound: bytes) -> bytes:
        return decrypt(secret, content, bound)

    rechain = Rechain(unwrap, provider.wrap, epoch, gone)
    read = {table: partial(_read, folder / manifest.file(table).name) for table in (*TABLES, ALIASES, GONE)}
    tenants = [(*row[:2], epoch, *row[3:]) for row in await rechain.tenants(read["vault.tenant"](TenantRow))]
    yield "vault.tenant", ("tenant_id", "generation", "epoch_id", "wrapped", "lookup"), tenants
    yield "vault.person", PersonRow._fields, rechain.people(read["vault.person"](PersonRow))
    yield "vault.data_key", DataKeyRow._fields, rechain.data_keys(read["vault.data_key"](DataKeyRow))
    aliases = read[ALIASES](AliasRow)
    yield ALIASES, AliasRow._fields, (row for row in aliases if not {row.tenant_id, row.subject_id} & gone)
    yield GONE, GoneRow._fields, read[GONE](GoneRow)


async def _tables(connection: Connection, rechain: Rechain, tenants: list[TenantRow], folder: Path) -> list[Listed]:
    async def once() -> AsyncIterator[list[TenantRow]]:
        yield tenants

    people = (rechain.people(rows) async for rows in _batches(connection, _PEOPLE, PersonRow))
    keys = (rechain.data_keys(rows) async for rows in _batches(connection, _DATA_KEYS, DataKeyRow))
    return [
        await _write(folder, "vault.tenant", TenantRow._fields, once()),
        await _write(folder, "vault.person", PersonRow._fields, people),
        await _write(folder, "vault.data_key", DataKeyRow._fields, keys),
        await copy_out(connection, ALIASES, AliasRow._fields, folder),
        await copy_out(connection, GONE, GoneRow._fields, folder),
    ]


async def _batches(connection: Connection, query: str, kind: type[T]) -> AsyncIterator[list[T]]:
    """Read rows, so many at a time."""
    batch: list[T] = []
    async for row in connection.cursor(query, prefetch=_BATCH):
        batch.append(kind(*row.values()))
        if len(batch) == _BATCH:
            yield batch
            batch = []
    yield batch


async def _write(
    folder: Path, table: str, columns: tuple[str, ...], batches: AsyncIterator[Iterable[tuple[object, ...]]]
) -> Listed:
    count = 0
    with TableFile(folder, table, columns) as file:
        file.write(HEADER)
        async for batch in batches:
            rows = [encode([_field(each) for each in row]) for row in batch]
            file.write(b"".join(rows))
            count += len(rows)
        file.write(TRAILER)
    return file.listed(count)


def _read(path: Path, kind: type[R]) -> Iterator[R]:
    """Read rows back: what a column is follows from its name."""
    readers = [_READERS.get(name, _uuid if name in _IDS or name.endswith("_id") else _bytes) for name in kind._fields]
    for row in rows_of(path):
        yield kind._make(None if field is None else read(field) for read, field in zip(readers, row, strict=True))


def _uuid(field: bytes) -> UUID:
    return UUID(bytes=field)


def _bytes(field: bytes) -> bytes:
    return field


def _number(field: bytes) -> int:
    number: int = _INT.unpack(field)[0]
    return number


def _moment(field: bytes) -> datetime:
    return _EPOCH + timedelta(microseconds=_MICROS.unpack(field)[0])


_READERS: Mapping[str, Callable[[bytes], object]] = {
    "generation": _number,
    "kind": bytes.decode,
    "since": _moment,
    "tenant_generation": _number,
}


def _field(value: object) -> Field:
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, int):
        return _INT.pack(value)
    assert isinstance(value, bytes), "ids, numbers and wrapped keys"  # noqa: S101 - narrows the type
    return value
