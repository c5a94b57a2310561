"""Scoring results against labels: each assertion passes or fails by itself, a scenario if all of its own do. Pure."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ops.bench.governance.scenario import Remembered, Result, Rule, Scenario

KINDS = ("active", "inactive", "held", "superseded", "never_stored", "max_active", "must", "must_not")
_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"'})
_LOOSE = re.compile(r"[0-9\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_SEPARATORS = re.compile(r"[\s\-\u2010-\u2015]")


def folded(text: str) -> str:
    """Fold what does not matter: case, width, curly quotes, invisible characters, runs of blanks."""
    shown = unicodedata.normalize("NFKC", text).casefold().translate(_QUOTES)
    return re.sub(r"\s+", " ", "".join(char for char in shown if unicodedata.category(char) != "Cf"))


def contains(text: str, needle: str) -> bool:
    """Say whether a text holds a string; blanks count in Latin words only."""
    inside, wanted = folded(text), folded(needle)
    return wanted in inside or (
        _LOOSE.search(wanted) is not None and wanted.replace(" ", "") in inside.replace(" ", "")
    )


def squeezed(text: str) -> str:
    """Fold further for what must never be stored: separators do not make a number another number."""
    return _SEPARATORS.sub("", folded(text))


def fits(rule: Rule, memory: Remembered) -> bool:
    """Say whether a memory fits a rule."""
    text = "\n".join(part for part in (memory.content, memory.value) if part is not None)
    return (
        (not rule.kind or memory.kind in rule.kind)
        and (rule.reason is None or memory.reason == rule.reason)
        and any(contains(text, word) for word in rule.any)
        and not any(contains(text, word) for word in rule.none)
    )


@dataclass(frozen=True, slots=True)
class Check:
    """One assertion: its kind, whether it held, and what it asked for."""

    kind: str
    held: bool
    label: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one scenario went. `wrong` counts active memories that must not be; `guarded`: the labels could tell."""

    scenario: Scenario
    checks: tuple[Check, ...]
    active: int
    wrong: int
    guarded: bool

    @property
    def passed(self) -> bool:
        """Whether every assertion held."""
        return all(check.held for check in self.checks)


def score(scenario: Scenario, result: Result | None) -> Outcome:
    """Score one scenario; without a result every assertion fails."""
    there = result is not None
    result = result or Result(id=scenario.id, memories=(), contexts=())
    expect = scenario.expect
    by_status: dict[str, list[Remembered]] = defaultdict(list)
    for memory in result.memories:
        by_status[memory.status].append(memory)
    active = by_status["active"]
    checks = [
        Check(status, there and any(fits(rule, memory) for memory in by_status[status]), _label(rule))
        for status in ("active", "held", "superseded")
        for rule in getattr(expect, status)
    ]
    wrong: set[int] = set()
    for rule in expect.inactive:
        hits = {number for number, memory in enumerate(active) if fits(rule, memory)}
        wrong |= hits
        checks.append(Check("inactive", there and not hits, _label(rule)))
    over = 0
    if expect.max_active is not None:
        over = max(0, len(active) - expect.max_active)
        checks.append(Check("max_active", there and not over, f"{len(active)} active, at most {expect.max_active}"))
    checks += [Check("never_stored", there and not _leaked(each, result), each) for each in expect.never_stored]
    checks += _context_checks(scenario, result, there=there)
    guarded = bool(expect.inactive) or expect.max_active is not None
    return Outcome(scenario, tuple(checks), len(active), max(len(wrong), over), guarded)


def _context_checks(scenario: Scenario, result: Result, *, there: bool) -> Iterable[Check]:
    texts = {(each.query, each.role): each.text for each in result.contexts}
    for asked in scenario.expect.context:
        text = texts.get((asked.query, asked.role.value))
        for kind, words, wanted in (("must", asked.must, True), ("must_not", asked.must_not, False)):
            for word in words:
                held = there and text is not None and contains(text, word) is wanted
                yield Check(kind, held, f"{asked.role.value}: {asked.query} -> {word}")


def _leaked(secret: str, result: Result) -> bool:
    needle = squeezed(secret)
    texts = [*(each.model_dump_json() for each in result.memories), *(each.text for each in result.contexts)]
    texts += [hit.needle for hit in result.raw_dump_hits]
    return any(needle in squeezed(text) for text in texts)


def _label(rule: Rule) -> str:
    return rule.model_dump_json(exclude_defaults=True)


# ── totals ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Totals:
    """Sums over outcomes; `held` and `asked` count assertions by kind."""

    outcomes: Sequence[Outcome]
    held: Counter[str] = field(init=False)
    asked: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        checks = [check for outcome in self.outcomes for check in outcome.checks]
        object.__setattr__(self, "asked", Counter(check.kind for check in checks))
        object.__setattr__(self, "held", Counter(check.kind for check in checks if check.held))

    @property
    def passed(self) -> int:
        """How many scenarios passed."""
        return sum(outcome.passed for outcome in self.outcomes)

    @property
    def active(self) -> int:
        """How many memories are active."""
        return sum(outcome.active for outcome in self.outcomes)

    @property
    def wrong(self) -> int:
        """How many active memories must not be."""
        return sum(outcome.wrong for outcome in self.outcomes)

    def rates(self) -> dict[str, float | None]:
        """Return every rate by its name; None where nothing asks for it. Never quote one of them alone."""
        guarded = [outcome for outcome in self.outcomes if outcome.guarded]
        empty = [outcome for outcome in self.outcomes if outcome.scenario.expect.max_active == 0]
        missed = {
            "missed_write": "active",
            "missed_hold": "held",
            "missed_supersede": "superseded",
            "secret_leak": "never_stored",
            "context_miss": "must",
            "context_leak": "must_not",
        }
        return {
            "scenario_pass": _ratio(self.passed, len(self.outcomes)),
            "assertion_pass": _ratio(self.held.total(), self.asked.total()),
            "wrong_write": _ratio(self.wrong, self.active),
            "wrong_write_scenarios": _ratio(sum(outcome.wrong > 0 for outcome in guarded), len(guarded)),
            "noise_scenarios": _ratio(sum(outcome.active > 0 for outcome in empty), len(empty)),
            **{name: _ratio(self.asked[kind] - self.held[kind], self.asked[kind]) for name, kind in missed.items()},
        }


def score_all(scenarios: Iterable[Scenario], results: Iterable[Result]) -> list[Outcome]:
    """Score every scenario."""
    found = {result.id: result for result in results}
    return [score(scenario, found.get(scenario.id)) for scenario in scenarios]


def grouped(outcomes: Iterable[Outcome], by: Callable[[Scenario], str]) -> Mapping[str, list[Outcome]]:
    """Group outcomes by area or language, in the order of first appearance."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[by(outcome.scenario)].append(outcome)
    return groups


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
