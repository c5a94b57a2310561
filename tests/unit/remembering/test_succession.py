"""What takes the place of a memory by its words alone, what does not, and that the order of arrival decides nothing."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.model import PRIVATE, Kind, MemoryBody, MemoryId
from services.extraction.extract import extract
from services.extraction.remarks import value_in
from services.governance.judge import Living, Writing
from services.governance.policy import shipped_policy
from services.governance.view import View
from services.remembering.decide import Decision, decide, thousandths
from services.remembering.succession import FEATURES, barred, features, likelihood
from services.remembering.successors import may_succeed
from tests.unit.governance.make import NOON, a_candidate, a_memory, a_message, a_turn, a_view

POLICY = shipped_policy().succession
CLOSE = 0.5  # a cosine of two statements about one thing in other words
NEW = MemoryId(UUID(int=7))


def known(content: str, value: str | None = None, **changes: object) -> Living:
    """Make a memory of yesterday."""
    values = {"kind": Kind.FACT, "key": None, "content": content, "value": value or content, **changes}
    return a_memory(a_candidate(a_message(content), **values), NOON - timedelta(days=1))


def told(content: str, *memories: Living, at: datetime = NOON, cosine: float = CLOSE) -> list[Decision]:
    """Decide about a message of the person, to whose sentences all memories are equally close."""
    turn = a_turn(a_message(content), at=at)
    read = extract(turn)
    said = (*read.candidates, *read.remarks)
    alike = {
        each.content: {memory.memory_id: cosine for memory in memories if may_succeed(each, memory.claim, POLICY)}
        for each in said
    }
    view: View = a_view(turn, *memories).model_copy(update={"alike": alike})
    return decide(dict.fromkeys(said, PRIVATE), view, [], lambda: NEW)


def replaced(decisions: Sequence[Decision]) -> list[MemoryId]:
    """Return the memories that were replaced."""
    return [each.memory_id for each in decisions if each.ruling.outcome is Writing.SUPERSEDE]


CHANGES = [
    ("手机是红米的", "红米", "换一加了，红米给我妈用"),
    ("读书会每月第二个周日", "每月第二个周日", "对了读书会挪到第三个周六了"),
    ("在一家出版社当编辑", "编辑", "从出版社出来了，编辑不做了，现在做自由译者"),
    ("项目组有七个人", "七个人", "又走了一个，现在项目组就六个人"),
    ("后端用 Java 写", "Java", "后端重写完了，现在全是 Go"),
    ("平时喝绿茶", "绿茶", "最近改喝白茶了"),
    ("答辩在六月三号", "六月三号", "老师通知答辩推迟到十号了"),
    ("the kitchen budget is 8k", "8k", "the kitchen budget's been bumped to 11k"),
    ("the quarterly review is on the 12th", "the 12th", "turns out the review is on the 14th"),
    ("works at Halden as an analyst", "Halden", "left Halden, I'm at Norvik now"),
    ("boss is Ingrid", "Ingrid", "Ingrid left and Tomasz took over"),
    ("the project code name is Falcon", "Falcon", "they renamed Falcon to Kestrel"),
    ("组的 daily sync 在 Zoom 上开", "Zoom", "这周起 daily sync 全搬到 Teams 了"),
    ("我们民宿有六间房", "我们民宿有六间房", "扩建完了，现在十间房"),
    ("我管着三条产线", "我管着三条产线", "现在管四条产线了"),
    ("My tearoom seats 40", "My tearoom seats 40", "we knocked the wall through, it seats 56 now"),
    ("I keep twelve hives", "I keep twelve hives", "I'm down to nine hives"),
]
STAYS = [
    ("手机是红米的", "红米", "我妈换了个一加"),  # another person's
    ("手机是红米的", "红米", "又买了个一加当备用机"),  # one more
    ("读书会每月第二个周日", "每月第二个周日", "电影会改到第三个周六了"),  # another thing
    ("读书会每月第二个周日", "每月第二个周日", "这周的读书会临时改到周六"),  # for once
    ("上班坐地铁", "地铁", "地铁现在涨价了"),  # the old value in another respect
    ("上班坐地铁", "地铁", "要是以后上班改骑车就好了"),  # a wish
    ("上班坐地铁", "地铁", "现在上班改骑车好吗？"),  # a question
    ("数据库是 MySQL", "MySQL", "缓存现在换成 Redis 了"),
    ("我们民宿有六间房", "我们民宿有六间房", "隔壁那家现在十间房了"),
    ("I keep twelve hives", "I keep twelve hives", "my uncle keeps nine hives now"),
    ("the kitchen budget is 8k", "8k", "my sister's kitchen budget is 11k now"),
    ("works at Halden as an analyst", "Halden", "my husband left Halden, he's at Norvik now"),
    ("the quarterly review is on the 12th", "the 12th", "the dentist has moved to the 14th"),
    ("is learning Spanish", "Spanish", "I also started Italian now"),
    ("boss is Ingrid", "Ingrid", "maybe Tomasz takes over now"),
    ("the API runs on Heroku", "Heroku", "the blog has moved to Fly"),
    ("my phone is a Pixel", "a Pixel", "my work phone is an iPhone now"),  # a narrower name
    ("手机是红米的", "红米", "工作手机现在是公司发的一加"),
]


@pytest.mark.parametrize(("content", "value", "change"), CHANGES)
def test_a_change_told_in_passing_replaces_the_memory(content: str, value: str, change: str) -> None:
    """It becomes the next version of the memory, under its key and of its kind, in either language."""
    memory = known(content, value, key="some.thing")
    decisions = told(change, memory)
    assert replaced(decisions) == [memory.memory_id]
    (body,) = [each.body for each in decisions if each.memory_id == memory.memory_id]
    assert body is not None
    assert (body.key, body.kind) == ("some.thing", Kind.FACT)


@pytest.mark.parametrize(("content", "value", "remark"), STAYS)
def test_what_is_no_change_of_it_leaves_a_memory(content: str, value: str, remark: str) -> None:
    """Another person's, another thing, one more, for once, doubted, asked: however close, nothing is overwritten."""
    assert replaced(told(remark, known(content, value, key="some.thing"), cosine=0.9)) == []


@pytest.mark.parametrize("remark", ["换一加了，红米给我妈用", "they renamed Falcon to Kestrel"])
def test_a_remark_about_nothing_known_is_nothing(remark: str) -> None:
    """It is no candidate of its own: neither written nor held, and no event says that it was there."""
    assert [each for each in told(remark) if each.candidate.amends] == []


def test_a_remark_beside_a_claim_of_the_same_message_replaces_nothing_twice() -> None:
    """What a claim has just made a new version of is as new as the remark: 我搬家了，现在住在杭州 is one change."""
    memory = known("住在苏州", "苏州", key="home.city")
    decisions = told("我搬家了，现在住在杭州", memory)
    assert [each.version for each in decisions if each.written] == [2]


def test_two_that_are_as_likely_both_stay() -> None:
    """Which of two memories a remark means is not guessed."""
    assert replaced(told("现在改骑车了", known("上班坐地铁", "地铁"), known("上班坐公交", "公交"))) == []


@pytest.mark.parametrize(
    "other",
    [{"scope": "project:atlas"}, {"said_by": "crm"}, {"kind": Kind.EPISODE}],
)
def test_what_a_remark_cannot_mean_stays(other: dict[str, object]) -> None:
    """A project that it does not name, what a business system stated, and what happened once are not replaced."""
    memory = known("后端用 Java 写", "Java")
    memory = memory.model_copy(update={"claim": MemoryBody.model_validate({**memory.claim.model_dump(), **other})})
    assert replaced(told("后端重写完了，现在全是 Go", memory)) == []


@pytest.mark.parametrize(
    ("said", "old", "content", "now"),
    [
        ("it's 9:45 as of this week", "9:15", "the daily standup is at 9:15", "the daily standup is at 9:45"),
        ("改到第三个周六了", "每月第二个周日", "读书会每月第二个周日", "读书会每月第三个周六"),
        ("闺女升大班啦", "中班", "女儿上幼儿园中班", "女儿上幼儿园大班"),
        ("换一加了", "红米", "手机是红米的", "换一加了"),
    ],
)
def test_a_time_takes_the_place_of_the_old_one_in_its_sentence(said: str, old: str, content: str, now: str) -> None:
    """The memory still names the thing that the remark leaves out; what is no time or number stays as it was said."""
    assert value_in(said, old, content).content == now


def test_a_change_is_as_sensitive_as_what_it_changes() -> None:
    """What shows no class itself waits for consent where the memory did."""
    memory = known("房租三千八", "三千八", sensitivity="finance")
    held = told("房租涨到四千二了", memory)
    assert [(each.candidate.sensitivity, each.written) for each in held] == [("finance", False)]


def left(said: Sequence[tuple[int, str]]) -> set[str]:
    """Return what is current after messages of these minutes that arrive in this order, each close to all others."""
    living: list[Living] = [known("项目组有七个人", "七个人")]
    for minute, content in said:
        at = NOON + timedelta(minutes=minute)
        for each in told(content, *living, at=at):
            if each.written and each.body is not None:
                gone = {each.memory_id, *each.ruling.settles}
                living = [memory for memory in living if memory.memory_id not in gone]
                fresh = a_memory(each.candidate, at)
                living.append(fresh.model_copy(update={"memory_id": each.memory_id, "version": each.version}))
    return {memory.claim.content for memory in living}


@given(st.permutations(list(enumerate(["组里现在八个人了", "项目组加到十个人了", "又走了一个，现在项目组就九个人"]))))
def test_the_last_change_stands_in_every_order(said: list[tuple[int, str]]) -> None:
    """Of several changes of one thing that of the latest time is current, whichever arrives first."""
    assert left(said) == left(sorted(said))


@given(
    st.fixed_dictionaries({name: st.floats(0, 1) for name in FEATURES}),
    st.sampled_from(("others", "once", "of_old")),
)
def test_no_closeness_overrides_what_bars_it(found: dict[str, float], sign: str) -> None:
    """Somebody else's, for once, or the old value in another respect: the chance is nought."""
    assert barred({**found, sign: 1.0})
    assert likelihood({**found, sign: 1.0}, POLICY.weights) == 0


def test_every_feature_has_a_weight() -> None:
    """The policy names what is measured, and nothing else."""
    assert set(POLICY.weights) == {"bias", *FEATURES}


@given(st.text(max_size=60), st.text(min_size=1, max_size=60), st.floats(-1, 1))
def test_any_text_can_be_compared(said: str, content: str, cosine: float) -> None:
    """No text breaks the signs, and every chance is one."""
    found = features(said, content, content, cosine)
    assert 0 <= likelihood(found, POLICY.weights) <= 1
    assert thousandths(likelihood(found, POLICY.weights)) <= thousandths(1.0)


@pytest.mark.parametrize(
    ("said", "old", "now"),
    [
        ("又招了两个，现在九个伙计了", "我们面馆一共七个伙计", "我们面馆一共九个伙计"),
        ("说岔了，320 是去年的数，现在一个班 410 件", "喷漆线一个班出 320 件", "喷漆线一个班出 410 件"),
        ("we knocked the wall through, it seats 56 now", "My tearoom seats 40", "My tearoom seats 56"),
    ],
)
def test_a_count_takes_the_place_of_the_old_one_in_its_sentence(said: str, old: str, now: str) -> None:
    """What is counted the same is counted anew: nothing else of the sentence has changed."""
    assert value_in(said, old, old).content == now


def test_what_points_at_nothing_named_means_what_was_just_said() -> None:
    """A bare "it's moved to Thursdays" changes the memory of the turn before, and none from further back."""
    lesson = known("piano lesson is on Mondays", "Mondays")
    said = a_message("It's moved to Thursdays.")
    for before, changed in ((lesson.claim.evidence[0].message_id, True), (said.message_id, False)):
        earlier = said.model_copy(update={"message_id": before})
        turn = a_turn(said).model_copy(update={"before": (earlier,)})
        remarks = extract(turn).remarks
        alike = {each.content: {lesson.memory_id: CLOSE - 0.1} for each in remarks}
        view = a_view(turn, lesson).model_copy(update={"alike": alike})
        decisions = decide(dict.fromkeys(remarks, PRIVATE), view, [], lambda: NEW)
        assert bool(replaced(decisions)) is changed
