"""Probes of a whole person or tenant: its scope must be empty in every layer, and a sample must not answer."""

from collections.abc import Sequence
from typing import ClassVar
from uuid import UUID

import numpy as np

from events.errors import ErasedError
from events.model import LayerFinding, Scope, SubjectId
from events.postgres import Connection, Database, readers_of
from events.vault import Vault
from projections.follower import place_of, position_of
from projections.vector_index import vector_places
from projections.vector_probe import RawRow, VectorProbe
from projections.vector_scope import partition_of
from services.forgetting.layers import finding
from services.forgetting.question import Question, paraphrases
from services.forgetting.semantic import Ask
from services.forgetting.whole import KEPT, tables_of

_NEAREST = 10
_BODIES = """
select count(*) from log.stream s join log.event e using (tenant_id, stream) join log.body b using (event_id)
where s.tenant_id = $1 and ($2::uuid is null or s.subject_id = $2)
"""
_MEMORIES = """
select distinct convert_from(substring(e.envelope from 1 for octet_length(e.envelope) - 16), 'UTF8')::jsonb
  -> 'data' ->> 'memory_id' as id
from log.stream s join log.event e using (tenant_id, stream)
where s.tenant_id = $1 and ($2::uuid is null or s.subject_id = $2) and e.type = 'accepted'
"""
_PERSONAL = "select count(*) from {table} where tenant_id = $1 and ($2::uuid is null or subject_id = $2)"
_TENANTS = "select count(*) from {table} where tenant_id = $1 and $2::uuid is null"


class BodiesProbe:
    """Counts the sealed bodies that are left."""

    layer: ClassVar[str] = "log_bodies"

    def __init__(self, prober: Database) -> None:
        self._prober = prober

    async def ask(self, question: Question) -> LayerFinding:
        """Count them, through the streams of whoever was forgotten."""
        async with self._prober.connection() as connection:
            left = await connection.fetchval(_BODIES, question.scope.tenant_id, question.person)
        return finding(self.layer, {"ciphertexts": left}, "absent", {"ciphertexts": _BODIES})

    async def readers(self) -> Sequence[str]:
        """Name the roles that may select bodies."""
        async with self._prober.connection() as connection:
            return await readers_of(connection, "log.body")


class RowsProbe:
    """Counts the rows of every table of a schema that are left, whatever tables it has.

    Args:
        layer: the layer's name in receipts.
        prober: a pool under `cenotaph_prober`.
        model: the read model whose schema it is; None for `ops`.
    """

    def __init__(self, layer: str, prober: Database, model: str | None) -> None:
        self.layer = layer
        self._prober = prober
        self._model = model

    async def ask(self, question: Question) -> LayerFinding:
        """Count them by table."""
        async with self._prober.connection() as connection:
            # the position first: what is counted afterwards is at least as new
            position = None if self._model is None else await position_of(connection, self._model)
            schema = "ops" if self._model is None else await place_of(connection, self._model)
            checks, queries = {}, {}
            for name in await tables_of(connection, schema):
                if self._model is None and name in KEPT:
                    continue
                queries[name] = await _query(connection, schema, name)
                checks[name] = await connection.fetchval(queries[name], question.scope.tenant_id, question.person)
        return finding(self.layer, checks, "absent", queries, position=position)

    async def readers(self) -> Sequence[str]:
        """Name the roles that may select any of it."""
        async with self._prober.connection() as connection:
            schema = "ops" if self._model is None else await place_of(connection, self._model)
            every = [await readers_of(connection, f"{schema}.{name}") for name in await tables_of(connection, schema)]
        return sorted({role for roles in every for role in roles})


async def _query(connection: Connection, schema: str, table: str) -> str:
    personal: bool = await connection.fetchval(
        "select exists (select from pg_attribute where attrelid = $1::text::regclass and attname = 'subject_id')",
        f"{schema}.{table}",
    )
    return (_PERSONAL if personal else _TENANTS).format(table=f"{schema}.{table}")


class VaultProbe:
    """Counts what is left in the vault."""

    layer: ClassVar[str] = "vault_keys"

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def ask(self, question: Question) -> LayerFinding:
        """Count keys and outside ids; the key of the probes, which goes with the receipt, aside."""
        scratch = SubjectId(question.tombstone or question.scope.subject_id)
        checks = await self._vault.left_of(question.scope.tenant_id, question.person, scratch)
        return finding(self.layer, checks, "absent", {name: f"count of {name} in the vault" for name in checks})

    async def readers(self) -> Sequence[str]:
        """Name the roles that may select wrapped keys."""
        return await self._vault.readers("vault.data_key")


class VectorsProbe:
    """Raw reads of the vector index: the scope in every partition, every id, and a sample of vectors."""

    layer: ClassVar[str] = "vector_index"

    def __init__(self, prober: Database, uri: str) -> None:
        self._prober = prober
        self._uri = uri

    async def ask(self, question: Question) -> LayerFinding:
        """Look for the rows."""
        async with self._prober.connection() as connection:
            places = await vector_places(connection)
            rows = await connection.fetch(_MEMORIES, question.scope.tenant_id, question.person)
        memories = [UUID(row["id"]) for row in rows]
        scoped, named, near = 0, list[RawRow](), list[RawRow]()
        for each in places.values():
            probe = VectorProbe(self._uri, each.place)
            try:
                scoped += await probe.count(question.scope.tenant_id, question.person)
                named += await probe.by_ids(memories)
                near += [
                    hit
                    for target in question.targets
                    if target.vector and target.subject_id is not None and target.model in {None, each.model}
                    for hit in await probe.by_vector(
                        np.asarray(target.vector, dtype=np.float32),
                        _NEAREST,
                        [partition_of(Scope(tenant_id=question.scope.tenant_id, subject_id=target.subject_id))],
                    )
                ]
            finally:
                await probe.close()
        position = min(each.position for each in places.values() if not each.building)
        known = set(memories)
        checks = {
            "rows": scoped,
            "by_id": len(named),
            "stored_vector": sum(hit.memory_id in known for hit in near),
            "neighbours": len(near),
            "asked": len(memories),
        }
        queries = {
            "rows": "count of the tenant's (and person's) rows, every partition",
            "by_id": "get by the id of every memory there ever was, every partition, every tenant",
            "stored_vector": "the nearest to a seeded sample of vectors",
            "neighbours": "the nearest to a seeded sample of vectors",
            "asked": "ids",
        }
        return finding(self.layer, checks, "unreclaimed", queries, position=position)

    async def readers(self) -> Sequence[str]:
        """Name what opens the index: it knows no roles."""
        return ("MILVUS_URI",)


class AgentProbe:
    """Asks the product for a seeded sample, as an agent would: by exact text and by paraphrase."""

    layer: ClassVar[str] = "read_path"

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def ask(self, question: Question) -> LayerFinding:
        """Count every answer: nothing at all may come back."""
        checks = {"exact_text": 0, "paraphrase": 0, "asked": 0}
        for target in question.sampled(4):
            if target.subject_id is None:
                continue
            scope = Scope(tenant_id=question.scope.tenant_id, subject_id=target.subject_id)
            asked = [("exact_text", target.claim.content)]
            asked += [("paraphrase", text) for text in paraphrases([target.claim])]
            for leg, text in asked:
                checks[leg] += await self._answers(scope, text)
                checks["asked"] += 1
        queries = {
            "exact_text": "recall by the exact text of a seeded sample",
            "paraphrase": "recall by six templates each, zh and en",
            "asked": "recalls",
        }
        return finding(self.layer, checks, "absent" if question.prepared else "cannot_prove", queries)

    async def _answers(self, scope: Scope, text: str) -> int:
        try:
            return len(await self._ask(scope, text))
        except ErasedError:
            return 0

    async def readers(self) -> Sequence[str]:
        """Name nobody: it is a way to the other layers and keeps nothing."""
        return ()
