import pytest

from events.model import Origin
from services.extraction.extract import extract
from tests.unit.extraction.make import extracted
from tests.unit.governance.make import a_message, a_turn

ASKED = [
    ("以后别记我的体重", "我的体重"),
    ("以后不要再记录我的体重了。", "我的体重"),
    ("请从今以后别保存任何关于我收入的信息", "我收入"),
    ("我的工资以后别记。", "我的工资"),
    ("关于我的健康，以后都别记。", "我的健康"),
    ("永远不要记住我住在哪", "我住在哪"),
    ("我不想让你再记我的年龄了", "我的年龄"),
    ("别存我的健康数据", "我的健康"),
    ("以後別記我的體重", "我的體重"),
    ("从现在起不要记我的计划", "我的计划"),
    ("我刚从健身房回来，不过以后别记我的体重", "我的体重"),
    ("from now on 别记我的 weight", "我的 weight"),
    ("don't keep anything about my weight from now on", "my weight"),
    ("From now on, please don't remember my salary.", "my salary"),
    ("Never store anything about my health.", "my health"),
    ("Stop recording my weight.", "my weight"),
    ("please stop keeping track of what I earn", "what I earn"),
    ("I don't want you to remember where I live any more.", "where I live"),
    ("I'd rather you didn't keep notes about my family from now on", "my family"),
    ("Keep my love life out of your memory.", "my love life"),
    ("From now on don't remember my plans.", "my plans"),
    ("As for my income, don't keep anything from now on.", "my income"),
    ("My weight is off the record from now on.", "My weight"),
    ("Could you please not remember my weight from now on?", "my weight"),
    ("你以后没必要记我的体重", "我的体重"),
    ("以后别记我吃什么", "我吃什么"),
    ("以后别记我的车", "我的车"),
    ("别再记我的盆栽了。", "我的盆栽"),
    ("别记关于盆栽的任何事", "盆栽"),
    ("以后别记我家的装修", "我家的装修"),
    ("以後別記我和小陳的事", "我和小陳"),
    ("永远不要记住我的前同事", "我的前同事"),
    ("don't remember anything about my car", "my car"),
    ("Don't keep anything about my bonsai.", "my bonsai"),
    ("From now on don't remember my bonsai collection.", "my bonsai collection"),
    ("Stop remembering my garden shed.", "my garden shed"),
    ("Never remember anything about Rowan.", "Rowan"),
    ("I don't want you to store anything about the renovation.", "the renovation"),
]
LIFTED = [
    ("可以记我的体重了", "我的体重"),
    ("你现在可以记我的体重了，我现在 68 公斤。", "我的体重"),
    ("我的收入又可以记了", "我的收入"),
    ("以后可以继续记我的体重了", "我的体重"),
    ("you can remember my weight again", "my weight"),
    ("It's fine to remember where I live again.", "where I live"),
    ("可以再记我的盆栽了", "我的盆栽"),
    ("You can remember my bonsai again.", "my bonsai"),
    ("Feel free to keep notes about my weight again, I'm at 68 kg.", "my weight"),
]
OF_THIS_TURN = [
    "别记这句。",
    "别记我的体重：70 公斤",
    "这次别记我的体重",
    "don't remember my weight, it's 70 kg",
    "For now don't keep my weight.",
    "don't record my weight today",
    "别记我的盆栽",
    "don't remember my car, it's an old Volvo",
]
NO_WISH = [
    "Can you stop remembering my name wrong?",
    "帮我写一句话：以后别记我的体重",
    "Write me a sentence: from now on don't remember my weight",
    "等我减肥成功了，可以记我的体重了",
    "Once I leave this job, you can remember my salary again",
    "If I get better, you can remember my weight again.",
    "以后别记错我的名字",
    "别再记混我的生日了",
    "From now on don't save my reports as PDF.",
    "以后别保存草稿",
    "stop keeping my dog in the yard",
    "以后不用记会议纪要了",
    "我妈说以后别记她的体重",
    "He said from now on don't remember my weight.",
    '翻译："以后别记我的体重"',
    "translate: from now on don't remember my weight",
    "扮演医生：以后别记我的体重",
    "你以后能不记我的体重吗？",
    "Should I stop recording my weight?",
    "I no longer record my weight.",
    "以后别忘了记录我的体重",
    "You can remember my weight.",
    "you can keep my weight training plan",
    "以后别记我说的话",
    "你以后别记我什么",
    "以后别记我吃什么？",
    "以后别记我的账",
    "以后不要记录我的屏幕",
    "别记关于这次会议的内容",
    "don't remember anything I say",
    "don't remember anything from this chat",
    "don't log anything about errors in the build",
    "From now on don't remember my last message",
    "I don't remember anything about my car",
]


@pytest.mark.parametrize(("content", "description"), ASKED, ids=[content for content, _ in ASKED])
def test_a_standing_wish_names_what_is_not_to_be_remembered(content: str, description: str) -> None:
    """What is said for good and names something of a person outlasts its turn, in the person's own words."""
    (wish,) = extracted(content).standing
    assert (wish.description, wish.lifts) == (description, False)
    assert description in content[wish.evidence.start : wish.evidence.end]


@pytest.mark.parametrize(("content", "description"), LIFTED, ids=[content for content, _ in LIFTED])
def test_a_standing_wish_is_taken_back(content: str, description: str) -> None:
    """Saying that something may be remembered again lifts the wish, and claims nothing itself."""
    found = extracted(content)
    assert [(wish.description, wish.lifts) for wish in found.standing] == [(description, True)]
    assert not any(description in each.content for each in found.candidates)


@pytest.mark.parametrize("content", [*OF_THIS_TURN, *NO_WISH])
def test_what_is_not_meant_for_good_or_not_said_by_the_person_does_not_stand(content: str) -> None:
    """A wish for this turn, a file, a quote, a part that is played and a question leave nothing that lasts."""
    assert extracted(content).standing == ()


@pytest.mark.parametrize("origin", [Origin.ASSISTANT, Origin.TOOL, Origin.RETRIEVED, Origin.INJECTED, Origin.SUBAGENT])
def test_only_the_person_wishes(origin: Origin) -> None:
    """The same words from an assistant, a tool, a document or a subagent ask for nothing and lift nothing."""
    turn = a_turn(a_message("以后别记我的体重", origin), a_message("you can remember my weight again", origin))
    assert extract(turn).standing == ()


@pytest.mark.parametrize("content", ["Stop remembering my garden shed.", "以后别记我的盆栽。"])
def test_the_words_of_a_standing_wish_are_not_kept(content: str) -> None:
    """However it is worded, the wish covers its own sentence, and so what was read in it."""
    found = extracted(content)
    (unsaid,) = found.suppressions
    assert all(
        unsaid.evidence.start <= each.start and each.end <= unsaid.evidence.end
        for claim in found.candidates
        for each in claim.evidence
    )


def test_a_standing_wish_covers_its_sentence_alone() -> None:
    """What the next sentence says is kept, unless it is about what the wish names."""
    content = "From now on don't keep anything about my weight, it's 70 kg. I live in Leeds."
    (unsaid,) = extracted(content).suppressions
    assert unsaid.covers == ()
    assert content[unsaid.evidence.start : unsaid.evidence.end].endswith("70 kg")
