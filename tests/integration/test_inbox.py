import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from events.errors import BadInputError, PreviewChangedError
from events.model import PRIVATE, MemoryId, Resolved, Scope
from services.governance.policy import shipped_policy
from services.wire.inbox import InboxEntry, SettledView
from services.wire.memories import MemoryStatus
from services.wire.names import Bounds
from services.wire.recall import ContextRequest, RecallRole
from services.wire.receipts import MessageOf, What
from tests.plant import START, Plant, planted


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run servers of this module's own."""
    async with planted(tmp_path_factory.mktemp("inbox")) as plant:
        yield plant


async def waits(plant: Plant, scope: Scope) -> tuple[InboxEntry, ...]:
    return (await plant.composition.backend.inbox(scope)).entries


async def kept(plant: Plant, scope: Scope, status: MemoryStatus = MemoryStatus.ACTIVE) -> dict[MemoryId, str]:
    await plant.follow()
    page = await plant.composition.backend.memories(scope, status, 100, None)
    return {each.memory_id: each.content or "" for each in page.memories}


async def hold(plant: Plant, scope: Scope, *said: str) -> MemoryId:
    (verdict,) = (await plant.say(scope, *said)).verdicts
    assert verdict.outcome == "held", verdict
    return verdict.memory_id


async def dispute(plant: Plant, scope: Scope) -> tuple[MemoryId, MemoryId]:
    """Say two things about one key in two turns of the same moment."""
    for said in ("我住在苏州", "我住在宁波"):
        await plant.say(scope, said, "好的。", at=START)
    one, other = (each.memory_id for each in await waits(plant, scope))
    return one, other


async def test_confirming_makes_a_memory_that_is_recalled(plant: Plant) -> None:
    """A held candidate becomes version 1 under its own id, is found by recall, and waits no more."""
    scope = await plant.person()
    held = await hold(plant, scope, "我对花生过敏", "好的。")
    assert [(each.memory_id, each.why) for each in await waits(plant, scope)] == [(held, "needs_consent")]
    (shown,) = (await plant.composition.backend.memories(scope, MemoryStatus.HELD, 100, None)).memories
    assert shown.confidence > 0
    settled = await plant.composition.backend.settle(scope, held, confirmed=True)
    assert settled is not None
    assert (settled.memory_id, settled.version, settled.decision) == (held, 1, "confirmed")
    await plant.follow()
    assert list(await plant.recalled(scope, "花生")) == [held]
    assert await waits(plant, scope) == ()


async def test_settling_again_answers_the_same_and_not_otherwise(plant: Plant) -> None:
    """Confirming twice appends once; refusing what was confirmed is refused itself."""
    scope = await plant.person()
    held = await hold(plant, scope, "我对花生过敏", "好的。")
    once = await plant.composition.backend.settle(scope, held, confirmed=True)
    length = len(await plant.stream(scope))
    assert await plant.composition.backend.settle(scope, held, confirmed=True) == once
    assert len(await plant.stream(scope)) == length
    with pytest.raises(BadInputError):
        await plant.composition.backend.settle(scope, held, confirmed=False)


async def test_of_confirming_and_refusing_at_once_one_holds_and_the_other_is_told(plant: Plant) -> None:
    """Three of each at once: those of the decision in the log get it, the others are told what it was, none is lost."""
    backend = plant.composition.backend
    for round_ in range(4):
        scope = await plant.person()
        held = await hold(plant, scope, "我对花生过敏", "好的。")
        calls = (backend.settle(scope, held, confirmed=number % 2 == round_ % 2) for number in range(6))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        (resolved,) = (
            event
            for stored in await plant.stream(scope)
            if isinstance(event := stored.event, Resolved) and event.memory_id == held
        )
        given = [each for each in answers if isinstance(each, SettledView)]
        told = [each for each in answers if isinstance(each, BadInputError)]
        assert {each.decision for each in given} == {resolved.decision}
        assert (len(given), len(told)) == (3, 3), answers
        assert all(resolved.decision in str(each) for each in told)


async def test_nobody_settles_what_is_anothers(plant: Plant) -> None:
    """An id of another person is no entry, and stays what it was."""
    scope, other = await plant.person(), await plant.person()
    held = await hold(plant, scope, "我对花生过敏", "好的。")
    assert await plant.composition.backend.settle(other, held, confirmed=True) is None
    assert [each.memory_id for each in await waits(plant, scope)] == [held]


async def test_refusing_destroys_the_content_and_leaves_the_messages(plant: Plant) -> None:
    """What is refused is a stone with a signed receipt; the turn it came from can still be read."""
    scope = await plant.person()
    held = await hold(plant, scope, "我对花生过敏", "好的。")
    await plant.composition.backend.settle(scope, held, confirmed=False)
    await plant.follow()
    (stone,) = (each for each in await plant.stream(scope) if each.event.type == "tombstoned")
    receipt = await plant.finish(scope, stone.event_id, registry=plant.composition.registry)
    assert receipt.decision == "deletion_propagated"
    assert await kept(plant, scope, MemoryStatus.HELD) == {}
    shown = await plant.composition.backend.memory(scope, held)
    assert shown is not None
    assert (shown.status, shown.content) == (MemoryStatus.FORGOTTEN, None)


async def test_consent_to_a_class_confirms_what_waits_for_it_and_nothing_else(plant: Plant) -> None:
    """Consent opens one class: what was held of it is active, what comes later too; another class still waits."""
    scope = await plant.person()
    health = await hold(plant, scope, "我对花生过敏", "好的。")
    money = await hold(plant, scope, "我信用卡还欠着 36500 没还清。", "好的。")
    await plant.composition.backend.consent(scope, "health", given=True)
    assert list(await kept(plant, scope)) == [health]
    assert [each.memory_id for each in await waits(plant, scope)] == [money]


@pytest.mark.parametrize(
    ("said", "correction"), [("My salary is 5000 euro.", "No wait, 6000 euro."), ("我月薪两万。", "不对，是三万。")]
)
async def test_a_correction_waits_for_the_consent_of_what_it_corrects(plant: Plant, said: str, correction: str) -> None:
    """It is held in place of what was held; consent makes it the one memory, and withdrawing consent closes it."""
    scope, backend = await plant.person(), plant.composition.backend
    old = await hold(plant, scope, said, "OK.")
    new = await hold(plant, scope, correction, "OK.")
    assert [(each.memory_id, each.why) for each in await waits(plant, scope)] == [(new, "needs_consent")]
    assert await kept(plant, scope) == {}
    await backend.consent(scope, "finance", given=True)
    assert list(await kept(plant, scope)) == [new]
    assert list(await kept(plant, scope, MemoryStatus.SUPERSEDED)) == [old]
    await backend.consent(scope, "finance", given=False)
    assert await plant.recalled(scope, "salary 月薪") == {}


async def test_refusing_a_correction_destroys_what_it_stood_for_too(plant: Plant) -> None:
    """What was held and corrected unconfirmed goes with its correction: nothing of either stays."""
    scope, backend = await plant.person(), plant.composition.backend
    old = await hold(plant, scope, "我月薪两万。", "好的。")
    new = await hold(plant, scope, "不对，是三万。", "好的。")
    await backend.settle(scope, new, confirmed=False)
    await plant.follow()
    shown = [await backend.memory(scope, each) for each in (old, new)]
    assert [(each.status, each.content) for each in shown if each] == [(MemoryStatus.FORGOTTEN, None)] * 2


@pytest.mark.parametrize("confirmed", ["neither", "later"])
async def test_of_what_consent_opens_the_later_statement_stands(plant: Plant, confirmed: str) -> None:
    """The person's own time decides, however the two arrived and whether the later one was confirmed before."""
    scope, backend = await plant.person(), plant.composition.backend
    at = START + timedelta(days=2)
    later = (await plant.say(scope, "My salary is 6000 euro.", "OK.", at=at)).verdicts[0].memory_id
    earlier = (await plant.say(scope, "My salary is 5000 euro.", "OK.", at=START)).verdicts[0].memory_id
    assert {each.memory_id for each in await waits(plant, scope)} == {later, earlier}
    if confirmed != "neither":
        await backend.settle(scope, later, confirmed=True)
    await backend.consent(scope, "finance", given=True)
    assert list((await kept(plant, scope)).values()) == ["salary is 6000 euro"]
    assert await waits(plant, scope) == ()


@pytest.mark.parametrize(
    ("older", "newer"),
    [("My salary is 5000 euro.", "My salary is 6000 euro."), ("我的工资是5000。", "我的工资是6000。")],
)
async def test_what_was_overtaken_is_not_confirmed_before_what_was_said_later(
    plant: Plant, older: str, newer: str
) -> None:
    """While the later statement waits, the earlier one stands for nothing: the answer names what to settle first."""
    scope, backend = await plant.person(), plant.composition.backend
    earlier = (await plant.say(scope, older, "OK.", at=START)).verdicts[0].memory_id
    later = (await plant.say(scope, newer, "OK.", at=START + timedelta(days=2))).verdicts[0].memory_id
    with pytest.raises(BadInputError, match=str(later)):
        await backend.settle(scope, earlier, confirmed=True)
    assert await kept(plant, scope) == {}
    await backend.settle(scope, later, confirmed=False)
    settled = await backend.settle(scope, earlier, confirmed=True)
    assert settled is not None
    assert list(await kept(plant, scope)) == [earlier]


async def test_one_suppression_comes_of_asking_twice_at_once(plant: Plant) -> None:
    """Equal wishes of one moment are one, under whatever else is written meanwhile; other words are another."""
    scope, backend = await plant.person(), plant.composition.backend
    asked = await asyncio.gather(
        *(backend.suppress(scope, "我喝什么咖啡") for _ in range(6)),
        *(backend.suppress(scope, "what I weigh") for _ in range(3)),
        plant.say(scope, "我住在苏州", "好的。"),
        return_exceptions=True,
    )
    assert not [each for each in asked if isinstance(each, BaseException)]
    standing = (await backend.suppressions(scope)).suppressions
    assert sorted(each.description for each in standing) == ["what I weigh", "我喝什么咖啡"]


async def test_consent_for_a_purpose_opens_a_class_for_that_alone(plant: Plant) -> None:
    """What waited, what comes and what was there is read for that purpose; for another, or none, it is closed."""
    backend, person = plant.composition.backend, await plant.person()
    agent = person.within(PRIVATE)
    coaching, marketing = [
        await backend.bound(person, Bounds(purpose=each)) for each in ("health coaching", "marketing")
    ]
    there = await plant.remember(agent, "请记住我对虾过敏。", "好的。")
    held = await hold(plant, agent, "我对花生过敏", "好的。")
    for _ in range(2):
        page = await backend.consent(person, "health", given=True, purpose="Health Coaching")
        opened = {each.sensitivity: (each.state, each.purposes) for each in page.consents}
        assert (opened["health"], opened["finance"]) == (("given", ("health coaching",)), ("none", ()))
    (later,) = (await plant.say(agent, "我对芒果过敏", "好的。")).verdicts
    waiting = await hold(plant, marketing, "我对牛奶过敏", "好的。")
    query = "虾 花生 芒果 牛奶 过敏"
    assert set(await plant.recalled(coaching, query)) == {there, held, later.memory_id}
    assert await plant.recalled(marketing, query) == await plant.recalled(agent, query) == {}
    assert [each.memory_id for each in await waits(plant, person)] == [waiting]
    recent = ContextRequest(query="你好", role=RecallRole.CHAT, session_id="s1", token_budget=3000)
    assert not [word for word in ("虾", "花生", "芒果") if word in (await backend.context(agent, recent)).text]
    await backend.consent(person, "health", given=True, purpose="marketing")
    assert set(await plant.recalled(marketing, query)) == {there, waiting}
    await hold(plant, agent, "我对海鲜过敏", "好的。")  # for which of the two it would be nobody said
    await backend.consent(person, "health", given=True)
    assert there in await plant.recalled(agent, query)
    assert not {held, later.memory_id, waiting} & set(await plant.recalled(agent, query))
    assert "花生" in (await backend.context(agent, recent)).text


async def test_withdrawing_consent_blinds_at_once(plant: Plant) -> None:
    """No recall returns a memory of the class any more, and one that was asked for is held again."""
    scope = await plant.person()
    await plant.say(scope, "请记住我对花生过敏。", "好的。")
    assert await plant.recalled(scope, "花生")
    await plant.composition.backend.consent(scope, "health", given=False)
    assert await plant.recalled(scope, "花生") == {}
    (verdict,) = (await plant.say(scope, "请记住我对芒果过敏。", "好的。")).verdicts
    assert (verdict.outcome, verdict.reason) == ("held", "consent_withdrawn")
    await plant.composition.backend.consent(scope, "health", given=True)
    assert len(await plant.recalled(scope, "花生 芒果")) == 2


@pytest.mark.parametrize(
    "said",
    [
        ("My storage fee is 500 euro.", "No wait, 600 euro.", "no, 650 euro", "Actually 700 euro."),
        ("我的仓库月租是500。", "不对，是600。", "不，650", "更正：700。"),
    ],
)
async def test_each_of_many_corrections_in_a_row_replaces_the_one_before(plant: Plant, said: tuple[str, ...]) -> None:
    """A bare correction finds what it is of, however many bare ones lie between."""
    scope = await plant.person()
    for minute, each in enumerate(said):
        await plant.say(scope, each, "OK.", at=START + timedelta(minutes=minute))
        await plant.follow()
    left = [*(await kept(plant, scope)).values(), *(await kept(plant, scope, MemoryStatus.HELD)).values()]
    assert [("700" in each, "650" in each) for each in left] == [(True, False)]


@pytest.mark.parametrize(
    ("wish", "about", "beside", "lifted"),
    [
        ("以后别记我的盆栽。", "请记住：我的盆栽是一棵五针松。", "请记住：我的猫叫豆包。", "可以再记我的盆栽了。"),
        (
            "Don't remember anything about my bonsai.",
            "Please remember that my bonsai is a juniper.",
            "Please remember that my cat is called Socket.",
            "You can remember my bonsai again.",
        ),
        ("以后别记我的车", "我的车换成了一辆二手皮卡。", "我每天坐地铁上班。", "可以再记我的车了"),
        (
            "don't remember anything about my car",
            "I drive a blue Volvo.",
            "I live in Ghent.",
            "You can remember my car again.",
        ),
    ],
)
async def test_a_wish_about_what_no_list_knows_stands(
    plant: Plant, wish: str, about: str, beside: str, lifted: str
) -> None:
    """It holds for the turns to come, by its own words; what is beside it is kept; taking it back lifts it."""
    scope, backend = await plant.person(), plant.composition.backend
    await plant.say(scope, wish, "OK.")
    assert len((await backend.suppressions(scope)).suppressions) == 1
    verdicts = (await plant.say(scope, about, "OK.")).verdicts
    assert {(each.outcome, each.reason) for each in verdicts} == {("suppressed", "described_before")}
    assert "accepted" in {each.outcome for each in (await plant.say(scope, beside, "OK.")).verdicts}
    await plant.say(scope, lifted, "OK.")
    assert (await backend.suppressions(scope)).suppressions == ()
    assert "accepted" in {each.outcome for each in (await plant.say(scope, about, "OK.")).verdicts}


@pytest.mark.parametrize("swapped", [False, True])
async def test_two_turns_of_one_moment_are_in_conflict(plant: Plant, *, swapped: bool) -> None:
    """Neither arrival order wins: both wait, neither is active, and the one that is chosen stands."""
    scope = await plant.person()
    one, other = await dispute(plant, scope)
    assert await kept(plant, scope) == {}
    assert {each.why for each in await waits(plant, scope)} == {"in_conflict"}
    chosen, rival = (other, one) if swapped else (one, other)
    settled = await plant.composition.backend.settle(scope, chosen, confirmed=True)
    assert settled is not None
    assert (settled.memory_id, settled.decision) == (chosen, "chosen")
    assert list(await kept(plant, scope)) == [chosen]
    assert list(await kept(plant, scope, MemoryStatus.SUPERSEDED)) == [rival]


async def test_a_newer_statement_ends_a_conflict(plant: Plant) -> None:
    """Saying how it is settles what was undecidable: one version is current, nothing waits."""
    scope = await plant.person()
    await dispute(plant, scope)
    await plant.say(scope, "我住在杭州", "好的。")
    assert [content for content in (await kept(plant, scope)).values() if "杭州" in content]
    assert len(await kept(plant, scope)) == 1
    assert await waits(plant, scope) == ()


async def test_what_is_suppressed_is_not_written_in_other_words(plant: Plant) -> None:
    """A suppression catches what is meant, not what is near; lifting it lets such things in again."""
    scope = await plant.person()
    suppression = await plant.composition.backend.suppress(scope, "我喝什么咖啡")
    again = await plant.composition.backend.suppress(scope, "我喝什么咖啡")
    assert again.suppression_id == suppression.suppression_id
    (verdict,) = (await plant.say(scope, "我喝咖啡只喝手冲。", "好的。")).verdicts
    assert (verdict.outcome, verdict.reason) == ("suppressed", "described_before")
    await plant.say(scope, "我喝茶只喝岩茶。", "好的。")
    assert len(await kept(plant, scope)) == 1
    assert await plant.composition.backend.lift(scope, suppression.suppression_id)
    assert (await plant.composition.backend.suppressions(scope)).suppressions == ()
    await plant.say(scope, "我喝咖啡只喝意式。", "好的。")
    assert len(await kept(plant, scope)) == 2


async def test_a_wish_said_in_a_turn_stands_until_it_is_lifted(plant: Plant) -> None:
    """It holds like one asked for by a call, by each message that says it, until taken back or forgotten."""
    scope, backend = await plant.person(), plant.composition.backend
    for said in ("以后别记我的体重。", "Don't keep anything about my weight from now on."):
        await plant.say(scope, said, "好的。")
    standing = (await backend.suppressions(scope)).suppressions
    assert sorted(each.description for each in standing) == ["my weight", "我的体重"]
    (verdict,) = (await plant.say(scope, "请记住：我的体重是 71 公斤。", "好的。")).verdicts
    assert (verdict.outcome, verdict.reason) == ("suppressed", "described_before")
    (verdict,) = (
        await plant.say(scope, "You can remember my weight again. Remember that I weigh 71 kg.", "OK.")
    ).verdicts
    assert (verdict.outcome, (await backend.suppressions(scope)).suppressions) == ("accepted", ())
    turn = plant.turn("我住在苏州。以后别记我的收入。", "好的。")
    await plant.rememberer.consider(await plant.placed(scope, turn))
    await plant.follow()
    what = What(message=MessageOf(turn_id=turn.turn_id, message_id="m0"))
    assert len((await backend.suppressions(scope)).suppressions) == 1
    shown = await backend.preview_what(scope, what)
    assert shown is not None
    assert (shown.total, shown.lifted) == (1, 1)
    receipt = await backend.forget_what(scope, what, shown.digest)
    assert receipt is not None
    assert (await backend.suppressions(scope)).suppressions == ()
    await plant.follow()
    assert (await plant.until(scope, receipt.receipt_id)).propagated_at is not None


async def test_what_a_call_asked_for_stands_beside_what_was_said(plant: Plant) -> None:
    """Words lift what words asked for, and no more; a call lifts all that says the same."""
    scope, backend = await plant.person(), plant.composition.backend
    await plant.say(scope, "以后别记我的体重。", "好的。")
    called = await backend.suppress(scope, "我的体重")
    assert len((await backend.suppressions(scope)).suppressions) == 2
    await plant.say(scope, "可以再记我的体重了。", "好的。")
    (left,) = (await backend.suppressions(scope)).suppressions
    assert left.suppression_id == called.suppression_id
    await plant.say(scope, "以后别记我的体重。", "好的。")
    assert await backend.lift(scope, called.suppression_id)
    assert (await backend.suppressions(scope)).suppressions == ()


async def test_a_description_forgets_what_its_preview_showed(plant: Plant) -> None:
    """The preview names memories, turns and siblings; a digest that is out of date forgets nothing."""
    scope, backend = await plant.person(), plant.composition.backend
    coffee = await plant.remember(scope, "我喝咖啡只喝手冲。", "好的。")
    tea = await plant.remember(scope, "我喝茶只喝岩茶。", "好的。")
    shown = await backend.preview(scope, "忘记我说过的喝咖啡的口味")
    assert [each.memory_id for each in shown.memories] == [coffee]
    assert (len(shown.turns), shown.messages, shown.siblings) == (1, 2, ())
    receipts = await backend.forget_described(scope, "忘记我说过的喝咖啡的口味", shown.digest)
    assert [each.memory_id for each in receipts.receipts] == [coffee]
    assert list(await kept(plant, scope)) == [tea]
    with pytest.raises(PreviewChangedError):
        await backend.forget_described(scope, "忘记我说过的喝咖啡的口味", shown.digest)


async def test_a_memory_and_a_refused_candidate_are_explained(plant: Plant) -> None:
    """Every gate has a verdict up to the one that decided; nothing the person said is repeated for a refused one."""
    scope, backend = await plant.person(), plant.composition.backend
    memory = await plant.remember(scope, "我喝咖啡只喝手冲。", "好的。")
    shown = await backend.explain(scope, memory)
    assert shown is not None
    (judgement,) = shown.judgements
    assert judgement.outcome == "accepted"
    assert {gate.verdict for gate in judgement.gates} == {"passed"}
    assert judgement.policy == shipped_policy().digest
    (refused,) = (await plant.say(scope, "这次用英文回答", "Sure.")).verdicts
    why = await backend.explain(scope, refused.memory_id)
    assert why is not None
    decided = [(gate.gate, gate.reason) for gate in why.judgements[0].gates if gate.verdict == "decided"]
    assert decided == [("ephemeral", "one_off")]
    assert why.judgements[0].gates[-1].verdict == "not_asked"
    assert "英文" not in why.model_dump_json()
    assert await backend.explain(await plant.person(), memory) is None
