"""Forgetting by description, first half: what would go, shown before anything does (R40, R41)."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from events.bodies import open_bodies
from events.envelope import StoredEvent, memory_stream
from events.keyring import Keyring
from events.log import read_events, read_stream
from events.model import MemoryBody, MemoryId, MessageId, Scope, TurnId
from events.postgres import Connection, Database
from events.vault import Vault
from projections.changes import LIVING, Fact, fold, within
from projections.embedding import Embedder
from projections.index import PART as INDEX
from projections.index import index_bodies, vector_of
from projections.memories import open_memories
from services.describing.matcher import Matcher
from services.forgetting.plan import trace
from services.forgetting.selection import Wanted, digest_of, reached, suppressions_of
from services.forgetting.selector import Selector
from services.forgetting.whole import count_whole
from services.wire.receipts import WholePreview


@dataclass(frozen=True, slots=True)
class Meant:
    """A memory that would go: its newest version, how many it has, and how well it fits what was described."""

    fact: Fact
    versions: int
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What would go, best fit first, and what else that touches.

    `turns` lose messages; `siblings` are other memories that rest on these messages: they stay, marked "source
    forgotten". `lifted` counts the wishes not to remember something that go with the message they were said in.
    `digest` names exactly this.
    """

    meant: tuple[Meant, ...]
    siblings: tuple[MemoryId, ...]
    turns: tuple[TurnId, ...]
    messages: tuple[MessageId, ...]
    digest: str
    lifted: int = 0


class Previews:
    """Says what a description means.

    Args:
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys.
        embedder: embeds what is held, which no index holds.
        matcher: compares descriptions with memories.
    """

    def __init__(self, reader: Database, vault: Vault, embedder: Embedder, matcher: Matcher) -> None:
        self._reader = reader
        self._vault = vault
        self._selector = Selector(reader, vault)
        self._embedder = embedder
        self._matcher = matcher

    async def preview(self, scope: Scope, description: str) -> Preview:
        """Find what is meant among everything that lives, from the log itself and not from an index that may lag."""
        wanted = await self._matcher.read(description)
        keyring = await self._vault.keyring(scope)
        async with self._reader.transaction(scope) as connection:
            stream = await read_stream(connection, scope, memory_stream(scope.subject_id))
            facts = [fact for fact in within(fold({}, stream), scope).values() if fact.status in LIVING]
            bodies = await open_memories(connection, keyring, facts)
            vectors = await self._vectors(connection, keyring, facts)
        meant = []
        for fact in facts:
            body = bodies.get(fact.event_id)
            if isinstance(body, MemoryBody):
                vector = vectors.get(fact.event_id)
                if vector is None:
                    (vector,) = await self._embedder.embed_passages([body.content])
                score = self._matcher.score(wanted, body.content, body.key, vector)
                if self._matcher.means(score):
                    meant.append(Meant(fact, len(trace(stream, fact.memory_id).versions), score))
        meant.sort(key=lambda each: (-(each.score or 0), each.fact.memory_id))
        return await self._touched(scope, stream, meant)

    async def preview_wanted(self, scope: Scope, wanted: Wanted) -> Preview | None:
        """Show what would go with a memory, a message, a session or a kind; None where there is none, or it went."""
        async with self._reader.transaction(scope.person) as connection:
            stream = await read_stream(connection, scope, memory_stream(scope.subject_id))
        if wanted.scope == "memory" and wanted.target not in reached(stream, scope):
            return None
        selected = await self._selector.select(scope, stream, wanted)
        if selected is None or not selected.anew:
            return None
        event = selected.event
        newest = {fact.memory_id: fact for fact in sorted(fold({}, stream).values(), key=lambda each: each.version)}
        seen = reached(stream, scope)
        going = selected.going.found.items()
        meant = [Meant(newest[memory], len(each.versions)) for memory, each in going if memory in seen]
        siblings = _known(event.orphaned, stream, scope)
        lifted = len({*suppressions_of(stream)} & {*event.memories})
        return Preview(tuple(meant), siblings, event.turns, event.messages, digest_of(event), lifted)

    async def preview_whole(self, scope: Scope, what: Literal["person", "tenant"]) -> WholePreview:
        """Count what would go with a whole person or tenant, as far as the read models have followed."""
        counts = await count_whole(self._reader, scope, what)
        return WholePreview(scope=what, digest=whole_digest(scope, what), **counts)

    async def _touched(self, scope: Scope, stream: Sequence[StoredEvent], meant: Sequence[Meant]) -> Preview:
        """Say what forgetting each of these memories takes with it: what `forget` itself would name."""
        heard = await self._selector.heard(scope) if meant else None
        chosen = set[MemoryId]()
        siblings, turns, messages = set[MemoryId](), set[TurnId](), set[MessageId]()
        for each in meant:
            selected = await self._selector.select(scope, stream, Wanted("memory", each.fact.memory_id), heard)
            if selected is not None:
                chosen |= {*selected.event.memories}
                siblings |= {*selected.event.orphaned}
                turns |= {*selected.event.turns}
                messages |= {*selected.event.messages}
        named = (
            sorted(f"{each.fact.memory_id}@{each.fact.version}" for each in meant),
            chosen,
            siblings,
            turns,
            messages,
        )
        digest = sha256("|".join(",".join(sorted(map(str, part))) for part in named).encode()).hexdigest()
        shown = _known(sorted(siblings - chosen), stream, scope)
        return Preview(tuple(meant), shown, tuple(sorted(turns)), tuple(sorted(messages)), digest)

    async def _vectors(
        self, connection: Connection, keyring: Keyring, facts: Sequence[Fact]
    ) -> dict[object, NDArray[np.float32]]:
        events = await read_events(connection, {fact.event_id for fact in facts})
        indexed = [event for event in events.values() if event.part(INDEX) is not None]
        opened = await open_bodies(connection, keyring, ((event, INDEX) for event in indexed))
        found: dict[object, NDArray[np.float32]] = {}
        for event_id, body in index_bodies(opened).items():
            if body.model == self._embedder.model_id:
                found[event_id] = vector_of(body)
        return found


def _known(memories: Sequence[MemoryId], stream: Sequence[StoredEvent], scope: Scope) -> tuple[MemoryId, ...]:
    """Leave out what the scope does not reach: it is touched all the same, but not named."""
    seen = reached(stream, scope)
    return tuple(each for each in memories if each in seen)


def whole_digest(scope: Scope, what: str) -> str:
    """Name whose all would go, for a preview to be confirmed with."""
    return sha256(f"{what}|{scope.tenant_id}|{scope.subject_id}".encode()).hexdigest()
