"""Ways of wishing that name no duration, point back, or are announced; and what only goes back to normal."""

import pytest

from events.model import Assertion, Kind
from tests.unit.extraction.make import claims


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Would you mind always putting the total in euros?", ("euros",)),
        (
            "Two things I'd like you to stick to in my minutes: open with the decisions, and close with the dates.",
            ("decisions", "dates"),
        ),
        ("Do keep sending me the price list, just never on a Friday.", ("friday",)),
        ("给供应商的邮件都客气一点。", ("客气",)),
        ("给 new users 的 email 都 relaxed 一点，别端着。", ("relaxed",)),
        ("报价里金额用大写，客户一眼就看明白了，这种写法往后就固定下来吧。", ("大写",)),
    ],
)
def test_a_wish_for_good_is_read_however_it_is_worded(said: str, words: tuple[str, ...]) -> None:
    """A polite question, an announced list, an emphatic order and a manner of all of a sort are standing wishes."""
    kept = [each for each in claims(said) if not each.ephemeral and each.kind in {Kind.PREFERENCE, Kind.FORMAT}]
    text = " ".join(each.content for each in kept).lower()
    assert all(word in text for word in words)


@pytest.mark.parametrize(
    "said",
    [
        "今晚有客人，菜先避开辣的，明天起照旧。",
        "For tonight leave the garlic out, tomorrow it's back to normal.",
    ],
)
def test_what_goes_back_to_normal_is_no_wish(said: str) -> None:
    """An exception for once and the end of it leave nothing to keep."""
    assert all(each.ephemeral for each in claims(said))


@pytest.mark.parametrize(
    ("said", "key", "value"),
    [
        ("我是开吊车的。", "work.role", "开吊车"),
        ("我的工作就是开吊车。", "work.role", "开吊车"),
        ("我送货开的是江淮。", "tool.car", "江淮"),
    ],
)
def test_one_thing_has_one_key_however_it_is_put(said: str, key: str, value: str) -> None:
    """A trade and a car are read as such in a cleft sentence too."""
    (found,) = claims(said)
    assert (found.key, found.value) == (key, value)


def test_a_plan_may_put_its_verb_last() -> None:
    """明年开春我就回老家种茶去 is a plan, though 去 ends it."""
    (plan,) = claims("明年开春我就回老家种茶去。")
    assert (plan.kind, plan.assertion) == (Kind.PLAN, Assertion.PLANNED)


def test_last_week_is_no_worship() -> None:
    """上礼拜 is a time, 做礼拜 is a creed."""
    assert all(each.sensitivity is None for each in claims("我上礼拜换了单位，在一家木器厂上班。"))
    assert any(each.sensitivity == "religion" for each in claims("我每周去做礼拜。"))
