"""Authority per key on real stores: a business system owns keys, the person all others (R11, R14)."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from events.errors import BadInputError
from events.model import MemoryId, Scope
from services.wire.facts import SystemFact
from services.wire.memories import MemoryStatus
from services.wire.turns import Verdict
from tests.plant import START, Plant, planted

OWNED = "home.city"
LATER = START + timedelta(days=30)


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run servers of this module's own, with a registered system."""
    async with planted(tmp_path_factory.mktemp("authority")) as plant:
        await plant.composition.register_system(plant.tenant, "registry", frozenset({OWNED, "membership.tier"}))
        yield plant


async def states(plant: Plant, scope: Scope, key: str, value: str, at: datetime) -> Verdict | None:
    """Let the system state a fact; return what became of it, None where it may not."""
    fact_id = f"{key} {at.isoformat()}"
    fact = SystemFact(fact_id=fact_id, key=key, value=value, occurred_at=at)
    position = await plant.stated(scope, "registry", fact)
    if position is None:
        return None
    await plant.rememberer.consider(position)
    await plant.follow()
    outcome = await plant.composition.backend.fact_outcome(scope, "registry", fact_id)
    assert outcome is not None
    (verdict,) = outcome.verdicts
    return verdict


async def values(plant: Plant, scope: Scope, status: MemoryStatus = MemoryStatus.ACTIVE) -> dict[MemoryId, str]:
    page = await plant.composition.backend.memories(scope, status, 100, None)
    return {each.memory_id: each.value or "" for each in page.memories}


async def test_a_system_outranks_the_person_on_its_key_whenever_either_spoke(plant: Plant) -> None:
    """What it states stands whenever it was; what the person says of its key waits, and cannot be confirmed."""
    scope = await plant.person()
    (said,) = (await plant.say(scope, "我很喜欢弹古琴。", at=LATER)).verdicts
    assert said.outcome == "accepted"
    (claimed,) = (await plant.say(scope, "我住在苏州。", at=LATER)).verdicts
    assert (claimed.outcome, claimed.reason) == ("held", "system_owns_it")
    verdict = await states(plant, scope, OWNED, "杭州", START)
    assert verdict is not None
    assert verdict.outcome == "accepted"
    assert set((await values(plant, scope)).values()) == {"古琴", "杭州"}
    with pytest.raises(BadInputError):
        await plant.composition.backend.settle(scope, claimed.memory_id, confirmed=True)
    settled = await plant.composition.backend.settle(scope, claimed.memory_id, confirmed=False)
    assert settled is not None
    assert set((await values(plant, scope)).values()) == {"古琴", "杭州"}


async def test_a_newer_statement_of_the_system_replaces_its_own_and_an_older_does_not(plant: Plant) -> None:
    """Between its own statements time decides, and saying the same again reinforces; known ids are stored once."""
    scope = await plant.person()
    await states(plant, scope, "membership.tier", "silver", START + timedelta(days=2))
    await states(plant, scope, "membership.tier", "gold", START + timedelta(days=3))
    old = await states(plant, scope, "membership.tier", "bronze", START)
    same = await states(plant, scope, "membership.tier", "gold", START + timedelta(days=4))
    assert old is not None
    assert same is not None
    assert (old.outcome, old.reason, same.outcome) == ("rejected", "stale", "reinforced")
    assert list((await values(plant, scope)).values()) == ["gold"]
    then = START + timedelta(days=4)
    again = SystemFact(
        fact_id=f"membership.tier {then.isoformat()}", key="membership.tier", value="gold", occurred_at=then
    )
    answer = await plant.composition.backend.propose(scope, "registry", again)
    assert answer is not None
    assert answer.state == "known"


async def test_a_system_states_only_what_it_owns(plant: Plant) -> None:
    """A key of the person's is refused at the door; one it no longer owns when it is considered is held."""
    scope = await plant.person()
    assert await states(plant, scope, "work.role", "clerk", START) is None
    fact = SystemFact(fact_id="late", key="membership.tier", value="gold", occurred_at=START)
    position = await plant.stated(scope, "registry", fact)
    await plant.composition.register_system(plant.tenant, "registry", frozenset({OWNED}))
    try:
        assert position is not None
        await plant.rememberer.consider(position)
        await plant.follow()
        outcome = await plant.composition.backend.fact_outcome(scope, "registry", "late")
        assert outcome is not None
        assert [(each.outcome, each.reason) for each in outcome.verdicts] == [("held", "not_its_key")]
    finally:
        await plant.composition.register_system(plant.tenant, "registry", frozenset({OWNED, "membership.tier"}))


@pytest.mark.parametrize(
    ("first", "second"),
    [("先备份 → 再发布", "先备份 → 灰度 → 再发布"), ("back up → release", "back up → canary → release")],
)
async def test_a_configured_procedure_waits_for_the_person_in_every_version(
    plant: Plant, first: str, second: str
) -> None:
    """A system that owns `procedure.…` states a way of doing things; it is followed once confirmed."""
    await plant.composition.register_system(plant.tenant, "playbook", frozenset({"procedure.release"}))
    scope = await plant.person()
    for version, steps in enumerate((first, second), 1):
        said = {"fact_id": f"v{version}", "key": "procedure.release", "value": steps}
        fact = SystemFact.model_validate({**said, "occurred_at": START + timedelta(days=version)})
        position = await plant.stated(scope, "playbook", fact)
        assert position is not None
        await plant.rememberer.consider(position)
        await plant.follow()
        outcome = await plant.composition.backend.fact_outcome(scope, "playbook", fact.fact_id)
        assert outcome is not None
        (verdict,) = outcome.verdicts
        assert (verdict.kind, verdict.outcome, verdict.reason) == ("procedure", "held", "unconfirmed")
        settled = await plant.composition.backend.settle(scope, verdict.memory_id, confirmed=True)
        assert settled is not None
        await plant.follow()
        assert settled.version == version
        assert list((await values(plant, scope)).values()) == [steps]


async def test_one_owner_a_key_and_one_key_a_system(plant: Plant) -> None:
    """Another system cannot take a key that has an owner; registering again replaces the credential."""
    with pytest.raises(BadInputError):
        await plant.composition.register_system(plant.tenant, "other", frozenset({OWNED}))
    first = await plant.composition.register_system(plant.tenant, "billing", frozenset({"billing.plan"}))
    await plant.composition.register_system(plant.tenant, "billing", frozenset({"billing.plan"}))
    assert await plant.composition.backend.holder_of_key(first) is None


async def test_what_a_system_stated_is_forgotten_like_everything_else(plant: Plant) -> None:
    """The person has it forgotten: the receipt proves every layer, and the message it rests on is gone."""
    scope = await plant.person()
    await states(plant, scope, "membership.tier", "gold", START)
    (memory,) = await values(plant, scope)
    tombstone = await plant.forget(scope, memory)
    await plant.follow()
    receipt = await plant.finish(scope, tombstone, registry=plant.composition.registry)
    assert receipt.decision == "deletion_propagated"
    assert await values(plant, scope) == {}
