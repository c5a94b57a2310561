"""The same scenarios with other names, values and topics: what passes with one set of words only was learnt."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import yaml

from ops.bench.governance.scenario import Scenario

_CLASSES = Path(__file__).with_suffix(".yaml")


def swapped(scenarios: Sequence[Scenario], seed: int) -> list[Scenario]:
    """Exchange words of one class for each other, in what is said and in the labels; those left as they were stay too.

    Args:
        scenarios: what to change; ids stay.
        seed: chooses the words; each scenario draws its own.
    """
    classes: dict[str, list[str]] = yaml.safe_load(_CLASSES.read_text("utf-8"))
    return [_swapped(scenario, classes, Random(f"{seed}/{scenario.id}")) for scenario in scenarios]  # noqa: S311 - reproducible


def changed(before: Sequence[Scenario], after: Sequence[Scenario]) -> int:
    """Count the scenarios that a swap changed."""
    return sum(one != other for one, other in zip(before, after, strict=True))


def _swapped(scenario: Scenario, classes: Mapping[str, Sequence[str]], dice: Random) -> Scenario:
    said = " ".join(message.content for turn in scenario.turns for message in turn.messages)
    exchange: dict[str, str] = {}
    for members in classes.values():
        present = [word for word in members if _pattern([word]).search(said)]
        others = [word for word in members if word not in present]
        exchange |= dict(zip(present, dice.sample(others, min(len(present), len(others))), strict=False))
    if not exchange:
        return scenario
    pattern = _pattern(list(exchange))
    document = pattern.sub(lambda match: exchange[match.group()], scenario.model_dump_json())
    return Scenario.model_validate_json(document).model_copy(update={"id": scenario.id})


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Match words; Latin ones and numbers only whole."""
    longest = sorted(words, key=len, reverse=True)
    return re.compile(
        "|".join(rf"(?<![A-Za-z0-9]){re.escape(w)}(?![A-Za-z0-9])" if w.isascii() else re.escape(w) for w in longest)
    )
