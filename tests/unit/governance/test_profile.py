"""The gates that ask after the fields of the profile (R16): what for, and who changes it."""

from datetime import timedelta
from typing import Any

import pytest

from events.model import Kind, Outcome
from services.governance.judge import Ruling, View, Writing, judge
from services.governance.policy import Policy
from services.profile.fields import ProfileField
from tests.unit.governance.make import NOON, POLICY, Person, a_candidate, a_memory, a_message, a_turn, a_view

SYSTEMS_OWN = ProfileField.model_validate(
    {"purpose": {"zh": "会员折扣", "en": "the member's discount"}, "visible_to": ["chat"], "editable": "system"}
)


def said(text: str, *living: str, policy: Policy = POLICY, **claim: object) -> Ruling:
    """Judge what is said of a key of the profile a day after it was said in other words."""
    message, turn = a_message(text), a_turn(a_message(text), at=NOON + timedelta(days=1))
    turn = turn.model_copy(update={"messages": (message,)})
    values = {"kind": Kind.PROFILE, "importance": 0.7, "confidence": 0.95, "content": text, **claim}
    before = a_message("…")
    memories = [a_memory(a_candidate(before, **{**values, "value": value, "content": value})) for value in living]
    view = a_view(turn, *memories)
    view = View.model_validate({**dict(view), "policy": policy})
    return judge(a_candidate(message, **values), view)


@pytest.mark.parametrize("text", ["我的幸运数字是七", "My lucky number is seven"])
@pytest.mark.parametrize("key", [None, "profile.lucky"])
def test_without_a_purpose_nothing_is_stored(text: str, key: str | None) -> None:
    """Of the profile what no field is declared for is rejected, also when it was asked for."""
    ruling = said(text, key=key, value=text, explicit=True)
    assert (ruling.outcome, ruling.gate, ruling.reason) == (Outcome.REJECTED, "purpose", "no_purpose")


@pytest.mark.parametrize(
    ("text", "was", "now"), [("生日五月三日", "五月四日", "五月三日"), ("born on 3 May", "4 May", "3 May")]
)
def test_a_change_of_a_field_waits_for_the_person(text: str, was: str, now: str) -> None:
    """A first value is written; another one is held, unless it is a correction or was asked to be remembered."""
    birthday: dict[str, Any] = {"key": "identity.birthday", "value": now}
    assert said(text, **birthday).outcome is Writing.ACCEPT
    ruling = said(text, was, **birthday)
    assert (ruling.outcome, ruling.gate, ruling.reason) == (Outcome.HELD, "editability", "change_unconfirmed")
    assert said(text, now, **birthday).outcome is Writing.REINFORCE
    assert said(text, was, **birthday, correction=True).outcome is Writing.SUPERSEDE
    assert said(text, was, **birthday, explicit=True).outcome is Writing.SUPERSEDE


@pytest.mark.parametrize("text", ["我是金卡会员", "I am a gold member"])
def test_a_field_of_a_system_is_not_the_persons_to_change(text: str) -> None:
    """What the person says of it is held, also the first time and on purpose."""
    policy = POLICY.model_copy(update={"profile": {**POLICY.profile, "membership.tier": SYSTEMS_OWN}})
    ruling = said(text, key="membership.tier", value="gold", explicit=True, policy=policy)
    assert (ruling.outcome, ruling.reason) == (Outcome.HELD, "not_editable")


@pytest.mark.parametrize(
    ("was", "now"), [("我叫林小满。", "我叫林大满。"), ("My name is Ada Voss.", "My name is Ada Stone.")]
)
def test_a_field_of_the_person_changes_as_they_say(was: str, now: str) -> None:
    """The name that was said last stands."""
    person = Person()
    person.says(was, now)
    assert [ruling.outcome for ruling in person.rulings] == [Writing.ACCEPT, Writing.SUPERSEDE]
