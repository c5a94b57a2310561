"""`cenotaph inbox`, `confirm`, `refuse`, `consent`, `suppress`, `explain`: what the person decides, and why."""

from typing import Annotated
from uuid import UUID

import typer
from rich.table import Table

from cenotaph import answers
from ops import logs
from ops.cli.options import Json, Person
from ops.cli.output import coloured, out, plain, print_json, print_table
from ops.cli.places import memory

Waits = Annotated[UUID, typer.Argument(help="What waits, as `cenotaph inbox` shows it.", metavar="ID")]


def inbox(
    *,
    person: Person,
    json: Json = False,
) -> None:
    """List what waits: for consent, for a confirmation, or for a choice."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        entries = own.inbox().entries
    if json:
        print_json(entries)
        return
    table = Table("id", "why", "kind", "content", "rivals", box=None, pad_edge=False)
    table.columns[0].no_wrap = True
    for each in entries:
        rivals = " ".join(str(rival) for rival in each.rivals)
        table.add_row(str(each.memory_id), each.why, each.kind, plain(each.content or ""), rivals)
    print_table(table)


def confirm(waits: Waits, *, person: Person, json: Json = False) -> None:
    """Make what waits a memory; of several in conflict, let this one stand."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        _show(own.confirm(waits), json=json)


def refuse(waits: Waits, *, person: Person, json: Json = False) -> None:
    """Drop what is held, with its content."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        _show(own.refuse(waits), json=json)


def consent(
    sensitivity: Annotated[str | None, typer.Argument(help="A sensitive class; without it, all are listed.")] = None,
    *,
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Close the class: its memories are blind at once.")
    ] = False,
    purpose: Annotated[str | None, typer.Option(help="For readers for this purpose alone.")] = None,
    person: Person,
    json: Json = False,
) -> None:
    """Consent to a sensitive class, which also confirms what waits for it, or withdraw that."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        found = own.consents() if sensitivity is None else own.consent(sensitivity, given=not withdraw, purpose=purpose)
    if json:
        print_json(found)
        return
    for each in found.consents:
        out.print(f"{each.sensitivity:12} {each.state:10} {plain(', '.join(each.purposes))}".rstrip())


def suppress(
    description: Annotated[str | None, typer.Argument(help="What not to remember; without it, all are listed.")] = None,
    *,
    lift: Annotated[UUID | None, typer.Option(help="Remember what this suppression names again.")] = None,
    person: Person,
    json: Json = False,
) -> None:
    """Not remember what is described, in other words too where they are recognised."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        if lift is not None:
            own.lift(lift)
        if description is not None:
            own.suppress(description)
        found = own.suppressions()
    if json:
        print_json(found)
        return
    for each in found.suppressions:
        out.print(f"{each.suppression_id}  ", plain(each.description), sep="")


def explain(
    memory_id: Annotated[UUID, typer.Argument(help="A memory, or a candidate that was not written.", metavar="ID")],
    *,
    person: Person,
    json: Json = False,
) -> None:
    """Say why a memory is there, or a candidate is not: every gate, the numbers, the policy, the evidence."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        found = own.explain(memory_id)
    if json:
        print_json(found)
        return
    for judgement in found.judgements:
        _judgement(judgement)
    for version in found.versions:
        out.print(
            f"version {version.version or '-'} ", coloured(version.status), " ", plain(version.content or ""), sep=""
        )
    if (field := found.field) is not None:
        seen = ", ".join(field.visible_to) or "the person"
        kept = "until revoked" if field.retention_days is None else f"for {field.retention_days} days"
        purpose = f"{field.purpose.zh} / {field.purpose.en}"
        out.print(
            f"field {field.key}: {purpose}; seen by {seen}, changed by {field.editable}, kept {kept}", markup=False
        )
    told = {
        "reinforced": found.reinforced,
        "rivals": found.rivals,
        "settled": found.settled,
        "forgotten": found.forgotten,
    }
    out.print("  ".join(f"{name} {value}" for name, value in told.items() if value))


def _judgement(judgement: answers.Judgement) -> None:
    out.print(f"[bold]{judgement.kind}[/] of turn {judgement.turn_id}: ", coloured(judgement.outcome), sep="")
    numbers = {"confidence": judgement.confidence, "importance": judgement.importance, **judgement.features}
    out.print("  " + "  ".join(f"{name} {value:.3f}" for name, value in numbers.items()))
    stood_in = f" (model: {judgement.fallback})" if judgement.fallback else ""
    out.print(
        f"  extractor {judgement.extractor}{stood_in}  policy {(judgement.policy or '')[:12]}  {judgement.assertion}"
    )
    for source in judgement.evidence:
        out.print(f"  evidence {source.message_id} [{source.start}:{source.end}] {source.state}", markup=False)
    for gate in judgement.gates:
        why = f"  {gate.reason}: {gate.meaning}" if gate.reason else ""
        out.print(f"  {gate.gate:12} {gate.verdict}{why}")


def _show(settled: answers.Settled, *, json: bool) -> None:
    if json:
        print_json(settled)
    else:
        out.print(coloured(settled.decision), f" {settled.memory_id} v{settled.version}", sep="")
