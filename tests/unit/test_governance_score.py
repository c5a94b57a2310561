from pathlib import Path

import pytest

from ops.bench.governance.scenario import Compiled, Hit, Remembered, Result, Scenario, read_scenarios
from ops.bench.governance.score import Totals, contains, score, score_all
from ops.bench.governance.swap import changed, swapped

GOLDEN = Path(__file__).parent.parent / "golden" / "governance"


def scenario(**expect: object) -> Scenario:
    message = {"id": "m1", "role": "user", "origin": "user", "content": "我住在苏州 and like tea"}
    turn = {
        "id": "t1",
        "session": "s1",
        "at": "2026-08-01T09:00:00+08:00",
        "status": "completed",
        "messages": [message],
    }
    told = {"id": "zh-edge-001", "lang": "zh", "area": "edge", "why": "a trap", "turns": [turn], "expect": expect}
    return Scenario.model_validate(told)


def result(*contents: str, status: str = "active", reason: str | None = None, **more: object) -> Result:
    memories = tuple(
        Remembered(kind="fact", content=content, value=None, status=status, reason=reason) for content in contents
    )
    return Result(id="zh-edge-001", memories=memories, contexts=()).model_copy(update=more)


@pytest.mark.parametrize(
    ("text", "needle", "there"),
    [
        ("按 24 小时制", "24小时", True),
        ("ＡＢＣ", "abc", True),
        ("it’s “fine”", 'it\'s "fine"', True),
        ("a\u200bb", "ab", True),
        ("new york", "newyork", False),
        ("苏州", "杭州", False),
    ],
)
def test_words_are_found_whatever_their_form(*, text: str, needle: str, there: bool) -> None:
    """Width, case, quotes, invisible characters do not matter; blanks do in Latin words."""
    assert contains(text, needle) is there


@pytest.mark.parametrize(
    ("expect", "kept", "passes"),
    [
        ({"active": [{"any": ["苏州", "Suzhou"]}]}, result("住在苏州"), True),
        ({"active": [{"any": ["苏州"], "kind": ["plan"]}]}, result("住在苏州"), False),
        ({"active": [{"any": ["苏州"], "none": ["不"]}]}, result("不住在苏州"), False),
        ({"inactive": [{"any": ["苏州"]}]}, result("住在苏州"), False),
        ({"inactive": [{"any": ["苏州"]}]}, result("住在苏州", status="held"), True),
        (
            {"held": [{"any": ["苏州"], "reason": "sensitivity"}]},
            result("住在苏州", status="held", reason="conflict"),
            False,
        ),
        ({"max_active": 1}, result("a", "b"), False),
        ({"never_stored": ["4111 1111"]}, result("it is 4111-1111"), False),
        ({"never_stored": ["pw"]}, result(raw_dump_hits=(Hit(needle="pw", store="redis"),)), False),
        ({"context": [{"query": "q", "role": "chat", "must": ["tea"]}]}, result(), False),
        (
            {"context": [{"query": "q", "role": "chat", "must": ["tea"], "must_not": ["苏州"]}]},
            result(contexts=(Compiled(query="q", role="chat", text="likes tea"),)),
            True,
        ),
    ],
)
def test_a_label_is_met_or_not(expect: dict[str, object], kept: Result, passes: bool) -> None:
    """Each kind of label has a case in which it holds and one in which it does not."""
    assert score(scenario(**expect), kept).passed is passes


def test_a_scenario_without_a_result_fails_all_it_asks() -> None:
    """Nothing is passed by not running."""
    outcome = score(scenario(inactive=[{"any": ["苏州"]}], max_active=0), None)
    assert [check.held for check in outcome.checks] == [False, False]


def test_the_rates_of_who_stores_nothing() -> None:
    """Storing nothing writes nothing wrong and misses every write: no rate says anything alone."""
    both = scenario(active=[{"any": ["苏州"]}], inactive=[{"any": ["杭州"]}])
    rates = Totals(score_all([both], [result()])).rates()
    assert (rates["missed_write"], rates["wrong_write_scenarios"], rates["scenario_pass"]) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("name", ["open.jsonl", "heldout.jsonl"])
def test_the_scenarios_in_the_tree_can_be_read_and_swapped(name: str) -> None:
    """Every line is a scenario; a swap is the same for the same seed, keeps ids and changes what is said."""
    scenarios = read_scenarios(GOLDEN / name)
    other = swapped(scenarios, 3)
    assert other == swapped(scenarios, 3)
    assert [each.id for each in other] == [each.id for each in scenarios]
    assert changed(scenarios, other) > len(scenarios) // 10
