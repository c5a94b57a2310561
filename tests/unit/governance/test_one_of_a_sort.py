"""One favourite of a sort, and the same value in the other language."""

import pytest

from tests.unit.governance.make import Person


@pytest.mark.parametrize(
    "said",
    [
        ("我最喜欢的颜色是蓝色", "我最喜欢的颜色是绿色"),
        ("My favourite colour is blue. My favourite colour is green.",),
        ("我最喜欢的颜色是蓝色", "My favorite colour is green"),
    ],
)
def test_of_favourites_of_one_sort_the_last_stands(said: tuple[str, ...]) -> None:
    """There is one favourite of a sort, also where two are named in one turn (R20)."""
    person = Person()
    person.says(*said)
    (stands,) = person.living
    assert stands.claim.value in {"绿色", "green"}
    assert len(person.replaced) == 1


def test_favourites_of_two_sorts_and_what_is_liked_besides_stand_beside_each_other() -> None:
    """A favourite fruit says nothing of dishes, and liking another thing takes no favourite away."""
    person = Person()
    person.says("My favourite dish is ramen", "My favourite fruit is mango", "I love laksa")
    assert len(person.living) == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Beijing.", "我住在北京。"),
        ("我是素食者。", "I'm vegetarian."),
        ("我是医生。", "I'm a doctor."),
        ("我养了一只猫。", "I have a cat."),
        ("I like hiking.", "我喜欢爬山。"),
        ("我最喜欢的颜色是蓝色", "My favourite colour is blue"),
    ],
)
def test_a_common_value_is_the_same_in_the_other_language(one: str, other: str) -> None:
    """Saying it again in the other language reinforces: the values have a name in both (`synonyms.yaml`)."""
    person = Person()
    person.says(one, other)
    assert len(person.living) == 1
    assert person.replaced == []
    assert person.rulings[-1].outcome == "reinforce"


@pytest.mark.parametrize(("one", "other"), [("我喜欢红茶", "I like green tea"), ("我养了一只猫", "I have a dog")])
def test_another_value_stays_another(one: str, other: str) -> None:
    """Names that share a word are told apart."""
    person = Person()
    person.says(one, other)
    assert len(person.living) == 2
