"""Writing checkpoints: signed heads, in the database and in a second place, each proven to extend the last (R5)."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from events.errors import CenotaphError, TamperError
from events.keychain import Introduction, introduce
from events.keyfile import key_file
from events.merkle import EMPTY_ROOT
from events.note import Checkpoint, Note, NoteSigner, VerifierKey
from events.origins import own
from events.place import Place
from events.postgres import Connection, Database
from events.proof import consistency_spans, cover, prove, verify_consistency
from events.sealer import read_nodes

CHECKPOINTS = "checkpoints"
SIGNING_KEYS = "signing-keys"
COSIGNATURES = "cosignatures"

# whoever writes holds this until the commit, so that a key is never retired under somebody who signs with it
_LOCK = "select pg_advisory_xact_lock(hashtextextended('log.checkpoint', 0))"
_LAST = "select note from log.checkpoint order by size desc limit 1"
_COVERAGE = """
select h.size - c.size as uncovered, k.written_at
from log.head h cross join log.copied c left join log.checkpoint k on k.size = c.size
"""
_COPIED = "update log.copied set size = $1 where size < $1"


@dataclass(frozen=True, slots=True)
class Coverage:
    """When the last checkpoint in the second place was signed, None where none is; how many events lie behind it."""

    signed_at: datetime | None
    uncovered: int


async def coverage(connection: Connection) -> Coverage:
    """Say how far the checkpoints reach that the second place has; what lies behind is the operator's word (R5)."""
    row = await connection.fetchrow(_COVERAGE)
    assert row is not None, "both rows are made with the schema"  # noqa: S101 - narrows the type
    return Coverage(row["written_at"], row["uncovered"])


def checkpoint_name(size: int) -> str:
    """Name a checkpoint in the second place, so that names sort by size."""
    return f"{CHECKPOINTS}/{size:020}.note"


def signing_key_name(number: int) -> str:
    """Name the note that introduces a key in the second place."""
    return f"{SIGNING_KEYS}/{number:06}.note"


def cosignature_name(size: int, witness: VerifierKey) -> str:
    """Name a checkpoint that a witness cosigned in the second place."""
    return f"{COSIGNATURES}/{size:020}-{witness.key_id.hex()}.note"


@dataclass(frozen=True, slots=True)
class _Head:
    size: int
    root: bytes


class Checkpointer:
    """Signs the head. Several may run: a lock in the database is between them.

    Args:
        database: a pool under `cenotaph_sealer`.
        place: the second place; the log's own part of it is found by what the log says.
        keys: the folder of key files; the key in force lies there as `checkpoints-N.key`.
    """

    def __init__(self, database: Database, place: Place, keys: Path) -> None:
        self._database = database
        self._place = place
        self._keys = keys
        self._pushed = 0

    async def behind(self) -> int:
        """Say how many sealed events no checkpoint in the second place covers yet."""
        async with self._database.connection() as connection:
            return (await coverage(connection)).uncovered

    async def write(self) -> None:
        """Sign the head if it grew, then copy what the second place does not have yet.

        Raises:
            TamperError: the head does not extend the last checkpoint, or the second place holds something else.
            CenotaphError: the signing key is not in the key folder, or this is not the second place of the log.
        """
        async with self._database.transaction() as connection:
            await connection.execute(_LOCK)
            introductions = await self._introductions(connection)
            await self._sign(connection, self._signer(introductions[-1]))
        await self._push()

    async def first_key(self) -> VerifierKey:
        """Return the key that trust starts from, made on first use."""
        async with self._database.transaction() as connection:
            await connection.execute(_LOCK)
            first, *_ = await self._introductions(connection)
        await self._push()
        return first.key

    async def endorse(self, text: str) -> str:
        """Sign another text with the key in force; return the note.

        Args:
            text: begins with the name of the log, and does not read as a checkpoint.

        Raises:
            CenotaphError: the signing key is not in the key folder.
        """
        async with self._database.transaction() as connection:
            await connection.execute(_LOCK)
            signer = self._signer((await self._introductions(connection))[-1])
        return str(Note(text, (signer.sign(text),)))

    async def rotate(self) -> Introduction:
        """Sign the head with the key in force, let it introduce a new one, and destroy it.

        Raises:
            TamperError: as for `write`.
            CenotaphError: as for `write`.
        """
        async with self._database.transaction() as connection:
            await connection.execute(_LOCK)
            introductions = await self._introductions(connection)
            old = self._signer(introductions[-1])
            after = await self._sign(connection, old)
            number = len(introductions)
            new = NoteSigner(old.name, Ed25519PrivateKey.from_private_bytes(key_file(self._path(number))))
            await self._insert_key(connection, number, introduce(new, number, after, old))
        await self._push()
        for retired in range(number):
            self._path(retired).unlink(missing_ok=True)
        return Introduction(number, new.key, after)

    async def _introductions(self, connection: Connection) -> list[Introduction]:
        rows = await connection.fetch("select note from log.signing_key order by number")
        if rows:
            return [Introduction.parse(Note.parse(row["note"]).text) for row in rows]
        private = Ed25519PrivateKey.from_private_bytes(key_file(self._path(0)))
        signer = NoteSigner(f"cenotaph/{uuid4()}", private)
        await self._insert_key(connection, 0, introduce(signer, 0, 0, None))
        return [Introduction(0, signer.key, 0)]

    async def _insert_key(self, connection: Connection, number: int, note: str) -> None:
        await connection.execute("insert into log.signing_key (number, note) values ($1, $2)", number, note)

    def _path(self, number: int) -> Path:
        return self._keys / f"checkpoints-{number}.key"

    def _signer(self, introduction: Introduction) -> NoteSigner:
        path = self._path(introduction.number)
        if path.exists():
            signer = NoteSigner(introduction.key.name, Ed25519PrivateKey.from_private_bytes(path.read_bytes()))
            if signer.key == introduction.key:
                return signer
        raise CenotaphError(
            f"the key folder lacks {path.name}, the key that signs checkpoints of {introduction.key.name}; restore it"
        )

    async def _sign(self, connection: Connection, signer: NoteSigner) -> int:
        """Write a checkpoint of the head unless there is one; return the head's size."""
        row = await connection.fetchrow("select size, root from log.head")
        assert row is not None, "the head row is made with the schema"  # noqa: S101 - narrows the type
        head = _Head(row["size"], row["root"])
        note = await connection.fetchval(_LAST)
        last = _Head(0, EMPTY_ROOT) if note is None else _head_of(note)
        if not await _extends(connection, last, head):
            raise TamperError(
                f"the sealed head of {head.size} events does not extend the checkpoint of {last.size};"
                " nothing was signed; run `cenotaph audit verify`"
            )
        if head.size > last.size:
            text = Checkpoint(signer.name, head.size, head.root).text
            await connection.execute(
                "insert into log.checkpoint (size, note) values ($1, $2)",
                head.size,
                str(Note(text, (signer.sign(text),))),
            )
        return head.size

    async def _push(self) -> None:
        """Copy to the second place what it lacks; the first time that may be what an earlier process left."""
        async with self._database.connection() as connection:
            place = await own(connection, self._place)
            introductions = await connection.fetch("select number, note from log.signing_key order by number")
            rows = await connection.fetch("select size from log.checkpoint where size > $1 order by size", self._pushed)
        for row in introductions:
            await _put(place, signing_key_name(row["number"]), row["note"])
        if missing := {checkpoint_name(row["size"]): row["size"] for row in rows}:
            if not self._pushed:
                there = await asyncio.to_thread(lambda: set(place.names(CHECKPOINTS)))
                missing = {name: size for name, size in missing.items() if name not in there}
            for name, size in missing.items():
                async with self._database.connection() as connection:
                    note = await connection.fetchval("select note from log.checkpoint where size = $1", size)
                await _put(place, name, note)
            async with self._database.connection() as connection:
                await connection.execute(_COPIED, rows[-1]["size"])
            self._pushed = rows[-1]["size"]


async def _put(place: Place, name: str, note: str) -> None:
    content = note.encode()
    if await asyncio.to_thread(place.put, name, content):
        return
    if await asyncio.to_thread(place.get, name) != content:
        raise TamperError(
            f"the second place holds another {name} than the log; is it the place of another log?"
            " Give each log a place of its own, or run `cenotaph audit verify`"
        )


def _head_of(note: str) -> _Head:
    checkpoint = Checkpoint.parse(Note.parse(note).text)
    return _Head(checkpoint.size, checkpoint.root)


async def _extends(connection: Connection, last: _Head, head: _Head) -> bool:
    if head.size < last.size:
        return False
    spans = consistency_spans(last.size, head.size)
    places = cover(spans)
    nodes = await read_nodes(connection, places)
    if len(nodes) < len(set(places)):
        return False
    return verify_consistency(last.size, head.size, prove(spans, nodes), last.root, head.root)
