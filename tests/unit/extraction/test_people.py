"""Who somebody is to the person."""

import pytest

from tests.unit.extraction.make import claims


@pytest.mark.parametrize(
    ("said", "key", "value"),
    [
        ("我房东姓沙。", "房东.name", "沙"),
        ("我老板现在是滕女士。", "老板.name", "滕女士"),
        ("我们组长换成 Mia 了。", "组长.name", "Mia"),
        ("My line manager is now Kofi.", "line_manager.name", "Kofi"),
        ("My vet is called Ama Boateng.", "vet.name", "Ama Boateng"),
    ],
)
def test_people_are_known_by_the_part_they_play(said: str, key: str, value: str) -> None:
    """The part is the key, so that a successor replaces them."""
    (claim,) = claims(said)
    assert (claim.key, claim.value) == (key, value)


@pytest.mark.parametrize("said", ["My boss is annoying.", "我老板是个急性子。", "My vet is on holiday."])
def test_what_somebody_is_like_names_nobody(said: str) -> None:
    """Only a name fills such a key."""
    assert not claims(said)
