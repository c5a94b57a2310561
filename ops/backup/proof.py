"""Looking for what was forgotten in a restored installation, raw and id by id, before anybody may read (R44)."""

from collections.abc import Sequence

from events.envelope import stored
from events.errors import TamperError
from events.postgres import Database
from events.vault import Vault
from projections.follower import place_of
from projections.vector_probe import VectorProbe
from services.forgetting.layers import Probe
from services.forgetting.question import bare_question
from services.forgetting.tables import KeyProbe, Reads, TableProbe, table_probes

_AT_ONCE = 500
_OF_WHOLE = """
select (select count(*) from log.body b where b.tenant_id = f.tenant_id and f.target in (b.subject_id, b.tenant_id))
     + (select count(*) from keywords.entry k
        where k.tenant_id = f.tenant_id and f.target in (k.subject_id, k.tenant_id))
from log.fence f where f.event_id = $1 and f.target in (f.tenant_id, f.subject_id)"""
_STONES = """
select envelope from log.event where type = 'tombstoned' order by seq"""


class Proof:
    """Asks for every tombstone in the log.

    Args:
        log: the log's cluster as its owner.
        vault: under a role that may look.
        milvus_uri: where the vector index is.
    """

    def __init__(self, log: Database, vault: Vault, milvus_uri: str) -> None:
        self._log = log
        self._milvus_uri = milvus_uri
        keywords = "select count(*) from keywords.entry, asked where memory_id = any(asked.memories)"
        self._probes: Sequence[Probe] = (
            *table_probes(log),
            TableProbe("keyword_index", log, "keywords.entry", {"by_id": keywords}),
            KeyProbe(vault),
        )

    async def prove(self) -> int:
        """Return how many tombstones nothing is left of.

        Raises:
            TamperError: something is; names the layer and the tombstone.
            UnavailableError: a store does not answer.
        """
        async with self._log.connection() as connection:
            rows = await connection.fetch(_STONES)
            place = await place_of(connection, "vectors")
        stones = [stored(row["envelope"], None) for row in rows]
        vectors, reads = VectorProbe(self._milvus_uri, place), Reads(self._log)
        try:
            for stone in stones:
                question = bare_question(stone)
                await reads.erase(stone, question)  # what was read is no memory, but names them
                for probe in self._probes:
                    found = await probe.ask(question)
                    if found.state == "present":
                        raise TamperError(f"{found.layer} still holds what tombstone {stone.event_id} names")
                async with self._log.connection() as connection:
                    if await connection.fetchval(_OF_WHOLE, stone.event_id):
                        raise TamperError(f"something is left of whom tombstone {stone.event_id} names")
                if question.memories and await vectors.by_ids(question.memories):
                    raise TamperError(f"vector_index still holds what tombstone {stone.event_id} names")
        finally:
            await vectors.close()
        return len(stones)
