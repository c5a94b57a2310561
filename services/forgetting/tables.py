"""Layers and probes in Postgres: bodies, keys, facts, keywords, recent turns, reads."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from events.envelope import StoredEvent
from events.model import LayerFinding, Position
from events.postgres import Connection, Database
from events.vault import Vault
from projections.follower import position_of
from services.forgetting.layers import finding
from services.forgetting.question import Question

_POLL_S = 0.01
_ASKED = """with asked as (
  select $1::uuid[] as memories, $2::uuid[] as messages, $3::uuid[] as keys, $4::uuid as tenant
) """


class Followed:
    """A read model that follows the log: it forgets when it reaches the tombstone."""

    def __init__(self, name: str, model: str, eraser: Database) -> None:
        self.name = name
        self._model = model
        self._eraser = eraser

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Wait until the read model has applied the tombstone."""
        del question
        while tombstone.position is None or await self._position() < tombstone.position:  # noqa: ASYNC110 - another process
            await asyncio.sleep(_POLL_S)

    async def _position(self) -> Position:
        async with self._eraser.connection() as connection:
            return await position_of(connection, self._model)


class Reads:
    """The record of what was put into contexts: ids only, and these go too. What stays says that something went."""

    name: ClassVar[str] = "reads"

    def __init__(self, eraser: Database) -> None:
        self._eraser = eraser

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Take the memory's id out of every read of this person."""
        async with self._eraser.connection() as connection:
            for memory in question.memories:
                await connection.execute(
                    """update ops.read set
                         versions = (select coalesce(array_agg(v order by n), '{}')
                                     from unnest(memories, versions) with ordinality as t(m, v, n) where m <> $3),
                         memories = array_remove(memories, $3), forgotten = true
                       where tenant_id = $1 and subject_id = $2 and memories @> array[$3::uuid]""",
                    tombstone.scope.tenant_id,
                    tombstone.scope.subject_id,
                    memory,
                )


class TableProbe:
    """Counts rows through raw SQL over the prober's own connection.

    Args:
        layer: the layer's name in receipts.
        prober: a pool under `cenotaph_prober`.
        queries: a count query for each check; they see $1 memories, $2 messages, $3 keys, $4 the tenant.
        model: the read model whose checkpoint says how far the layer has followed the log.
    """

    def __init__(self, layer: str, prober: Database, queries: dict[str, str], model: str | None = None) -> None:
        self.layer = layer
        self._prober = prober
        self._queries = queries
        self._model = model

    async def ask(self, question: Question) -> LayerFinding:
        """Count what is left."""
        async with self._prober.connection() as connection:
            # the position first: what is counted afterwards is at least as new
            position = None if self._model is None else await position_of(connection, self._model)
            checks = {name: await self._count(connection, query, question) for name, query in self._queries.items()}
        return finding(self.layer, checks, "absent", position=position)

    async def _count(self, connection: Connection, query: str, question: Question) -> int:
        count: int = await connection.fetchval(
            _ASKED + query,
            list(question.memories),
            list(question.messages),
            list(question.keys),
            question.scope.tenant_id,
        )
        return count


class KeyProbe:
    """Looks for destroyed data keys in the vault."""

    layer: ClassVar[str] = "vault_keys"

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def ask(self, question: Question) -> LayerFinding:
        """Count the keys that still exist."""
        return finding(self.layer, {"keys": len(await self._vault.present(question.keys))}, "absent")


class NotConfigured:
    """A layer of the contract that this deployment does not have; the receipt says so."""

    def __init__(self, layer: str) -> None:
        self.layer = layer

    async def ask(self, question: Question) -> LayerFinding:
        """Say that there is nothing to ask."""
        del question
        return finding(self.layer, {}, "not_configured")


def table_probes(prober: Database) -> Sequence[TableProbe]:
    """Return the probes of every table that may hold a memory or its id."""
    return (
        TableProbe(
            "log_bodies",
            prober,
            {"ciphertexts": "select count(*) from log.body, asked where key_id = any(asked.keys)"},
        ),
        TableProbe(
            "facts",
            prober,
            {
                "by_id": "select count(*) from facts.memory, asked where memory_id = any(asked.memories)"
                " and (status <> 'forgotten' or tag is not null)",
                "by_id_other_tenant": "select count(*) from facts.memory m, asked where memory_id = any(asked.memories)"
                " and m.tenant_id <> asked.tenant",
            },
            "facts",
        ),
        TableProbe(
            "recent_turns",
            prober,
            {
                "messages": "select count(*) from sessions.message, asked"
                " where message_id = any(asked.messages) and not forgotten"
            },
            "sessions",
        ),
        TableProbe(
            "reads", prober, {"by_id": "select count(*) from ops.read r, asked where r.memories && asked.memories"}
        ),
    )
