"""The write path against its labels: a seeded part of them always, all of them in the long run."""

from pathlib import Path

import pytest

from ops.bench.governance.evaluation import EVERY_GATE, evaluate
from ops.bench.governance.scenario import Scenario, read_scenarios, subset
from ops.bench.governance.score import Totals
from ops.bench.governance.swap import changed, swapped

GOLDEN = Path(__file__).parent.parent / "golden" / "governance"


def rates(scenarios: list[Scenario]) -> dict[str, float]:
    outcomes = evaluate(scenarios, None, parallel=8).runs[EVERY_GATE]
    return {name: rate for name, rate in Totals(outcomes).rates().items() if rate is not None}


def test_a_part_of_the_scenarios_passes() -> None:
    """A seeded tenth of the known and of the unknown ones: nearly all pass, and nothing secret or forgotten leaks."""
    chosen = subset(read_scenarios(GOLDEN / "open.jsonl"), 14, 7) + subset(
        read_scenarios(GOLDEN / "heldout.jsonl"), 6, 7
    )
    found = rates(chosen)
    assert found["scenario_pass"] >= 0.85
    assert found.get("secret_leak", 0.0) == 0.0
    assert found.get("context_leak", 0.0) == 0.0


@pytest.mark.long
def test_the_open_scenarios_pass() -> None:
    """The targets on what was known: few missed and wrong writes, no leak."""
    found = rates(read_scenarios(GOLDEN / "open.jsonl"))
    assert found["scenario_pass"] >= 0.95
    assert found["missed_write"] <= 0.05
    assert found["wrong_write_scenarios"] <= 0.05
    assert found["noise_scenarios"] <= 0.03
    assert found["secret_leak"] == found["context_leak"] == 0.0


@pytest.mark.long
def test_the_held_out_scenarios_pass() -> None:
    """What was not known while the rules were written passes for the most part, and leaks nothing."""
    found = rates(read_scenarios(GOLDEN / "heldout.jsonl"))
    assert found["scenario_pass"] >= 0.8
    assert found["secret_leak"] == found["context_leak"] == 0.0


@pytest.mark.long
def test_other_words_change_little() -> None:
    """Names, values and topics swapped: no secret leaks, and most of what passed still does."""
    before = read_scenarios(GOLDEN / "open.jsonl")
    after = swapped(before, 1)
    assert changed(before, after) > 30
    found = rates(after)
    assert found["scenario_pass"] >= 0.85
    assert found["secret_leak"] == found["context_leak"] == 0.0
