"""Opening no more than is wanted gives the same answers as opening everything."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import services.recall.opening as module
from events.bodies import Shredded
from events.keyring import Keyring
from events.model import (
    Assertion,
    EventId,
    Evidence,
    KeyId,
    Kind,
    MemoryBody,
    MemoryId,
    MessageId,
    PurposeId,
    Scope,
    SubjectId,
    TenantId,
    TurnId,
)
from events.postgres import Connection
from projections.briefs import brief_of
from projections.changes import Fact, State
from projections.choices import Consents
from services.access.permission import Permission
from services.access.rights import TokenRole
from services.recall.bm25 import Key
from services.recall.features import Task
from services.recall.opening import Opening, Recalled, Wanted
from services.recall.ranking import PRESETS, Preset

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SCOPE = Scope(tenant_id=TenantId(UUID(int=1)), subject_id=SubjectId(UUID(int=2)))
SOMEBODY, NOTHING = cast("Keyring", SimpleNamespace(scope=SCOPE)), cast("Connection", None)
Bodies = dict[EventId, MemoryBody | Shredded]


@st.composite
def candidates(draw: st.DrawFn) -> tuple[State, Bodies, dict[Key, float]]:
    """Make up to thirty memories with all that changes how they rank, some of which may not be read."""
    facts, bodies, relevance = {}, Bodies(), {}
    for number in range(draw(st.integers(1, 30))):
        key, event = (MemoryId(UUID(int=number + 1)), 1), EventId(UUID(int=1000 + number))
        said = NOW - timedelta(days=draw(st.integers(0, 800)))
        kind = draw(st.sampled_from(list(Kind)))
        sensitivity = draw(st.sampled_from([None, None, None, "health"]))
        facts[key] = Fact(
            memory_id=key[0],
            version=1,
            status=draw(st.sampled_from(["current", "current", "in_conflict"])),
            event_id=event,
            kind=kind,
            confidence=draw(st.integers(0, 1000)),
            importance=draw(st.integers(0, 1000)),
            cites=(),
            turn_id=TurnId(UUID(int=1)),
            occurred_at=said,
            recorded_at=said,
            verified_at=said,
            gate=draw(st.sampled_from([None, None, None, "sensitivity"])),
            suspended=draw(st.integers(0, 9)) == 0,
        )
        bodies[event] = MemoryBody(
            kind=kind,
            key=draw(st.sampled_from([None, "identity.name", "home.city"])),
            value="x",
            content=draw(st.sampled_from(["升级到 3.11", "likes tea", "喜欢喝茶"])),
            evidence=(Evidence(message_id=MessageId(UUID(int=1)), start=0, end=1),),
            assertion=draw(st.sampled_from([Assertion.STATED, Assertion.INFERRED])),
            scope=draw(st.sampled_from(["personal", "project:atlas"])),
            sensitivity=sensitivity,
        )
        relevance[key] = draw(st.floats(0, 1))
    return facts, bodies, relevance


async def opened(
    found: tuple[State, Bodies, dict[Key, float]], preset: Preset, consents: Consents, wanted: Wanted | None
) -> tuple[tuple[Recalled, ...], dict[Key, str], list[EventId]]:
    """Open candidates; also say which bodies that took."""
    facts, bodies, relevance = found
    asked: list[EventId] = []

    async def open_memories(connection: object, keyring: object, some: Collection[Fact]) -> dict[EventId, Any]:
        del connection, keyring
        asked.extend(fact.event_id for fact in some)
        return {fact.event_id: bodies[fact.event_id] for fact in some}

    async def read_memories(connection: object, scope: object, memories: Collection[MemoryId]) -> State:
        del connection, scope
        return {key: fact for key, fact in facts.items() if key[0] in memories}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "open_memories", open_memories)
        patch.setattr(module, "read_memories", read_memories)
        task = Task.of("项目 atlas 用 Python 3.11 吗")
        opening = Opening(SOMEBODY, Permission(TokenRole.AGENT, consents), task, preset, NOW, {})
        briefs = {key: brief_of(fact) for key, fact in facts.items()}
        return *await opening.open(NOTHING, briefs, relevance, wanted), asked


HEALTH = frozenset({"health"})


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    candidates(),
    st.sampled_from(sorted(PRESETS)),
    st.sampled_from(
        [
            Consents(),
            Consents(withdrawn=HEALTH),
            Consents(given=HEALTH),
            Consents(given=HEALTH, purposes={"health": frozenset({PurposeId(UUID(int=8))})}),
        ]
    ),
    st.integers(1, 10),
)
async def test_the_best_are_the_same_however_many_are_opened(
    found: tuple[State, Bodies, dict[Key, float]], preset: str, consents: Consents, most: int
) -> None:
    """Same memories, order, scores and features; what is not opened is left out with a reason, and nothing is lost."""

    def counts(fact: Fact, body: MemoryBody) -> bool:
        return fact.kind is not Kind.EPISODE and body.key != "home.city"

    def best(recalled: tuple[Recalled, ...]) -> list[Recalled]:
        return [each for each in recalled if counts(each.fact, each.body)][:most]

    everything, refused, _ = await opened(found, PRESETS[preset], consents, None)
    few, left, asked = await opened(found, PRESETS[preset], consents, Wanted(most, counts))
    assert best(few) == best(everything)
    assert {(each.fact.memory_id, 1) for each in few} | left.keys() == found[0].keys()
    assert {key: why for key, why in left.items() if why != "limit"} == refused
    assert len(asked) == len(set(asked))


async def test_what_cannot_be_among_the_best_is_not_opened() -> None:
    """Of forty memories of the same kind and day no more than twice what is wanted are opened, the most relevant."""
    keys: list[Key] = [(MemoryId(UUID(int=number + 1)), 1) for number in range(40)]
    facts = {
        key: Fact(key[0], 1, "current", EventId(key[0]), Kind.FACT, 900, 500, (), TurnId(UUID(int=1)), NOW, NOW, NOW)
        for key in keys
    }
    body = MemoryBody(
        kind=Kind.FACT,
        key=None,
        value="茶",
        content="喝茶",
        evidence=(Evidence(message_id=MessageId(UUID(int=1)), start=0, end=1),),
        assertion=Assertion.STATED,
    )
    bodies: Bodies = dict.fromkeys((fact.event_id for fact in facts.values()), body)
    bodies[EventId(keys[0][0])] = Shredded(KeyId(UUID(int=7)))
    relevance = {key: 1 - number / 40 for number, key in enumerate(keys)}
    some = Wanted(4, lambda fact, body: bool(fact and body))
    few, left, asked = await opened((facts, bodies, relevance), PRESETS["default"], Consents(), some)
    assert [(each.fact.memory_id, 1) for each in few[:4]] == keys[1:5]
    assert asked == [EventId(key[0]) for key in keys[:8]]
    assert left[keys[0]] == "forgotten"
    assert left[keys[39]] == "limit"
