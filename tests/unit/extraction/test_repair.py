"""What the person takes back in the same message."""

import pytest

from events.model import Outcome
from services.extraction.anaphora import points_back
from services.extraction.extract import extract
from tests.unit.extraction.make import a_turn, claims
from tests.unit.governance.make import Person


@pytest.mark.parametrize(
    ("said", "value", "content"),
    [
        ("我最喜欢的颜色是蓝色。不对，是绿色。", "绿色", "最喜欢的颜色是绿色"),
        ("My favourite colour is blue. No, wait, green.", "green", "favourite colour is green"),
        ("My favourite colour is blue. Scratch that. Purple.", "Purple", "favourite colour is Purple"),
        ("我最喜欢的颜色是蓝色。不是蓝色，是绿色。", "绿色", "最喜欢的颜色是绿色"),
        ("My favourite colour is blue. It's not blue, it's green.", "green", "favourite colour is green"),
        ("我有一只三岁的猫。说错了，四岁。", "四岁的猫", "养了四岁的猫"),
        ("I have two cats. Make that three.", "three cats", "has three cats"),
        ("我今年三十三岁。应该是三十四岁。", "三十四", "三十四岁"),
        ("I am 33 years old. Sorry, I mean 34.", "34", "is 34 years old"),
        ("请记住：年糕三岁了。说错了，四岁。", "年糕四岁", "年糕四岁"),
        ("I live in Leeds. Actually, York.", "York", "lives in York"),
        ("以后用英文回答。不对，用中文。", "中文", "用中文回答"),
    ],
)
def test_a_value_alone_takes_the_place_of_the_last_one(said: str, value: str, content: str) -> None:
    """The claim keeps its key and says the new value, and its evidence covers both."""
    (claim,) = claims(said)
    assert (claim.value, claim.content) == (value, content)
    (pointer,) = claim.evidence
    assert said[: pointer.start] in {"", "请记住：", "以后"}
    assert said[pointer.end :] in {"。", "."}


@pytest.mark.parametrize(
    ("said", "value"),
    [("我住在北京。更正：我住在天津。", "天津"), ("I live in Leeds. No wait, I live in York.", "York")],
)
def test_a_claim_restated_in_full_replaces_the_last_one(said: str, value: str) -> None:
    """Only the restated claim is proposed, as a correction."""
    (claim,) = claims(said)
    assert claim.value == value
    assert claim.correction


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("我最喜欢的颜色是蓝色。不对，你算错了。", "蓝色"),
        ("我最喜欢的颜色是蓝色。不对，再算一遍。", "蓝色"),
        ("我最喜欢的颜色是蓝色。不对，是绿色吗？", "蓝色"),
        ("My favourite colour is blue. No, I don't want that.", "blue"),
        ("My favourite colour is blue. Actually, let's talk about lunch.", "blue"),
        ("My favourite colour is blue. Actually, what about red?", "blue"),
        ("My favourite colour is blue. Green.", "blue"),
        ("I live in Leeds. Actually, great city.", "Leeds"),
        ("I love tea. Actually, great stuff.", "tea"),
    ],
)
def test_what_names_no_value_corrects_nobody(said: str, value: str) -> None:
    """A fault of somebody else, a refusal, a question or a change of subject leaves the claim as it is."""
    assert [claim.value for claim in claims(said)] == [value]


@pytest.mark.parametrize(
    "said",
    [
        "remember my password is [secret:password]",
        "Please remember that my card number is [secret:payment_card], thanks.",
        "请记住：我的身份证号是[secret:cn_id]",
        "请记住，我的密码是「[secret:password]」。",
    ],
)
def test_what_is_left_of_a_secret_is_no_memory(said: str) -> None:
    """A claim about a replaced secret keeps its mark, by which the gate rejects it."""
    assert all("[secret:" in claim.content for claim in claims(said))
    person = Person()
    person.says(said)
    assert not person.living
    assert not person.held
    assert {ruling.outcome for ruling in person.rulings} <= {Outcome.REJECTED}


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("我的密码是[secret:password]。我喜欢茉莉花茶。", "茉莉花茶"),
        ("My password is [secret:password]. I love jasmine tea.", "jasmine tea"),
    ],
)
def test_a_secret_takes_nothing_else_with_it(said: str, value: str) -> None:
    """Another sentence beside a replaced secret is read as ever."""
    assert value in [claim.value for claim in claims(said)]


@pytest.mark.parametrize(
    ("before", "said", "value"),
    [
        ("My choir meets on Mondays.", "Correction: not Mondays, Wednesdays.", "Wednesdays"),
        ("My locksmith is in Ghent.", "No, I meant Bruges, sorry.", "Bruges"),
        ("我的陶艺课在周三。", "说错了，不是周三，是周四。", "周四"),
        ("我们公司年会定在十二月八号。", "记错了，应该是十二月十八号。", "十二月十八号"),
        ("我家有三只羊。", "不对，是五只，我数漏了。", "五只羊"),
    ],
)
def test_the_next_turn_corrects_the_one_before(before: str, said: str, value: str) -> None:
    """What opens by taking back gives the last claim of the turn before its new value, and says which it replaces."""
    first = a_turn(before)
    (old,) = extract(first).candidates
    (new,) = extract(a_turn(said).model_copy(update={"before": first.messages})).candidates
    assert (new.key, new.value, new.replaces) == (old.key, value, old.value)
    assert points_back(said)


@pytest.mark.parametrize(
    ("said", "value", "gone"),
    [
        (
            ("My rent is 5000 euro.", "No wait, 6000 euro.", "I meant 6500 euro.", "Actually 7000 euro."),
            "7000 euro",
            "6500 euro",
        ),
        (("我家有三只羊。", "不对，是五只。", "不对，是七只。", "更正：八只。"), "八只羊", "七只羊"),
        (("My locksmith is in Ghent.", "No, I meant Bruges.", "No, actually Aalst."), "Aalst", "Bruges"),
        (("My rent is 5000.", "no, 6000", "no, 6500", "nope, it's 7000"), "7000", "6500"),
        (("我的房租是5000。", "不，6000", "不，是 6500", "不是，是7000"), "7000", "6500"),
    ],
)
def test_a_correction_of_a_correction_goes_on(said: tuple[str, ...], value: str, gone: str) -> None:
    """However many bare corrections follow each other, the last one is of the claim that the first one was of."""
    turns = [a_turn(each) for each in said]
    (old,) = extract(turns[0]).candidates
    before = tuple(turn.messages[0] for turn in turns[:-1])
    (new,) = extract(turns[-1].model_copy(update={"before": before})).candidates
    assert (new.key, new.value, new.replaces) == (old.key, value, gone)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("My rent is 5000.", "no"),
        ("My rent is 5000.", "No, thanks."),
        ("I live in Delft.", "No, 2 of them are enough."),
        ("我的房租是5000。", "不，谢谢"),
        ("我的房租是5000。", "不是的"),
        ("我住在代尔夫特。", "不，两个就够了"),
    ],
)
def test_a_plain_no_corrects_nothing(before: str, said: str) -> None:
    """What is refused or answered names no value of the sort that was claimed."""
    turn = a_turn(said).model_copy(update={"before": a_turn(before).messages})
    assert not extract(turn).candidates


def test_what_was_said_between_ends_a_chain_of_corrections() -> None:
    """A bare correction is of what was said last, and of nothing where that names nothing."""
    turns = [a_turn(each) for each in ("My locksmith is in Ghent.", "Thanks a lot!", "No, I meant Aalst.")]
    before = tuple(turn.messages[0] for turn in turns[:-1])
    assert not extract(turns[-1].model_copy(update={"before": before})).candidates


def test_what_takes_back_nothing_that_was_said_claims_nothing() -> None:
    """Without the turn before, a bare correction names a value of nothing."""
    assert not claims("No, I meant Bruges.")


@pytest.mark.parametrize(
    ("before", "said", "value"),
    [
        ("My salary is 5000 euro.", "No wait, 6000 euro.", "6000 euro"),
        ("My salary is 5000 euro.", "Actually it's 6000 euro.", "6000 euro"),
        ("我月薪两万。", "不对，是三万。", "我月薪三万"),
        ("我月薪两万。", "更正：三万。", "我月薪三万"),
        ("我对青霉素过敏。", "不对，是头孢。", "头孢"),
        ("我是佛教徒。", "不对，是基督徒。", "我是基督徒"),
        ("I'm Catholic.", "Sorry, I meant Buddhist.", None),
        ("My locksmith is in Ghent.", "No, I meant Bruges, sorry.", "Bruges"),
        ("我的陶艺课在周三。", "说错了，不是周三，是周四。", "周四"),
    ],
)
def test_a_correction_is_of_the_sensitive_class_of_what_it_corrects(before: str, said: str, value: str | None) -> None:
    """Its own words may name nothing sensitive; the class is that of the claim it completes, and none where none is."""
    first = a_turn(before)
    (old,) = extract(first).candidates
    (new,) = extract(a_turn(said).model_copy(update={"before": first.messages})).candidates
    assert new.sensitivity == old.sensitivity
    assert value in {new.value, None}
