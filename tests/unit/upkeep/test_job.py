"""The order in which persons get their turn."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from events.model import Scope
from services.upkeep.job import fair

SCOPES = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 60)), max_size=80)


def scope(tenant: int, subject: int) -> Scope:
    return Scope.model_validate({"tenant_id": UUID(int=tenant), "subject_id": UUID(int=tenant * 1000 + subject)})


@given(SCOPES)
def test_everybody_comes_once_and_no_tenant_waits_for_another(drawn: list[tuple[int, int]]) -> None:
    """At any point no tenant that still waits was served two persons less than another; a tenant keeps its order."""
    asked = [scope(*each) for each in drawn]
    turns = fair(asked)
    assert sorted(turns, key=str) == sorted(set(asked), key=str)
    for tenant in {each.tenant_id for each in asked}:
        own = [each for each in turns if each.tenant_id == tenant]
        assert own == list(dict.fromkeys(each for each in asked if each.tenant_id == tenant))
        for at, each in enumerate(own):
            before = turns[: turns.index(each)]
            assert all(sum(other.tenant_id == rival for other in before) <= at + 1 for rival in {*turns_of(before)})


def turns_of(scopes: list[Scope]) -> list[UUID]:
    return [each.tenant_id for each in scopes]
