"""Probes that ask by meaning: the raw vector index, and the product's own read path in other words."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import numpy as np

from events.envelope import StoredEvent
from events.model import Claim, LayerFinding, MemoryId, Scope
from events.postgres import Database
from projections.vector_index import VectorIndex, vector_places
from projections.vector_probe import RawRow, VectorProbe
from projections.vector_scope import partition_of
from services.forgetting.layers import State, finding
from services.forgetting.question import Question, paraphrases
from services.forgetting.tables import Followed
from services.governance.sameness import same_value

_NEAREST = 10
_RAW = {
    "by_id": "get by id, every partition, every tenant, in the index that serves and one beside it",
    "by_id_other_tenant": "get by id, rows of another tenant",
    "stored_vector": f"the {_NEAREST} nearest to each stored vector in the person's partition",
    "neighbours": f"the {_NEAREST} nearest to each stored vector in the person's partition",
}
_AS_AN_AGENT = {
    "exact_text": "recall by the exact text of each version",
    "paraphrase": "recall by six templates a version, zh and en",
    "neighbours": "what else these recalls returned",
    "asked": "recalls",
    "of": "versions that were forgotten; of more than four a seeded sample is asked for",
}
_VECTORS, _TEXTS = 16, 4  # of how many versions the vector, and the words, are asked where more were forgotten at once
_AT_ONCE = 2  # one is embedded while the other waits for a store; more would keep agents waiting


class VectorLayer:
    """The vector index forgets when it reaches the tombstone; then it is flushed, so that no read is torn."""

    name: ClassVar[str] = "vector_index"

    def __init__(self, eraser: Database, index: VectorIndex) -> None:
        self._eraser = eraser
        self._index = index

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Wait for the tombstone, then flush: in the index that serves, and in the one that is beside it now."""
        async with self._eraser.connection() as connection:
            places = await vector_places(connection)
        for name, each in places.items():
            if each.building:  # it may be far behind; nobody reads it until it has seen the tombstone too
                await self._index.remove(each.place, tombstone)
            else:
                await Followed(self.name, name, self._eraser).erase(tombstone, question)
            await self._index.flush(each.place)


class VectorLayerProbe:
    """Raw reads of the vector index over a connection of its own: by id, under any tenant, and by the stored vectors.

    Its state at best is `unreclaimed`: deleted rows stay in the files until their partition is rewritten.
    """

    layer: ClassVar[str] = "vector_index"

    def __init__(self, prober: Database, uri: str) -> None:
        self._prober = prober
        self._uri = uri
        self._probes: dict[str, VectorProbe] = {}

    async def ask(self, question: Question) -> LayerFinding:
        """Look for the rows."""
        async with self._prober.connection() as connection:
            places = await vector_places(connection)
        position = min(each.position for each in places.values() if not each.building)
        rows: list[RawRow] = []
        near: list[RawRow] = []
        for each in places.values():
            probe = self._probes.setdefault(each.place, VectorProbe(self._uri, each.place))
            rows += await probe.by_ids(question.memories)
            for target in question.sampled(_VECTORS):
                if target.vector and target.model in {None, each.model}:
                    vector = np.asarray(target.vector, dtype=np.float32)
                    near += await probe.by_vector(vector, _NEAREST, [partition_of(question.scope)])
        checks = {
            "by_id": len(rows),
            "by_id_other_tenant": sum(row.tenant_id != question.scope.tenant_id for row in rows),
            "stored_vector": sum(row.memory_id in question.memories for row in near),
            "neighbours": len(near),
        }
        state: State = "unreclaimed" if question.prepared else "cannot_prove"
        versions = sorted({row.version for row in rows})
        return finding(self.layer, checks, state, _RAW, position=position, versions=versions)

    async def readers(self) -> Sequence[str]:
        """Name what opens the index: it knows no roles."""
        return ("MILVUS_URI",)

    async def close(self) -> None:
        """Hang up."""
        for probe in self._probes.values():
            await probe.close()


@dataclass(frozen=True, slots=True)
class Answer:
    """A memory the read path returned, and when the person said it."""

    memory_id: MemoryId
    claim: Claim
    said_at: datetime


Ask = Callable[[Scope, str], Awaitable[Sequence[Answer]]]


class ReadPathProbe:
    """Asks the product itself, as an agent would: by exact text and by paraphrase.

    A hit is the id, or a living memory that says the same: key, polarity, numbers and value agree. Neighbours are
    counted, and so is what the person said anew since, or lived on in its own right. Of many versions a seeded sample
    is asked for, of `of`.
    """

    layer: ClassVar[str] = "read_path"

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def ask(self, question: Question) -> LayerFinding:
        """Ask in every way."""
        if not question.prepared:
            return finding(self.layer, {}, "cannot_prove", {})
        checks = {"exact_text": 0, "paraphrase": 0, "neighbours": 0, "asked": 0, "of": len(question.targets)}
        claims = [target.claim for target in question.sampled(_TEXTS)]
        asked = [("exact_text", text) for text in dict.fromkeys(claim.content for claim in claims)]
        asked += [("paraphrase", text) for text in paraphrases(claims)]
        at_once = asyncio.Semaphore(_AT_ONCE)

        async def answers_to(text: str) -> Sequence[Answer]:
            async with at_once:
                return await self._ask(question.scope, text)

        every = await asyncio.gather(*(answers_to(text) for _, text in asked))
        for (leg, _), answers in zip(asked, every, strict=True):
            hits = sum(_says_it(answer, question) for answer in answers)
            checks[leg] += hits
            checks["neighbours"] += len(answers) - hits
            checks["asked"] += 1
        return finding(self.layer, checks, "absent", _AS_AN_AGENT)

    async def readers(self) -> Sequence[str]:
        """Name nobody: it is a way to the other layers and keeps nothing."""
        return ()


def _says_it(answer: Answer, question: Question) -> bool:
    if answer.memory_id in question.memories:
        return True
    if answer.said_at > question.forgotten_at or answer.memory_id in question.spared:
        return False
    return any(
        (answer.claim.key, answer.claim.positive, answer.claim.scope)
        == (target.claim.key, target.claim.positive, target.claim.scope)
        and same_value(answer.claim, target.claim)
        for target in question.targets
    )
