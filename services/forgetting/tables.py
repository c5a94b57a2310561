"""Layers and probes in Postgres: bodies, keys, facts, reads."""

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar
from uuid import UUID

from events.envelope import StoredEvent
from events.model import LayerFinding, Position
from events.postgres import Connection, Database, readers_of
from events.vault import Vault
from projections.follower import position_of
from services.forgetting.layers import finding
from services.forgetting.question import Question

_POLL_S = 0.01
_ASKED = """with asked as (
  select $1::uuid[] as memories, $2::uuid[] as messages, $3::uuid[] as keys, $4::uuid as tenant, $5::uuid as subject
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
    """The record of reads: ids only, and these go too. What stays says that something went.

    The tombstone already names the turns into which it was injected.
    """

    name: ClassVar[str] = "reads"

    def __init__(self, eraser: Database) -> None:
        self._eraser = eraser

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Take the memory's id out of every read of this person, and out of what was considered for it."""
        tenant, subject = tombstone.scope.tenant_id, tombstone.scope.subject_id
        async with self._eraser.transaction() as connection:
            # whoever records a read meanwhile either is done or meets the fence
            await connection.execute("select ops.lock_reads_v1($1)", subject)
            for memory in question.memories:
                await connection.execute(
                    """update ops.read set
                         versions = (select coalesce(array_agg(v order by n), '{}')
                                     from unnest(memories, versions) with ordinality as t(m, v, n) where m <> $3),
                         memories = array_remove(memories, $3), forgotten = true
                       where tenant_id = $1 and subject_id = $2 and memories @> array[$3::uuid]""",
                    tenant,
                    subject,
                    memory,
                )
                await connection.execute(
                    """update ops.read set candidates = array_replace(candidates, $3, $4)
                       where tenant_id = $1 and subject_id = $2 and $3 = any(candidates)""",
                    tenant,
                    subject,
                    memory,
                    UUID(int=0),
                )


class TableProbe:
    """Counts rows through raw SQL over the prober's own connection.

    Args:
        layer: the layer's name in receipts.
        prober: a pool under `cenotaph_prober`.
        table: the table that is asked.
        queries: a count query for each check; they see the lists `asked.memories`, `asked.messages`, `asked.keys` and
            the ids `asked.tenant`, `asked.subject`.
        versions: a query for the versions that are there, as an array, where the table keeps them.
        model: the read model whose checkpoint says how far the layer has followed the log.
    """

    def __init__(
        self,
        layer: str,
        prober: Database,
        table: str,
        queries: dict[str, str],
        *,
        versions: str | None = None,
        model: str | None = None,
    ) -> None:
        self.layer = layer
        self._prober = prober
        self._table = table
        self._queries = queries
        self._versions = versions
        self._model = model

    async def ask(self, question: Question) -> LayerFinding:
        """Count what is left."""
        async with self._prober.connection() as connection:
            # the position first: what is counted afterwards is at least as new
            position = None if self._model is None else await position_of(connection, self._model)
            checks: dict[str, int] = {
                name: await _ask(connection, query, question) for name, query in self._queries.items()
            }
            versions = None if self._versions is None else await _ask(connection, self._versions, question)
        return finding(self.layer, checks, "absent", self._queries, position=position, versions=versions or ())

    async def readers(self) -> Sequence[str]:
        """Name the roles that may select from the table."""
        async with self._prober.connection() as connection:
            return await readers_of(connection, self._table)


async def _ask(connection: Connection, query: str, question: Question) -> Any:  # noqa: ANN401 - a count or an array
    return await connection.fetchval(
        _ASKED + query,
        list(question.memories),
        list(question.messages),
        list(question.keys),
        question.scope.tenant_id,
        question.scope.subject_id,
    )


class KeyProbe:
    """Looks for destroyed data keys in the vault."""

    layer: ClassVar[str] = "vault_keys"

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def ask(self, question: Question) -> LayerFinding:
        """Count the keys that still exist."""
        checks = {"keys": len(await self._vault.present(question.keys))}
        return finding(self.layer, checks, "absent", {"keys": "count of these in vault.data_key"})

    async def readers(self) -> Sequence[str]:
        """Name the roles that may select wrapped keys."""
        return await self._vault.readers("vault.data_key")


class NotConfigured:
    """A layer of the contract that this deployment does not have; the receipt says so."""

    def __init__(self, layer: str) -> None:
        self.layer = layer

    async def ask(self, question: Question) -> LayerFinding:
        """Say that there is nothing to ask."""
        del question
        return finding(self.layer, {}, "not_configured", {})

    async def readers(self) -> Sequence[str]:
        """Name nobody."""
        return ()


def table_probes(prober: Database) -> Sequence[TableProbe]:
    """Return the probes of every table that may hold a memory or its id."""
    return (
        TableProbe(
            "log_bodies",
            prober,
            "log.body",
            {"ciphertexts": "select count(*) from log.body, asked where key_id = any(asked.keys)"},
        ),
        TableProbe(
            "facts",
            prober,
            "facts.memory",
            {
                "by_id": "select count(*) from facts.memory, asked where memory_id = any(asked.memories)"
                " and (status <> 'forgotten' or tag is not null)",
                "by_id_other_tenant": "select count(*) from facts.memory m, asked where memory_id = any(asked.memories)"
                " and m.tenant_id <> asked.tenant",
            },
            versions="select array_agg(distinct version order by version) from facts.memory, asked"
            " where memory_id = any(asked.memories) and status <> 'forgotten'",
            model="facts",
        ),
        TableProbe(
            "reads",
            prober,
            "ops.read",
            {
                "by_id": "select count(*) from ops.read r, asked where r.memories && asked.memories",
                "considered": "select count(*) from ops.read r, asked where r.tenant_id = asked.tenant"
                " and r.subject_id = asked.subject and r.candidates && asked.memories",
            },
            versions="select array_agg(distinct t.version order by t.version) from asked, ops.read r"
            " cross join unnest(r.memories, r.versions) as t(memory, version)"
            " where r.memories && asked.memories and t.memory = any(asked.memories)",
        ),
    )
