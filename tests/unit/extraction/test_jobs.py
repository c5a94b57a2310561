"""With what the person does a job: the job makes the key, whatever the product is called."""

import pytest

from tests.unit.extraction.make import claims


@pytest.mark.parametrize(
    ("said", "key", "value"),
    [
        ("我写代码用的是 Quillpad。", "tool.editor", "Quillpad"),
        ("我换浏览器了，现在浏览器是 Otter。", "tool.browser", "Otter"),
        ("I keep all my recipes and notes; my notes live in Pebble.", "tool.notes", "Pebble"),
        ("I use Larkspur for my budget.", "tool.bookkeeping", "Larkspur"),
        ("My calendar app is now Sundial.", "tool.calendar", "Sundial"),
        ("We track our beehives in Combwatch.", "beehive.tool", "Combwatch"),
    ],
)
def test_an_unknown_product_is_filed_under_its_job(said: str, key: str, value: str) -> None:
    """A name that no list holds is kept under the key of the job it does."""
    assert [(each.key, each.value) for each in claims(said)] == [(key, value)]


@pytest.mark.parametrize(
    ("said", "old", "new"),
    [
        ("I ditched Pebble, everything is in Flint now.", "Pebble", "Flint"),
        ("Pebble 卸了，改用 Flint 了。", "Pebble", "Flint"),
    ],
)
def test_a_swap_says_whose_place_is_taken(said: str, old: str, new: str) -> None:
    """The product that gave way is named, so that the memory of it is found under any key."""
    assert [(each.value, each.replaces) for each in claims(said)] == [(new, old)]


@pytest.mark.parametrize(
    "said",
    [
        "Please use Flint for this chart.",
        "My keys are in the drawer.",
        "我用手机号注册的。",
        "We keep our dogs in order.",
    ],
)
def test_an_errand_or_a_place_is_no_tool(said: str) -> None:
    """What is asked for once, and what lies somewhere, says nothing of tools."""
    assert not [
        each for each in claims(said) if (each.key or "").startswith("tool") or (each.key or "").endswith("tool")
    ]
