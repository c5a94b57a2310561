"""What is judged by example, where no rule reads a sentence."""

import numpy as np
import pytest

from events.model import Kind
from projections.embedding import Embedder
from services.extraction.exemplars import Exemplars, Form, Sense, sense_of, shipped
from services.extraction.extract import extract
from tests.unit.extraction.make import a_turn, claims


@pytest.fixture(scope="module")
def sense() -> Sense:
    """Judge by the shipped examples."""
    found = sense_of(Embedder(), shipped())
    assert found is not None, "ops/bench/exemplars.py must be run for this model"
    return found


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Neither oysters nor mussels for me.", Kind.PREFERENCE),
        ("除了周一，店里哪天都收快递。", Kind.FACT),
        ("In the Magpie repository every pull request needs two reviews.", Kind.FACT),
        ("我们 repo 的 main branch 每晚自动 build。", Kind.FACT),
    ],
)
def test_what_no_rule_reads_is_kept_where_it_is_like_what_was_kept(sense: Sense, said: str, kind: Kind) -> None:
    """Statements and wishes in no known wording become candidates, whole and without a key."""
    assert not claims(said)
    (found,) = extract(a_turn(said), sense).candidates
    assert (found.kind, found.key, found.explicit) == (kind, None, False)
    (pointer,) = found.evidence
    assert said[pointer.start : pointer.end] == said.rstrip(".。")


@pytest.mark.parametrize(
    "said",
    [
        "把第三段挪到最后。",
        "Run the linter once more.",
        "Neither oysters nor mussels for me, just this once.",
        "要是我在桂林，除了周一哪天都收快递。",
        "My aunt's rule: neither oysters nor mussels.",
        "Is it true that neither oysters nor mussels keep?",
        "这话别记：除了周一，店里哪天都收快递。",
    ],
)
def test_what_passes_is_asked_or_is_not_to_be_kept_stays_out(sense: Sense, said: str) -> None:
    """Orders, one-offs, suppositions, others, questions and what is not to be remembered are never judged worth it."""
    assert not extract(a_turn(said), sense).candidates


def test_examples_of_another_model_judge_nothing() -> None:
    """Vectors of two models never mix: without examples of its own model a sentence is not judged."""
    other = Exemplars("another", "0", np.zeros((1, 384), np.float32), np.zeros((1, 2), np.float32), 1.0, 0.5)
    assert sense_of(Embedder(), other) is None


@pytest.mark.parametrize("said", ["报价单上的价要不含税的。", "再说一遍，报价单上的价要不含税的。"])
def test_a_wish_judged_by_example_is_compared_by_what_it_rules(said: str) -> None:
    """A wish that rules one respect of one thing has its key, like any other wish that does."""

    def wish(text: str, form: Form = "stated") -> Kind | None:
        del text
        return None if form == "lasting" else Kind.PREFERENCE

    (found,) = extract(a_turn(said), wish).candidates
    (other,) = claims("以后报价单都写不含税价。")
    assert (found.key, found.value) == (other.key, other.value)
