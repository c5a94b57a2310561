"""What asks to remember, and what only says the verb under a denial."""

import pytest

from services.extraction.cues import has
from services.extraction.extract import extract
from services.extraction.request import asked_to_remember
from services.governance.gates.suppression import suppression
from services.governance.policy import shipped_policy
from services.governance.view import View
from tests.unit.extraction.make import a_turn, claims, extracted

UNASKED_ZH = [
    *("我不希望你记住", "我不想你记住", "我不愿意你记住", "我没让你记住", "我可没叫你记住", "你没必要记住"),
    *(
        "不需要你记住",
        "用不着记住",
        "谁让你记住",
        "我讨厌你记住",
        "我反对你记住",
        "不要，真的，记住",
        "我没有同意你保存",
    ),
]
UNASKED_EN = [
    *("I'd prefer you not remember that", "You mustn't remember that", "Please don't, ever, remember that"),
    *("I don't want you to remember that", "I never asked you to remember that", "I'd rather you didn't remember that"),
    *(
        "I hate it when you remember that",
        "You don't have to remember that",
        "I'm not comfortable with you recording that",
    ),
    *("You should never remember that", "I object to you remembering that", "There's no need for you to remember that"),
]
SAID = [
    *(f"{wish}{claim}" for wish in UNASKED_ZH for claim in ("我的血压是150", "我住在上海")),
    *(f"{wish} {claim}." for wish in UNASKED_EN for claim in ("my blood pressure is 150", "I live in Leeds")),
    *("请不要把我的血压是150这件事记住", "我住在上海，我不希望你记住这个", "我不希望我的血压被记住"),
    *("I live in Leeds, but you shouldn't remember that.", "I don't want you to remember anything about my ex."),
]
ASKED = [
    *("别忘了我住在上海", "不要忘记我住在上海", "我希望你记住我住在上海", "你不但要记住我住在上海，也要记住我姓沈"),
    *("不好意思，请记住我住在上海", "我不吃肉，记住我住在上海", "我不爱出门请记住我住在上海"),
    *(
        "don't forget that I live in Leeds",
        "Don't you dare forget that I live in Leeds",
        "Remember that I live in Leeds",
    ),
    *("I want you to remember that I live in Leeds", "I'm no vegetarian, so remember that I live in Leeds"),
]


@pytest.mark.parametrize("content", SAID)
def test_what_is_said_not_to_be_remembered_is_no_request_and_is_suppressed(content: str) -> None:
    """A verb of remembering under a denial, an unwillingness or a prohibition asks for nothing and covers its claim."""
    turn = a_turn(content)
    found = extract(turn)
    view = View(turn=turn, suppressions=found.suppressions, living=(), policy=shipped_policy())
    assert found.suppressions
    assert not [each for each in found.candidates if each.explicit or suppression(each, view) is None]


@pytest.mark.parametrize("content", ASKED)
def test_not_to_forget_is_to_remember(content: str) -> None:
    """A denial that governs another verb, or forgetting, leaves the request one."""
    found = extracted(content)
    assert not found.suppressions
    assert any(each.explicit and each.key == "home.city" for each in found.candidates)


@pytest.mark.parametrize(
    "content", ["我不用记住密码", "I don't remember my weight", "I never remember where I put keys"]
)
def test_who_does_not_remember_themselves_wishes_nothing(content: str) -> None:
    """A first person that does not remember neither asks for it nor forbids it."""
    assert asked_to_remember(content) is None
    assert not has("forget_not", content.lower())
    assert not extracted(content).suppressions


@pytest.mark.parametrize(
    "content",
    [*("我从来记不住名字", "我从来记不住我的工号", "我从来忍不住脾气", "我从昨天起记得住路", "我从他手里接住球")],
)
def test_a_complement_is_no_dwelling(content: str) -> None:
    """住 behind another verb says that something holds, not where the person lives."""
    assert not [each for each in claims(content) if each.key == "home.city"]


@pytest.mark.parametrize("content", ["我从小住上海", "我从去年开始住在上海", "我从来只住上海", "我一直住上海"])
def test_dwelling_since_some_time_is_read(content: str) -> None:
    """住 behind the person, an adverb or a time is where they live."""
    assert [each.value for each in claims(content) if each.key == "home.city"] == ["上海"]
