"""The fields of a profile: what is declared, who sees a value, until when it is kept (R16)."""

from datetime import UTC, datetime, timedelta

import pytest

from events.model import Kind
from services.extraction.vocabulary import vocabulary
from services.governance.policy import load_policy, shipped_policy
from services.profile.fields import ProfileField, classified, shipped_fields, unseen
from tests.unit.governance.make import a_candidate, a_message

SAID = datetime(2026, 7, 10, 12, tzinfo=UTC)


def a_field(**changes: object) -> ProfileField:
    values: dict[str, object] = {
        "purpose": {"zh": "称呼", "en": "to address"},
        "visible_to": ["chat"],
        "editable": "person",
    }
    return ProfileField.model_validate({**values, **changes})


def test_every_key_of_the_profile_has_a_field() -> None:
    """What the extractor files as profile has a purpose, or it would never be stored."""
    keys = {key for key, entry in vocabulary().items() if entry.kind is Kind.PROFILE}
    assert keys <= shipped_fields().keys()


def test_a_field_without_a_purpose_is_no_field() -> None:
    """Neither language may be left out."""
    with pytest.raises(ValueError, match="purpose"):
        a_field(purpose={"zh": "", "en": ""})


def test_a_value_is_closed_from_the_moment_its_retention_is_over() -> None:
    """Before that agents read it; without a retention they always do; without a role they never do."""
    field = a_field(retention_days=30)
    assert field.closed(SAID, SAID + timedelta(days=30, seconds=-1)) is None
    assert field.closed(SAID, SAID + timedelta(days=30)) == "retention_over"
    assert a_field().closed(SAID, SAID + timedelta(days=9999)) is None
    assert a_field(visible_to=[]).closed(SAID, SAID) == "person_only"


def test_a_role_does_not_see_the_fields_of_others() -> None:
    """A field that names other roles is none of its business."""
    fields = {"identity.name": a_field(), "profile.measure": a_field(visible_to=["planner"])}
    assert unseen(fields, "chat") == ("profile.measure",)
    assert unseen(fields, "search") == ("identity.name", "profile.measure")


def test_a_candidate_gets_the_class_of_its_field() -> None:
    """A class that the words themselves have outranks that of the field."""
    fields = {"identity.birthday": a_field(sensitivity="family")}
    message = a_message("我的生日是五月三日")
    assert classified(a_candidate(message, key="identity.birthday"), fields).sensitivity == "family"
    assert (
        classified(a_candidate(message, key="identity.birthday", sensitivity="health"), fields).sensitivity == "health"
    )
    assert classified(a_candidate(message, key="identity.name"), fields).sensitivity is None


def test_the_fields_are_part_of_the_policy() -> None:
    """Another purpose is another policy, and a class that nothing waits for is refused."""
    policy = shipped_policy()
    other = policy.model_copy(update={"profile": {**policy.profile, "identity.name": a_field()}})
    assert "称呼本人" in policy.canonical
    assert load_policy().digest == policy.digest != type(policy).model_validate(other.model_dump()).digest
    with pytest.raises(ValueError, match="astrology"):
        type(policy).model_validate({**policy.model_dump(), "profile": {"sign": a_field(sensitivity="astrology")}})
