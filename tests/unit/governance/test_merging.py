"""Which memories say one thing: the shipped pairs, and what must never agree."""

import pytest

from events.model import Assertion, Kind, MemoryBody
from ops.bench.governance.merging import merged, pairs
from projections.embedding import Embedder
from services.governance.merging import says_the_same
from services.upkeep.rules import shipped_rules


def said(content: str, **other: object) -> MemoryBody:
    claim = {"kind": Kind.FACT, "key": None, "value": content, "content": content, "evidence": ()}
    return MemoryBody.model_validate({"assertion": Assertion.STATED, **claim, **other})


def test_no_pair_is_merged_wrongly_and_some_are_merged() -> None:
    """Of the pairs that nearly say one thing none, though their vectors are as close; of those that do, a third."""
    embedder = Embedder()
    try:
        found = pairs(embedder)
    finally:
        embedder.close()
    chosen = merged(found, shipped_rules().merge.closeness)
    assert [pair.texts for pair in chosen if not pair.same] == []
    assert len(chosen) * 3 > sum(pair.same for pair in found)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("喜欢喝红茶", "喜欢喝绿茶"),
        ("喜欢喝红茶", "不喜欢喝红茶"),
        ("每天跑三公里", "每天跑五公里"),
        ("周五交报告", "每周五交报告"),
        ("张伟管着李娜", "李娜管着张伟"),
        ("Anna manages Berta", "Berta manages Anna"),
        ("runs 3 km a day", "runs 3.5 km a day"),
        ("drinks coffee", "never drinks coffee"),
        ("lives in Utrecht", "lives in Rotterdam"),
    ],
)
def test_another_value_polarity_number_or_order_is_another_claim(one: str, other: str) -> None:
    """Whatever the vectors say."""
    assert not says_the_same(said(one), said(other))


@pytest.mark.parametrize(
    "other", [{"scope": "project:atlas"}, {"positive": False}, {"kind": Kind.GOAL}, {"sensitivity": "health"}]
)
def test_scope_kind_polarity_and_class_must_agree(other: dict[str, object]) -> None:
    """The same words in another scope are another memory."""
    assert not says_the_same(said("drinks green tea"), said("drinks green tea", **other))


def test_a_key_agrees_with_none_but_not_with_another() -> None:
    """The words decide where only one of them has a key."""
    tea = "drinks green tea"
    assert says_the_same(said(tea, key="taste.drink"), said("really drinks green tea"))
    assert not says_the_same(said(tea, key="taste.drink"), said(tea, key="hobby"))
