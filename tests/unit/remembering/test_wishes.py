from datetime import timedelta
from uuid import uuid4

import pytest

from events.model import Evidence, MemoryId, MessageId, StandingWish, SuppressionAsked
from projections.choices import Choices, Consents
from services.remembering.wishes import lifts_of, same_topic, settle_wishes
from tests.unit.forgetting.make import NOW, stored

SAID = MessageId(uuid4())


def a_wish(description: str, *, lifts: bool = False) -> StandingWish:
    return StandingWish(
        description=description, evidence=Evidence(message_id=SAID, start=0, end=len(description)), lifts=lifts
    )


def choices(*descriptions: str, said: bool = True, message: MessageId = SAID) -> Choices:
    """Make what stands: said in a message, or asked for by a call."""
    asked = {}
    for _ in descriptions:
        suppression = MemoryId(uuid4())
        asked[suppression] = stored(
            SuppressionAsked(suppression_id=suppression, cites=(message,) if said else ()), "suppression"
        )
    return Choices(Consents(), dict(zip(asked, descriptions, strict=True)), asked)


@pytest.mark.parametrize("standing", ["我的体重", "my weight"])
def test_what_stands_is_not_asked_for_again(standing: str) -> None:
    """The same wish in the same words, or in the other language, adds nothing; another topic does."""
    found = settle_wishes([a_wish("我的体重"), a_wish("我的收入"), a_wish("我的收入")], choices(standing), NOW)
    assert [wish.description for wish in found.asked] == ["我的收入"]
    assert found.standing == (standing, "我的收入")


@pytest.mark.parametrize("standing", ["我的体重", "my weight"])
def test_what_another_message_said_is_asked_for_again(standing: str) -> None:
    """Forgetting the one message must not lift what the other one still says; a call stands for all of them."""
    wish, other = a_wish("我的体重"), MessageId(uuid4())
    assert settle_wishes([wish], choices(standing, message=other), NOW).asked == (wish,)
    assert settle_wishes([wish], choices(standing, said=False), NOW).asked == ()


@pytest.mark.parametrize("again", ["我的体重", "my weight"])
def test_what_was_said_is_lifted_by_saying_so(again: str) -> None:
    """Lifting names the topic, in either language; the rest stands, and the key of what was said goes with it."""
    known = choices("我的体重", "我的收入")
    found = settle_wishes([a_wish(again, lifts=True)], known, NOW)
    assert found.standing == ("我的收入",)
    (tombstone,) = lifts_of(found.lifted)
    suppression = next(iter(known.suppressions))
    assert tombstone.memories == (suppression,)
    assert tombstone.keys == (known.asked[suppression].parts[0].key_id,)


def test_what_a_call_asked_for_is_not_lifted_by_words() -> None:
    """An agent may hand any words over as the person's: what the person's own credential asked for stays."""
    assert settle_wishes([a_wish("我的体重", lifts=True)], choices("我的体重", said=False), NOW).lifted == ()


def test_an_older_turn_lifts_nothing() -> None:
    """A turn that arrives late does not lift what was asked for after it was said."""
    assert settle_wishes([a_wish("我的体重", lifts=True)], choices("我的体重"), NOW - timedelta(days=1)).lifted == ()


def test_the_last_word_of_a_turn_counts() -> None:
    """What is asked for and taken back in one turn is not asked for; lifted and asked again, it stands."""
    asked = a_wish("my income")
    lifts = a_wish("my income", lifts=True)
    assert settle_wishes([asked, lifts], choices(), NOW).asked == ()
    found = settle_wishes([lifts, asked], choices("my income"), NOW)
    assert found.standing == ("my income",)


@pytest.mark.parametrize(
    ("one", "other"),
    [("我的体重", "我的收入"), ("my income", "my debts"), ("我家人的病", "我的病"), ("my plans", "my goals")],
)
def test_another_topic_is_not_the_same(one: str, other: str) -> None:
    """Two descriptions that share a part of life only are two wishes."""
    assert not same_topic(one, other)
