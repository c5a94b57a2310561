"""`cenotaph eval retrieval` on a tiny pool: real import, real stores, the product's own recall."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from ops.bench.retrieval.evaluation import GOVERNED, evaluate
from ops.bench.retrieval.everything import IndexAll
from ops.bench.retrieval.play import AS_SERVED, WAYS
from ops.bench.retrieval.pool import Item, Pool, Question

START = datetime(2026, 8, 1, tzinfo=UTC)
SAID = ("今天下雨了", "请记住：我喜欢北京烤鸭。", "the printer on the third floor is broken", "那家店叫什么来着")
POOL = Pool(
    "tiny",
    tuple(Item(f"i{at}", "s1", START + timedelta(minutes=at), text, "小明") for at, text in enumerate(SAID)),
    (
        Question("喜欢吃烤鸭吗？", frozenset({"i1"}), "food", 0),
        Question("Which printer is broken?", frozenset({"i2"}), "work", 0),
    ),
)


def test_finding_and_keeping_are_measured_apart() -> None:
    """Everything imported is found; through extractor and gates only what was worth keeping is."""
    steps: Counter[str] = Counter()

    def starting(policy: str) -> Callable[[], None]:
        return lambda: steps.update([policy])

    evaluation = evaluate("tiny", "tune", [POOL], governed=True, vectors=None, starting=starting)
    told = json.loads(evaluation.report())
    assert steps == {IndexAll.name: 6, GOVERNED: 6}
    assert (told["set"], told["half"], told["pools"], told["conversations"]) == ("tiny", "tune", ["tiny"], [0])
    every, kept = (told["policies"][policy]["recall"] for policy in (IndexAll.name, GOVERNED))
    assert set(every["all"]) == {*WAYS, AS_SERVED}
    assert every["all"]["hybrid + neighbours"]["@5"]["mean"] == 1
    assert kept["food"]["hybrid"]["@5"]["mean"] == 1
    assert kept["work"]["hybrid"]["@5"]["mean"] == 0
