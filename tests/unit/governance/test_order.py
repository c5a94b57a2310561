"""The law of conflict: authority and the person's own time decide what stands, never the order of arrival (R20)."""

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from events.model import Candidate, Kind, Origin, Turn
from services.governance.judge import Writing, judge
from tests.unit.governance.make import NOON, Person, a_candidate, a_memory, a_message, a_turn, a_view

CITIES = ("苏州", "宁波", "Leeds", "York")
OWNERS = {"membership.tier": "crm"}
Said = tuple[int, Candidate, Turn]


def stated(minute: int, value: str, *, system: bool = False, key: str = "home.city", **changes: object) -> Said:
    """Make a statement of that minute, by the person or by the system that owns the key."""
    message = a_message(value, Origin.SYSTEM if system else Origin.USER)
    claim = {"kind": Kind.FACT, "key": key, "value": value, "content": value, "confidence": 0.95, "importance": 0.9}
    candidate = a_candidate(message, **{**claim, "said_by": "crm" if system else None, **changes})
    return minute, candidate, a_turn(message, at=NOON + timedelta(minutes=minute))


def left(said: Sequence[Said]) -> list[tuple[str, bool]]:
    """Return what is current after statements that arrive in this order."""
    person = Person()
    for _, candidate, turn in said:
        view = a_view(turn, *person.living).model_copy(update={"owners": OWNERS})
        ruling = judge(candidate, view)
        if ruling.outcome in {Writing.ACCEPT, Writing.SUPERSEDE}:
            gone = ruling.target.memory_id if ruling.target else None
            person.living = [each for each in person.living if each.memory_id != gone]
            person.living.append(a_memory(candidate, turn.occurred_at))
        elif ruling.outcome is Writing.REINFORCE and ruling.target:
            same = next(each for each in person.living if each.memory_id == ruling.target.memory_id)
            again = same.model_copy(update={"occurred_at": max(same.occurred_at, turn.occurred_at)})
            person.living = [again if each is same else each for each in person.living]
    return sorted((each.claim.value, each.claim.positive) for each in person.living)


@given(values=st.lists(st.sampled_from(CITIES), min_size=1, max_size=7), data=st.data())
def test_of_one_key_the_newest_stands_in_every_order(values: list[str], data: st.DataObject) -> None:
    """Statements under a key of one value, of different times: what was said last is current, and nothing else is."""
    said = [stated(minute, value) for minute, value in enumerate(values)]
    assert left(data.draw(st.permutations(said))) == [(values[-1], True)]


@given(
    turns=st.lists(st.tuples(st.booleans(), st.sampled_from(("gold", "silver"))), min_size=1, max_size=7),
    data=st.data(),
)
def test_of_an_owned_key_the_owner_stands_in_every_order(turns: list[tuple[bool, str]], data: st.DataObject) -> None:
    """Whatever the person says of it, the newest statement of the system that owns the key is current."""
    said = [stated(minute, value, system=system, key="membership.tier") for minute, (system, value) in enumerate(turns)]
    owned = [value for system, value in turns if system]
    assert left(data.draw(st.permutations(said))) == [(value, True) for value in owned[-1:]]


@given(
    attitudes=st.lists(st.tuples(st.sampled_from(("tea", "chess")), st.booleans()), min_size=1, max_size=7),
    data=st.data(),
)
def test_of_a_liking_the_newest_attitude_stands_in_every_order(
    attitudes: list[tuple[str, bool]], data: st.DataObject
) -> None:
    """Several things can be liked at once; of each its newest polarity is current."""
    said = [
        stated(minute, thing, key="taste.thing", kind=Kind.PREFERENCE, multi_valued=True, positive=positive)
        for minute, (thing, positive) in enumerate(attitudes)
    ]
    assert left(data.draw(st.permutations(said))) == sorted(dict(attitudes).items())
