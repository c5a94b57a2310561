"""Playing the conversation: each turn is handed over and followed until it was considered."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from rich.text import Text

from cenotaph import answers
from cenotaph.client import AsyncCenotaph
from events.errors import CenotaphError
from ops.cli.demo.expect import Expectation, Observed, met, wrongly_kept
from ops.cli.demo.stage import Stage
from ops.cli.ingest import Line, line_of
from ops.cli.memory import line_of as verdict_line
from ops.cli.output import out, plain

PERSON = "shen"
# What this build's extractor meets of the reader's list (69 of 75), less a margin; the list says what is wanted.
LEAST_MET = 0.85
_CONSIDERED_S = 30.0
_POLL_S = 0.02
_PAGE = 100
_WIDTH = 60
_KEPT = frozenset({"accepted", "reinforced", "held"})


@dataclass
class Played:
    """What became of the conversation."""

    outcomes: dict[str, answers.Outcome] = field(default_factory=dict)
    redacted: Counter[str] = field(default_factory=Counter)


async def play(person: AsyncCenotaph, raw_lines: Sequence[bytes], stage: Stage) -> Played:
    """Play every session and show what was kept, held and refused."""
    lines = [line_of(number, raw, PERSON) for number, raw in enumerate(raw_lines, 1)]
    played = Played()
    for session, turns in groupby(lines, lambda line: line.turn.session_id):
        own = list(turns)
        stage.say(f"\n[bold]{session}[/]  [dim]{own[0].turn.occurred_at:%Y-%m-%d}, {len(own)} turns[/]")
        for line in own:
            await _turn(person, line, stage, played)
    stage.check(
        f"all {len(lines)} turns were stored and considered, each once",
        len(played.outcomes) == len(lines) and all(each.state == "considered" for each in played.outcomes.values()),
    )
    stage.check(
        f"secrets were replaced before anything was stored: {dict(played.redacted)}", sum(played.redacted.values()) > 0
    )
    return played


async def _turn(person: AsyncCenotaph, line: Line, stage: Stage, played: Played) -> None:
    stored = await person.finalize(line.turn)
    played.redacted.update(stored.redacted)
    outcome = played.outcomes[line.turn.turn_id] = await _considered(person, line.turn.turn_id)
    said = next((each["content"] for each in line.turn.messages if each["role"] == "user"), "")
    shown = Text.assemble((f"{line.turn.turn_id} ", "dim"), plain(said.replace("\n", " ")))
    shown.truncate(min(_WIDTH, out.width), overflow="ellipsis")
    if not outcome.verdicts and not stored.redacted:
        shown.append("  –", style="dim")
    stage.say(shown)
    for name, count in stored.redacted.items():
        stage.say(Text.assemble("    ", ("redacted", "red"), f" {count} × {name}", ("  before storing", "dim")))
    for verdict in outcome.verdicts:
        content = (await person.memory(verdict.memory_id)).content if verdict.outcome in _KEPT else None
        stage.say(Text("    ").append_text(verdict_line(verdict, content, ids=False)))


async def _considered(person: AsyncCenotaph, turn_id: str) -> answers.Outcome:
    deadline = asyncio.get_running_loop().time() + _CONSIDERED_S
    while (outcome := await person.outcome(turn_id)).state != "considered":
        if asyncio.get_running_loop().time() > deadline:
            raise CenotaphError(f"turn {turn_id} was not considered within {_CONSIDERED_S:.0f} s")
        await asyncio.sleep(_POLL_S)
    return outcome


async def compare(person: AsyncCenotaph, played: Played, wanted: Sequence[Expectation], stage: Stage) -> Observed:
    """Compare what was kept with what a careful reader expects; nothing that must not be kept may be."""
    memories: list[answers.Memory] = []
    for status in ("active", "held", "superseded", "in_conflict"):
        page = await person.memories(status, limit=_PAGE)
        memories += page.memories
        while page.next_cursor is not None:
            page = await person.memories(status, limit=_PAGE, cursor=page.next_cursor)
            memories += page.memories
    seen = Observed(played.outcomes, memories)
    missed = [each for each in wanted if not met(each, seen)]
    for each in missed:
        stage.say(Text(f"  not as expected: {each.turn_id} {each.expect} {' / '.join(each.words)}", style="yellow"))
    count = len(wanted) - len(missed)
    stage.check(
        f"{count} of {len(wanted)} expectations of a careful reader were met (at least {LEAST_MET:.0%} are asked for)",
        count >= LEAST_MET * len(wanted),
    )
    wrong = [each for each in wanted if wrongly_kept(each, seen)]
    for each in wrong:
        stage.say(Text(f"  wrongly kept: {each.turn_id} {each.expect} {' / '.join(each.words)}", style="red"))
    stage.check("no small talk, no others' words, no secret, nothing “not to remember” is an active memory", not wrong)
    return seen
