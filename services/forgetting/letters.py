"""Dead letters: messages that could not be handled, sealed under a key of their own, secrets replaced before."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar
from uuid import UUID, uuid4

from events.envelope import StoredEvent, decrypt, encrypt
from events.errors import ErasedError
from events.model import KeyId, LayerFinding, Scope, SubjectId, TenantId
from events.postgres import Connection, Database, Row, readers_of
from events.vault import Vault
from services.forgetting.layers import finding
from services.forgetting.question import Question
from services.forgetting.said import said_after, says


@dataclass(frozen=True, slots=True)
class Parked:
    """One parked message without its content; `position` is what a job was about, `sealed` whether a text was kept."""

    letter_id: UUID
    scope: Scope | None
    stream: str
    entry_id: str
    reason: str
    deliveries: int
    position: int | None
    at: datetime
    sealed: bool


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One parked message, opened. `text` is None where it had no owner under whose key it could be kept."""

    letter_id: UUID
    stream: str
    entry_id: str
    reason: str
    deliveries: int
    key_id: KeyId | None
    text: str | None
    at: datetime


class DeadLetters:
    """Parks messages and opens them again; as a layer, destroys those that say what was forgotten.

    Args:
        database: a pool under `cenotaph_eraser` (or `cenotaph_prober` for reading only).
        vault: with the right to lease and open keys.
    """

    name: ClassVar[str] = "dead_letters"

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    async def park(
        self,
        scope: Scope | None,
        *,
        stream: str,
        entry_id: str,
        reason: str,
        deliveries: int,
        text: str | None,
        position: int | None = None,
    ) -> None:
        """Keep a message with its reason; without an owner, or of a forgotten one, only the reason. Twice keeps one."""
        letter, key_id, ciphertext = uuid4(), None, None
        if scope is not None and text is not None:
            try:
                (key,) = await (await self._vault.keyring(scope)).lease(1)
            except ErasedError:
                scope = None
            else:
                key_id, ciphertext = key.key_id, encrypt(key.secret, text.encode(), _bound(stream, entry_id))
        async with self._database.connection() as connection:
            await connection.execute(
                "insert into ops.dead_letter (letter_id, tenant_id, subject_id, stream, entry_id, reason, deliveries,"
                " key_id, ciphertext, position) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
                " on conflict (stream, entry_id) do nothing",
                letter,
                None if scope is None else scope.tenant_id,
                None if scope is None else scope.subject_id,
                stream,
                entry_id,
                reason,
                deliveries,
                key_id,
                ciphertext,
                position,
            )

    async def of(self, scope: Scope) -> Sequence[DeadLetter]:
        """Open one person's dead letters."""
        async with self._database.connection() as connection:
            return await _open(connection, self._vault, scope)

    async def parked(self, stream: str | None = None) -> list[Parked]:
        """List the dead letters of everybody, oldest first, without what they say; of one stream where it is named."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select letter_id, tenant_id, subject_id, stream, entry_id, reason, deliveries, position, at,"
                " ciphertext is not null as sealed from ops.dead_letter where $1::text is null or stream = $1"
                " order by at, letter_id",
                stream,
            )
        return [_parked(row) for row in rows]

    async def readers(self) -> list[str]:
        """Name the roles that may select from the table."""
        async with self._database.connection() as connection:
            return await readers_of(connection, "ops.dead_letter")

    async def text(self, letter: Parked) -> str | None:
        """Open one letter; None where nothing of it was kept."""
        if letter.scope is None:
            return None
        return next((each.text for each in await self.of(letter.scope) if each.letter_id == letter.letter_id), None)

    async def remove(self, letter: Parked) -> None:
        """Destroy one letter, its key first."""
        async with self._database.connection() as connection:
            key = await connection.fetchval("select key_id from ops.dead_letter where letter_id = $1", letter.letter_id)
            if letter.scope is not None and key is not None:
                await self._vault.destroy(letter.scope, [KeyId(key)])
            await connection.execute("delete from ops.dead_letter where letter_id = $1", letter.letter_id)

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Destroy the person's letters that say it, keys first."""
        found = _saying(await self.of(tombstone.scope), question)
        await self._vault.destroy(tombstone.scope, [letter.key_id for letter in found if letter.key_id is not None])
        async with self._database.connection() as connection:
            await connection.execute(
                "delete from ops.dead_letter where letter_id = any($1::uuid[])", [letter.letter_id for letter in found]
            )


class DeadLetterProbe:
    """Opens the person's dead letters over the prober's connection."""

    layer: ClassVar[str] = "dead_letters"

    def __init__(self, letters: DeadLetters) -> None:
        self._letters = letters

    async def ask(self, question: Question) -> LayerFinding:
        """Count the letters that say it."""
        checks = {"exact_text": len(_saying(await self._letters.of(question.scope), question))}
        return finding(self.layer, checks, "absent", {"exact_text": "the person's letters, opened, that say it"})

    async def readers(self) -> Sequence[str]:
        """Name the roles that may select from the table."""
        return await self._letters.readers()


async def _open(connection: Connection, vault: Vault, scope: Scope) -> list[DeadLetter]:
    rows = await connection.fetch(
        "select letter_id, stream, entry_id, reason, deliveries, key_id, ciphertext, at from ops.dead_letter"
        " where tenant_id = $1 and subject_id = $2",
        scope.tenant_id,
        scope.subject_id,
    )
    if not rows:
        return []
    keyring = await vault.keyring(scope)
    secrets = await keyring.load(KeyId(row["key_id"]) for row in rows if row["key_id"] is not None)
    letters = []
    for row in rows:
        secret = secrets.get(row["key_id"])
        text = None
        if secret is not None:
            text = decrypt(secret, row["ciphertext"], _bound(row["stream"], row["entry_id"])).decode()
        letters.append(
            DeadLetter(
                row["letter_id"],
                row["stream"],
                row["entry_id"],
                row["reason"],
                row["deliveries"],
                row["key_id"],
                text,
                row["at"],
            )
        )
    return letters


def _parked(row: Row) -> Parked:
    scope = None
    if row["subject_id"] is not None:
        scope = Scope(tenant_id=TenantId(row["tenant_id"]), subject_id=SubjectId(row["subject_id"]))
    return Parked(
        row["letter_id"],
        scope,
        row["stream"],
        row["entry_id"],
        row["reason"],
        row["deliveries"],
        row["position"],
        row["at"],
        row["sealed"],
    )


def _saying(letters: Sequence[DeadLetter], question: Question) -> list[DeadLetter]:
    """Return the letters that say it and were not said anew since."""
    return [
        letter
        for letter in letters
        if letter.text is not None
        and says(letter.text, question.texts)
        and not said_after(letter.text, letter.at, question.forgotten_at)
    ]


def _bound(stream: str, entry_id: str) -> bytes:
    return f"dead-letter|{stream}|{entry_id}".encode()
