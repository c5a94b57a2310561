"""`cenotaph remember`, `recall`, `memories`: what an agent does, by hand."""

import time
from datetime import UTC, datetime
from typing import Annotated
from uuid import uuid4

import typer
from rich.table import Table
from rich.text import Text

from cenotaph import answers
from cenotaph.calls import MemoryStatus, Message, RankingPreset, RecallRole, Turn
from cenotaph.client import Cenotaph
from events.errors import CenotaphError
from ops import logs
from ops.cli.options import Json, Person
from ops.cli.output import coloured, out, plain, print_json, print_table
from ops.cli.places import memory

_CONSIDERED_S = 30.0
_POLL_S = 0.05
_PAGE = 100


def remember(
    text: Annotated[str, typer.Argument(help="What the person says.")],
    *,
    person: Person,
    session: Annotated[str, typer.Option(help="Your own name for the session.")] = "command-line",
    json: Json = False,
) -> None:
    """Hand over a turn of one message and show what became of it."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        said = Message(message_id="m1", role="user", content=text)
        turn = Turn(f"cli-{uuid4()}", session, datetime.now(UTC), [said])
        stored = own.finalize(turn)
        outcome = considered(own, turn.turn_id)
        if json:
            print_json(outcome)
            return
        for name, count in stored.redacted.items():
            out.print(f"[red]redacted[/] {count} × {name}, before anything was stored")
        if not outcome.verdicts:
            out.print("nothing to remember in it")
        for verdict in outcome.verdicts:
            out.print(line_of(verdict, _content(own, verdict)))


def considered(own: Cenotaph, turn_id: str) -> answers.Outcome:
    """Wait until a turn has been considered.

    Raises:
        CenotaphError: it takes too long.
    """
    deadline = time.monotonic() + _CONSIDERED_S
    while True:
        outcome = own.outcome(turn_id)
        if outcome.state == "considered":
            return outcome
        if time.monotonic() > deadline:
            raise CenotaphError(f"turn {turn_id} is stored but not considered yet; see `cenotaph status`")
        time.sleep(_POLL_S)


def line_of(verdict: answers.Verdict, content: str | None, *, ids: bool = True) -> Text:
    """Say in one line what became of a candidate and why."""
    line = Text.assemble(coloured(verdict.outcome), " ", (verdict.kind, "bold"))
    if content is not None:
        line.append(" ").append_text(plain(content))
    if verdict.gate is not None:
        line.append(f"  {verdict.gate}" + (f": {verdict.reason}" if verdict.reason else ""), style="dim")
    if verdict.outcome in {"accepted", "reinforced", "held"}:
        line.append(f"  {verdict.memory_id}" if ids else "", style="dim")
        line.append(f" v{verdict.version}" if verdict.version else "", style="dim")
    return line


def recall(
    query: Annotated[str, typer.Argument(help="What the agent wants to know.")],
    *,
    role: Annotated[RecallRole, typer.Option(help="Who asks.")] = "chat",
    budget: Annotated[int, typer.Option(help="The most tokens the text may have.", min=1)] = 800,
    preset: Annotated[RankingPreset, typer.Option(help="What counts how much in the ranking.")] = "default",
    person: Person,
    json: Json = False,
) -> None:
    """Compile context for a query: the text, the memories it cites, and what was left out and why."""
    logs.configure("warning")
    with memory(person) as own:
        context = own.context(query, role=role, token_budget=budget, preset=preset)
    if json:
        print_json(context)
        return
    out.print(plain(context.text) if context.text else Text("nothing is remembered that fits", style="dim"))
    out.print(f"[dim]{context.used_tokens} of {context.token_budget} tokens[/]")
    for path in context.degraded:
        out.print(f"[yellow]degraded[/] {path} does not answer; what only it would find is missing")
    for cited in context.memories:
        out.print(f"[green]cited[/]    {cited.memory_id} v{cited.version}  {cited.kind}  {cited.score:.3f}")
    for left in context.left_out:
        out.print(f"[dim]left out {left.memory_id or 'a message'}  {left.reason}[/]")


def memories(
    *,
    status: Annotated[MemoryStatus | None, typer.Option(help="Only these; without it, active and held ones.")] = None,
    person: Person,
    json: Json = False,
) -> None:
    """List what is kept, newest first."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        found = every_memory(own, status)
    if json:
        print_json(found)
        return
    table = Table("id", "v", "status", "kind", "content", "said", "for", "why", box=None, pad_edge=False)
    table.columns[0].no_wrap = True
    for each in found:
        table.add_row(
            str(each.memory_id),
            str(each.version or ""),
            coloured(each.status),
            each.kind,
            plain(each.content or ""),
            each.occurred_at.date().isoformat() if each.occurred_at else "",
            plain(" / ".join(name for name in (each.project, each.task_id, each.assistant, each.purpose) if name)),
            each.withheld or each.reason or "",
        )
    print_table(table)


def every_memory(own: Cenotaph, status: MemoryStatus | None) -> list[answers.Memory]:
    """Collect all pages."""
    page = own.memories(status, limit=_PAGE)
    found = list(page.memories)
    while page.next_cursor is not None:
        page = own.memories(status, limit=_PAGE, cursor=page.next_cursor)
        found += page.memories
    return found


def _content(own: Cenotaph, verdict: answers.Verdict) -> str | None:
    if verdict.outcome not in {"accepted", "reinforced", "held"}:
        return None  # nothing of it was kept that could be shown
    return own.memory(verdict.memory_id).content
