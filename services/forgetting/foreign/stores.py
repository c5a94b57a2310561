"""Looking into an application's own store: keys of Redis by a pattern, rows of a Postgres table (R47).

Each call opens a connection of its own, so that what is looked for is not what the erasing connection believes.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, cast

import asyncpg
import redis.asyncio as redis
from pydantic import AfterValidator, Field

from events.errors import UnavailableError
from events.model import Frozen
from services.forgetting.foreign.asked import Asked
from services.forgetting.said import says

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_ANSWER_S = 3.0
_PAGE = 500
_NOT_TOLD_APART = "the store is registered without what tells persons or tenants apart, so all of one cannot be found"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?", re.ASCII)


def _identifier(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ValueError("must be a name of letters, digits and underscores, or schema.name")
    return name


def _pattern(text: str) -> str:
    if "{memory}" not in text or set(re.findall(r"{(.*?)}", text)) - {"memory", "subject", "tenant"}:
        raise ValueError("must hold {memory}, and of other marks only {subject} and {tenant}")
    return text


Name = Annotated[str, AfterValidator(_identifier)]


class RedisKeys(Frozen):
    """Keys such as `mem:{tenant}:{subject}:{memory}*`; without `{subject}` texts are not looked for."""

    kind: Literal["redis"] = "redis"
    pattern: Annotated[str, AfterValidator(_pattern), Field(max_length=500)]


class PostgresTable(Frozen):
    """A table with our memory id in a column of type text or uuid; texts are looked for where it has both columns."""

    kind: Literal["postgres"] = "postgres"
    table: Name
    id_column: Name = "memory_id"
    subject_column: Name | None = None
    tenant_column: Name | None = None
    text_column: Name | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What lies in a store: entries under the ids, and of those that say the words, where they lie.

    `saying` is None where the store cannot be searched for words of one person.
    """

    by_id: int
    saying: Sequence[str] | None


class Store(Protocol):
    """An application's store, as far as it can be looked into."""

    async def erase(self, asked: Asked) -> int:
        """Delete what lies under the ids; return how many entries that were."""

    async def look(self, asked: Asked) -> Seen:
        """Look, over a new connection, for the ids and for one person's entries that say the words."""

    @property
    def queries(self) -> dict[str, str]:
        """Say what a look asks."""


class RedisStore:
    """Keys by a pattern."""

    def __init__(self, url: str, keys: RedisKeys) -> None:
        self._url = url
        self._pattern = keys.pattern

    @property
    def queries(self) -> dict[str, str]:
        """Say what a look asks."""
        asked = f"scan match {self._pattern}"
        return {"by_id": asked, "exact_text": f"{asked}, any memory: values of all types", "neighbours": asked}

    async def erase(self, asked: Asked) -> int:
        """Unlink the keys."""
        erased = 0
        async with self._client() as client:
            for match in self._named(asked):
                keys = [key async for key in client.scan_iter(match=match, count=_PAGE)]
                erased += await client.unlink(*keys) if keys else 0
        return erased

    async def look(self, asked: Asked) -> Seen:
        """Scan for the keys, then through the values of the person's other keys."""
        async with self._client() as client:
            found = [key for match in self._named(asked) async for key in client.scan_iter(match=match, count=_PAGE)]
            if "{subject}" not in self._pattern or not asked.memories:
                return Seen(len(found), None)
            saying = [
                key.decode("utf-8", "replace")
                async for key in client.scan_iter(match=self._match(asked, "*"), count=_PAGE)
                if says(await _value(client, key), asked.words)
            ]
        return Seen(len(found), saying)

    def _named(self, asked: Asked) -> list[str]:
        """Write the patterns of what is asked for.

        Raises:
            UnavailableError: all of a person or tenant is meant, and the pattern does not tell them apart.
        """
        if asked.memories:
            return [self._match(asked, str(memory)) for memory in asked.memories]
        if ("{subject}" if asked.subject is not None else "{tenant}") not in self._pattern:
            raise UnavailableError(_NOT_TOLD_APART)
        return [self._match(asked, "*")]

    def _match(self, asked: Asked, memory: str) -> str:
        """Write the pattern for one memory, or for any; ids are UUIDs, so nothing in them is special to Redis."""
        return (
            self._pattern.replace("{tenant}", str(asked.tenant))
            .replace("{subject}", "*" if asked.subject is None else str(asked.subject))
            .replace("{memory}", memory)
        )

    def _client(self) -> AbstractAsyncContextManager["redis.Redis"]:
        return redis.from_url(self._url, socket_timeout=_ANSWER_S, socket_connect_timeout=_ANSWER_S)


async def _value(client: "redis.Redis", key: bytes) -> str:
    """Read whatever lies under a key as one text."""
    kind = await client.type(key)
    raw: Any
    match kind:
        case b"string":
            raw = [await client.get(key)]
        case b"hash":
            raw = [part for pair in (await client.hgetall(key)).items() for part in pair]
        case b"list":
            raw = await client.lrange(key, 0, -1)
        case b"set":
            raw = list(await client.smembers(key))
        case b"zset":
            raw = await client.zrange(key, 0, -1)
        case b"stream":
            raw = [
                part for _, fields in await client.xrange(key) or () for pair in (fields or {}).items() for part in pair
            ]
        case b"none":
            raw = []
        case _:  # a module's own type, such as JSON
            raw = [await client.dump(key)]
    return "\n".join(part.decode("utf-8", "replace") for part in cast("Iterable[bytes | None]", raw) if part)


class PostgresStore:
    """Rows of a table."""

    def __init__(self, url: str, table: PostgresTable) -> None:
        self._url = url
        self._table = table

    @property
    def queries(self) -> dict[str, str]:
        """Say what a look asks."""
        table = self._table
        saying = (
            f"{table.table} by {table.subject_column}: rows whose {table.text_column} says it, by {table.id_column}"
        )
        return {
            "by_id": f"{table.table}: count by {table.id_column}, or by person or tenant where all is meant",
            "exact_text": saying,
            "neighbours": saying,
        }

    async def erase(self, asked: Asked) -> int:
        """Delete the rows."""
        where, ids = self._named(asked)
        async with self._connected() as connection:
            done = await connection.execute(f"delete {where}", ids)
        return int(done.split()[-1])

    async def look(self, asked: Asked) -> Seen:
        """Count the rows, then find the person's rows that say the words."""
        where, ids = self._named(asked)
        subject, text = self._table.subject_column, self._table.text_column
        async with self._connected() as connection:
            count = await connection.fetchval(f"select count(*) {where}", ids)
            if subject is None or text is None or not asked.memories:
                return Seen(count, None)
            rows = await connection.fetch(
                f"select {_quoted(self._table.id_column)}::text as id from {_quoted(self._table.table)}"  # noqa: S608 - names were checked
                f" where {_quoted(subject)}::text = $1 and exists (select from unnest($2::text[]) as w(word)"
                f" where strpos({_quoted(text)}::text, w.word) > 0)",
                str(asked.subject),
                [word for word in asked.words if word.strip()],
            )
        return Seen(count, [row["id"] or "" for row in rows])

    def _named(self, asked: Asked) -> tuple[str, list[str]]:
        """Write the condition of what is asked for, and the ids in it.

        Raises:
            UnavailableError: all of a person or tenant is meant, and no column tells them apart.
        """
        column: str | None = self._table.id_column
        ids = [str(memory) for memory in asked.memories]
        if not asked.memories:
            column = self._table.tenant_column if asked.subject is None else self._table.subject_column
            ids = [str(asked.tenant if asked.subject is None else asked.subject)]
        if column is None:
            raise UnavailableError(_NOT_TOLD_APART)
        return f"from {_quoted(self._table.table)} where {_quoted(column)}::text = any($1::text[])", ids

    @asynccontextmanager
    async def _connected(self) -> "AsyncIterator[Any]":
        connection = await asyncpg.connect(self._url, timeout=_ANSWER_S, command_timeout=_ANSWER_S)
        try:
            yield connection
        finally:
            await connection.close(timeout=_ANSWER_S)


def _quoted(name: str) -> str:
    return ".".join(f'"{part}"' for part in name.split("."))
