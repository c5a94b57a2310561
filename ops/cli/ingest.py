"""`cenotaph ingest`: play turns from a file of JSON lines (tests/golden/README.md describes one)."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.table import Table

from cenotaph.calls import Message, Turn
from cenotaph.calls import Origin as NameOfOrigin
from cenotaph.client import AsyncCenotaph
from cenotaph.errors import CenotaphError as ClientError
from events.errors import BadInputError, CenotaphError
from events.model import Origin
from ops import logs
from ops.cli.options import Door
from ops.cli.output import bar, coloured, err, out, print_table
from ops.cli.places import async_door, find_door
from services.wire.limits import Limits
from services.wire.reading import MalformedError, loads, read
from services.wire.turns import TurnIn

_ORIGINS: dict[Origin, NameOfOrigin] = {  # what a turn may name: a business system's statement is no part of one
    Origin.USER: "user",
    Origin.ASSISTANT: "assistant",
    Origin.TOOL: "tool",
    Origin.RETRIEVED: "retrieved",
    Origin.INJECTED: "injected",
    Origin.SUBAGENT: "subagent",
}

_POLL_S = 0.1
_STUCK_S = 120.0
_REFUSED = 500  # below it, the door says that the turn is at fault


@dataclass(frozen=True, slots=True)
class Line:
    """A line that can be sent."""

    number: int
    subject: str
    turn: Turn


@dataclass
class Result:
    """What became of a file."""

    states: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    refused: dict[int, str] = field(default_factory=dict)
    sent: list[Line] = field(default_factory=list)


def ingest(
    file: Annotated[Path, typer.Argument(help="One turn a line.", exists=True, dir_okay=False, metavar="FILE.jsonl")],
    *,
    subject: Annotated[str | None, typer.Option(help="Whose turns, where a line does not say.")] = None,
    concurrency: Annotated[int, typer.Option(help="How many people's turns are sent at once.", min=1)] = 8,
    door: Door,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until every turn was considered.")] = True,
) -> None:
    """Play turns from a file. Playing it again adds nothing: turns are known by their ids.

    One person's turns are sent in the order of the file, as they were said.
    """
    logs.configure("warning")
    result = Result()
    lines = list(_lines(file, subject, result.refused))
    asyncio.run(_play(find_door(door), lines, concurrency, result, wait=wait))
    for number, reason in sorted(result.refused.items()):
        err.print(f"[red]line {number}[/]: ", end="")
        err.print(reason, markup=False)
    _show(result, wait=wait)
    if result.refused:
        raise CenotaphError(f"{len(result.refused)} of {len(result.refused) + len(lines)} lines were refused")


def _lines(file: Path, subject: str | None, refused: dict[int, str]) -> Iterator[Line]:
    with file.open("rb") as opened:
        for number, raw in enumerate(opened, 1):
            if not raw.strip():
                continue
            try:
                yield line_of(number, raw, subject)
            except BadInputError as error:
                refused[number] = str(error)


def line_of(number: int, raw: bytes, subject: str | None) -> Line:
    """Read one line.

    Raises:
        BadInputError: it is no turn, or nobody's.
    """
    document = loads(raw)
    if not isinstance(document, dict):
        raise MalformedError("the line is no JSON object")
    owner = document.pop("subject", subject)
    if owner is not None and not isinstance(owner, str):
        raise BadInputError("`subject` of the line is no string; write the person's name in quotes, or leave it out")
    if not owner:
        raise BadInputError("whose turn it is was not said; add `subject` to the line or use --subject")
    try:
        turn = read(TurnIn, orjson.dumps(document), Limits())
    except (TypeError, orjson.JSONEncodeError):
        raise BadInputError("the line holds a lone surrogate, which is not a character") from None
    messages = [
        Message(message_id=each.message_id, role=each.role.value, origin=_ORIGINS[each.origin], content=each.content)
        for each in turn.messages
    ]
    return Line(
        number,
        owner,
        Turn(turn.turn_id, turn.session_id, turn.occurred_at, messages, turn.status.value, turn.contexts),
    )


async def _play(door: tuple[str, str], lines: list[Line], concurrency: int, result: Result, *, wait: bool) -> None:
    url, key = door
    by_person: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        by_person[line.subject].append(line)
    at_once = asyncio.Semaphore(concurrency)
    async with async_door(url) as client:
        people = {subject: client.for_subject(key, subject) for subject in by_person}
        with bar("turns") as shown:
            sending = shown.add_task("stored", total=len(lines))
            async with asyncio.TaskGroup() as group:
                for subject, own in by_person.items():
                    group.create_task(_send(people[subject], own, at_once, result, lambda: shown.advance(sending)))
            if wait:
                waiting = shown.add_task("considered", total=len(result.sent))
                await _wait(people, result, concurrency, lambda: shown.advance(waiting))


async def _send(
    person: AsyncCenotaph, lines: list[Line], at_once: asyncio.Semaphore, result: Result, advance: Callable[[], object]
) -> None:
    for line in lines:
        async with at_once:
            try:
                stored = await person.finalize(line.turn)
            except ClientError as error:
                if error.status is None or error.status >= _REFUSED:
                    raise
                result.refused[line.number] = str(error)
            else:
                result.states[stored.state] += 1
                result.sent.append(line)
        advance()


async def _wait(
    people: dict[str, AsyncCenotaph], result: Result, concurrency: int, advance: Callable[[], object]
) -> None:
    """Ask for every turn until it was considered, oldest first, giving up when nothing moves any more."""
    pending = list(result.sent)
    loop = asyncio.get_running_loop()
    moved = loop.time()
    while pending:
        asked = pending[:concurrency]
        outcomes = await asyncio.gather(*(people[line.subject].outcome(line.turn.turn_id) for line in asked))
        left = []
        for line, outcome in zip(asked, outcomes, strict=True):
            if outcome.state == "considered":
                result.verdicts.update(verdict.outcome for verdict in outcome.verdicts)
                moved = loop.time()
                advance()
            else:
                left.append(line)
        pending = left + pending[concurrency:]
        if loop.time() - moved > _STUCK_S:
            raise CenotaphError(f"{len(pending)} turns are stored but not considered; see `cenotaph status`")
        if left:
            await asyncio.sleep(_POLL_S)


def _show(result: Result, *, wait: bool) -> None:
    table = Table("turns", "", box=None, pad_edge=False)
    for state, count in sorted(result.states.items()):
        table.add_row(state, str(count))
    if result.refused:
        table.add_row("[red]refused[/]", str(len(result.refused)))
    print_table(table)
    if wait:
        verdicts = Table("candidates", "", box=None, pad_edge=False)
        for outcome, count in result.verdicts.most_common():
            verdicts.add_row(coloured(outcome), str(count))
        out.print()
        print_table(verdicts)
