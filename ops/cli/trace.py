"""`cenotaph trace`: why each memory came into an answer, or did not."""

from typing import Annotated
from uuid import UUID

import typer
from rich.table import Table

from cenotaph import answers
from cenotaph.client import Cenotaph
from cenotaph.errors import CenotaphError as Refused
from ops import logs
from ops.cli.options import Json, Person
from ops.cli.output import out, print_json, print_table
from ops.cli.places import memory

_COLOURS = {"injected": "green", "budget": "yellow", "limit": "yellow"}
_MEANINGS = {
    "injected": "it was given away: where the answer is without it, the model ignored it",
    "budget": "ranked, but the token budget was full before its turn: ranked wrong, or the budget is too small",
    "limit": "ranked or found, but others were before it: ranked wrong, or the limit is too small",
    "unrelated": "found, but unlike the query and without a word in common with it: retrieved wrong",
    "role": "kept from this role (services/governance/policy.yaml)",
    "duplicate": "the same version stood there already",
    "empty": "nothing of it can be shown",
    "forgotten": "it was being forgotten",
    "key_lost": "its key is lost: an incident",
    "needs_consent": "its class waits for consent",
    "consent_withdrawn": "consent to its class was withdrawn",
    "person_only": "its field of the profile is the person's alone",
    "retention_over": "its field of the profile is kept no longer",
}
_LIVE = frozenset({"active", "in_conflict"})
_NUMBERS = ("relevance", "importance", "confidence", "days", "authority", "match", "risk")


def trace(
    trace_id: Annotated[UUID, typer.Argument(help="The `context_id` of an answer.", metavar="ID")],
    *,
    of: Annotated[UUID | None, typer.Option("--memory", help="Say only what became of this memory.")] = None,
    person: Person,
    json: Json = False,
) -> None:
    """Say how an answer came about: what each path found, how it was ranked, and why it was given away or left out."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        found = own.trace(trace_id)
        if json:
            print_json(found)
        elif of is not None:
            out.print(f"{of}: {_verdict(own, found, of)}", markup=False)
        else:
            _show(found)


def _verdict(own: Cenotaph, found: answers.Trace, memory_id: UUID) -> str:
    """Tell apart what was never written, not found, ranked too low, or ignored by the model."""
    for each in found.candidates:
        if each.memory_id == memory_id:
            return f"{each.fate}: {_MEANINGS.get(each.fate, '')}" + (f" ({_standing(each)})" if each.rank else "")
    try:
        detail = own.memory(memory_id)
    except Refused:
        return "not written: this person has no such memory; see `cenotaph explain` for the candidates of a turn"
    if detail.status not in _LIVE:
        return f"not usable: it is {detail.status}; see `cenotaph explain {memory_id}`"
    if found.trace is not None and detail.recorded_at > found.at:
        return "written after this answer was made"
    return "retrieved wrong: no path proposed it, or it is among the less relevant ones that are only counted"


def _show(found: answers.Trace) -> None:
    out.print(
        f"[bold]{found.path}[/] for {found.role}, {found.at:%Y-%m-%d %H:%M:%S} UTC, {len(found.memories)} given away"
    )
    if found.turns:
        out.print(f"injected into {', '.join(found.turns)}", markup=False)
    if found.forgotten:
        out.print("[red]something that was given away has been forgotten since[/]")
    if (head := found.trace) is None:
        out.print("[dim]nothing was ranked here, or its trace is not kept any more[/]")
        return
    out.print(
        f"[dim]preset {head.preset}, policy {head.policy[:12]}, model {head.model}\n"
        f"log at {head.position}, both indexes at {head.indexed}, memory at version {head.version}"
        f"{', candidates from the cache' if head.cached else ''}"
        f"{'' if head.rewriting == 'off' else f', query rewriting {head.rewriting}'}[/]"
    )
    if head.token_budget is not None:
        out.print(f"{head.used_tokens or 0} of {head.token_budget} tokens")
    for path in head.degraded:
        out.print(f"[yellow]degraded[/] {path} did not answer; what only it would find is missing")
    table = Table("#", "score", "fate", "found by", "relevance", "why", "memory", box=None, pad_edge=False)
    for each in found.candidates:
        table.add_row(
            str(each.rank or ""),
            "" if each.score is None else f"{each.score:.3f}",
            f"[{_COLOURS.get(each.fate, 'dim')}]{each.fate}[/]" + (f" ({each.section})" if each.section else ""),
            _paths(each),
            f"{each.relevance:.3f}",
            _standing(each),
            f"{each.memory_id or 'forgotten'} v{each.version} {each.kind}",
        )
    print_table(table)
    for fate, count in sorted(head.more.items()):
        out.print(f"[dim]and {count} less relevant: {fate}[/]")
    for fate in dict.fromkeys(each.fate for each in found.candidates):
        out.print(f"[dim]{fate}: {_MEANINGS.get(fate, '')}[/]")
    out.print(
        "[dim]not listed: no path proposed it (retrieved wrong), or it was never written: `cenotaph explain ID`[/]"
    )


def _paths(each: answers.TracedMemory) -> str:
    """Name the paths that proposed it, with rank and score."""
    scored = {"vectors": (each.dense_rank, each.dense), "keywords": (each.words_rank, each.words)}
    said = []
    for path in each.paths:
        rank, score = scored.get(path, (None, None))
        said.append(path if rank is None or score is None else f"{path} #{rank} ({score:.2f})")
    return ", ".join(said)


def _standing(each: answers.TracedMemory) -> str:
    """Spell out what the score was made of."""
    if each.features is None:
        return ""
    numbers = [f"{name} {getattr(each.features, name):g}" for name in _NUMBERS if getattr(each.features, name)]
    flags = [flag for flag in ("stale", "in_conflict") if getattr(each.features, flag)]
    return ", ".join([*numbers, *flags])
