"""Forgetting by description, first half: what would go, shown before anything does (R40, R41)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from events.bodies import open_bodies
from events.envelope import StoredEvent, memory_stream
from events.keyring import Keyring
from events.log import read_events, read_stream, read_turns
from events.model import MemoryBody, MemoryId, MessageId, Scope, TurnId
from events.postgres import Connection, Database
from events.vault import Vault
from projections.changes import LIVING, Fact, fold, within
from projections.embedding import Embedder
from projections.index import PART as INDEX
from projections.index import index_bodies, vector_of
from projections.memories import open_memories
from services.describing.matcher import Matcher
from services.forgetting.plan import Going, plan, trace
from services.forgetting.selection import Wanted, digest_of, reached, select, suppressions_of
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
        async with self._reader.transaction(scope) as connection:
            preview = await _preview(connection, stream, meant)
        return replace(preview, siblings=_known(preview.siblings, stream, scope))

    async def preview_wanted(self, scope: Scope, wanted: Wanted) -> Preview | None:
        """Show what would go with a memory, a message, a session or a kind; None where there is none, or it went."""
        async with self._reader.transaction(scope.person) as connection:
            stream = await read_stream(connection, scope, memory_stream(scope.subject_id))
            if wanted.scope == "memory" and wanted.target not in reached(stream, scope):
                return None
            selected = await select(connection, scope, stream, wanted)
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
        tenants = what == "tenant"
        async with self._reader.connection() as connection:
            counts = await connection.fetchrow(
                "select * from ops.count_whole_v1($1, $2)", scope.tenant_id, None if tenants else scope.subject_id
            )
        return WholePreview(scope=what, digest=whole_digest(scope, what), **dict(counts or {}))

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


async def _preview(connection: Connection, stream: Sequence[StoredEvent], meant: Sequence[Meant]) -> Preview:
    chosen = {each.fact.memory_id for each in meant}
    siblings: set[MemoryId] = set()
    turns: set[TurnId] = set()
    messages: set[MessageId] = set()
    for memory in chosen:
        found = trace(stream, memory)
        tombstone = plan(stream, Going({memory: found}), await read_turns(connection, sorted(found.turns)), ())
        siblings |= set(tombstone.orphaned) - chosen
        turns |= set(tombstone.turns)
        messages |= set(tombstone.messages)
    named = sorted(f"{each.fact.memory_id}@{each.fact.version}" for each in meant)
    parts = (named, sorted(map(str, siblings)), sorted(map(str, turns)), sorted(map(str, messages)))
    digest = sha256("|".join(",".join(part) for part in parts).encode()).hexdigest()
    return Preview(tuple(meant), tuple(sorted(siblings)), tuple(sorted(turns)), tuple(sorted(messages)), digest)
