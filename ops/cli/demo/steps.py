"""The steps after the conversation: context, supersede, forgetting, the log."""

import asyncio
from collections import Counter
from pathlib import Path

from rich.live import Live
from rich.text import Text

from cenotaph import answers
from cenotaph.client import AsyncCenotaph
from events.errors import TamperError
from events.log import read_sealed
from events.model import Position
from ops.cli.demo.play import Played
from ops.cli.demo.stage import Stage
from ops.cli.forget import PENDING, frames, table_of
from ops.cli.offline import check
from ops.cli.output import coloured, out, plain, print_table
from ops.composition import Composition
from services.audit.evidence import Trust
from services.audit.reading import copies_of, snapshot, verify

QUESTION = "我家的猫叫什么？What is my cat called?"
_BUDGET = 400
_FORGET_S = 30.0
_POLL_S = 0.1
_BATCH = 500


async def ask(person: AsyncCenotaph, stage: Stage) -> answers.Context:
    """Ask for context and check that it is cited and within its budget."""
    context = await person.context(QUESTION, role="chat", token_budget=_BUDGET)
    stage.say(Text(f"? {QUESTION}", style="bold"))
    stage.say(plain(context.text))
    reasons = Counter(left.reason for left in context.left_out)
    stage.say(f"[dim]{context.used_tokens} of {_BUDGET} tokens; left out: {dict(reasons)}[/]")
    stage.check("the context cites memories by id and version", context.memories)
    stage.check("it stays within its token budget", context.used_tokens <= _BUDGET)
    return context


async def supersede(person: AsyncCenotaph, played: Played, stage: Stage) -> None:
    """Show a preference that was changed in the conversation, and that only the new version is used."""
    renewed = [
        (turn, verdict)
        for turn, outcome in played.outcomes.items()
        for verdict in outcome.verdicts
        if verdict.outcome == "accepted" and (verdict.version or 0) > 1
    ]
    if not stage.check("the person changed their mind, and a memory was superseded", renewed):
        return
    turn, verdict = renewed[-1]
    detail = await person.memory(verdict.memory_id)
    for version in detail.versions:
        line = Text.assemble(f"  v{version.version} ", coloured(version.status), " ", plain(version.content or ""))
        stage.say(line.append(f"  {', '.join(source.turn_id for source in version.sources)}", style="dim"))
    *earlier, newest = detail.versions
    stage.check(
        f"in {turn} the new version replaced the old one, and both are still on record",
        newest.status == "active" and earlier and all(version.status == "superseded" for version in earlier),
    )
    found = await person.search(newest.content or "")
    versions = {memory.version for memory in found.memories if memory.memory_id == verdict.memory_id}
    stage.check("a search finds the new version only", versions == {newest.version})


async def forget(person: AsyncCenotaph, context: answers.Context, public: Path, stage: Stage) -> None:
    """Forget what the context cited best, follow the receipt, and ask again."""
    best = max(context.memories, key=lambda cited: cited.score)
    detail = await person.memory(best.memory_id)
    content = detail.content or ""
    stage.say(Text.assemble("  forget: ", plain(content), (f"  {best.memory_id}", "dim")))
    stage.check("before, the context holds it", content and content in context.text)
    receipt = await _receipt(person, await person.forget(best.memory_id))
    stage.check("every layer was asked and the deletion has propagated", receipt.decision != PENDING)
    negatives = receipt.negative_queries
    stage.check(f"asked by {', '.join(negatives)}: nothing comes back", negatives and not any(negatives.values()))
    stage.check("the receipt's Ed25519 signature holds, checked without the server", _signed(receipt, public))
    again = await person.context(QUESTION, role="chat", token_budget=_BUDGET)
    found = await person.search(content)
    gone = await person.memory(best.memory_id)
    returned = {cited.memory_id for cited in again.memories} | {memory.memory_id for memory in found.memories}
    stage.check(
        "after, neither context nor search returns it",
        content not in again.text and best.memory_id not in returned,
    )
    stage.check("what is left of it is a stone without content", gone.status == "forgotten" and gone.content is None)


async def _receipt(person: AsyncCenotaph, receipt: answers.Receipt) -> answers.Receipt:
    deadline = asyncio.get_running_loop().time() + _FORGET_S
    with Live(table_of(receipt, 0), console=out, auto_refresh=False, transient=True) as live:
        while receipt.decision == PENDING and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_POLL_S)
            receipt = await person.receipt(receipt.receipt_id)
        for pause, table in frames(receipt):
            await asyncio.sleep(pause)
            live.update(table, refresh=True)
    print_table(table_of(receipt))
    return receipt


def _signed(receipt: answers.Receipt, public: Path) -> bool:
    try:
        check(receipt, public)
    except TamperError:
        return False
    return public.exists()


async def replay(composition: Composition, played: Played, stage: Stage) -> None:
    """Read the whole log by position and verify it."""
    database = composition.log(None)
    positions, types = list[Position | None](), Counter[str]()
    async with database.connection() as connection:
        while events := await read_sealed(connection, Position(len(positions) - 1), _BATCH):
            positions += [event.position for event in events]
            types.update(event.type for event in events)
    stage.say(f"  {len(positions)} events: " + ", ".join(f"{count} {name}" for name, count in types.most_common()))
    stage.check("positions are dense, from 0", positions == list(range(len(positions))))
    stage.check(
        "each turn has one turn_finalized and one turn_considered",
        types["turn_finalized"] == types["turn_considered"] == len(played.outcomes),
    )
    await composition.checkpointer.write()
    there = await copies_of(database, composition.second_place)
    async with snapshot(database) as connection:
        found = await verify(connection, there, Trust())
    for line in found.lines():
        stage.say(Text(f"  {line}", style="red" if not found.ok else ""))
    stage.check(
        f"the log verifies: {found.end} leaves, the tree, {found.bodies} bodies; {found.shredded} gone, fenced",
        found.ok and found.end == len(positions) and found.shredded > 0,
    )
    stage.check("a signed checkpoint in the second place covers every event", found.unsigned == 0)
