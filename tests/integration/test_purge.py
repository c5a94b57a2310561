"""The second receipt: signed when the bytes are gone, and not before, on real stores (R42)."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from events.errors import BadInputError
from events.model import EventId, Scope
from services.forgetting.receipt import verify
from services.wire.receipts import ReceiptView
from tests.plant import Plant, planted


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


async def forgotten(plant: Plant, scope: Scope, said: str) -> EventId:
    """Remember something, forget it, and get its first receipt."""
    receipt = await plant.forget(scope, await plant.remember(scope, said, "好的。OK."))
    await plant.follow()
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
    return receipt


async def shown(plant: Plant, scope: Scope, receipt: EventId) -> ReceiptView:
    view = await plant.composition.backend.receipt(scope, receipt)
    assert view is not None
    return view


def files_with(folder: Path, needle: bytes) -> set[str]:
    return {
        path.relative_to(folder).parts[0]
        for path in folder.rglob("*")
        if path.is_file() and needle in path.read_bytes()
    }


async def test_the_second_receipt_waits_for_every_rewriting_and_the_roll(plant: Plant) -> None:
    """Each step that is missing keeps it open; then it is signed, names the first, and no index file has the id."""
    scope = await plant.person()
    kept = await plant.remember(scope, "我住在苏州。", "好的。")
    composition = plant.composition
    memory = await plant.remember(scope, "请记住：我喜欢北京烤鸭。", "好的。")
    await composition.vectors.flush("memory_v1")
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
    milvus = composition.settings.data / "milvus"
    assert files_with(milvus, memory.hex.encode()), "a delete leaves the id in the files of the index"
    steps = (
        composition.reclaiming_tables.step,
        composition.reclaiming_vectors.step,
        composition.roller.roll,
    )
    for step in steps:
        assert await composition.purger.step() == 0
        assert (await shown(plant, scope, receipt)).end is None
        await step()
    await composition.append_only_file.reclaim()
    assert await composition.purger.step() == 1
    assert await composition.purger.step() == 0
    view = await shown(plant, scope, receipt)
    assert view.decision == "deletion_purged"
    assert view.end is not None
    assert {each.state for each in view.end.layers} == {"purged"}
    assert view.signing_key is not None
    assert view.statement is not None
    assert verify(view.end.statement, view.end.signature, view.signing_key)
    statement = json.loads(view.end.statement)
    assert statement["first_sha256"] == sha256(view.statement.encode()).hexdigest()
    assert (statement["decision"], statement["tombstone_version"]) == ("deletion_purged", view.tombstone_version)
    assert files_with(milvus, memory.hex.encode()) == set()
    assert kept in await plant.recalled(scope, "我住在哪里")
    async with plant.owner() as connection:
        written = await connection.fetchval(
            "select count(*) from log.event where stream = $1", f"receipts/{scope.subject_id}"
        )
    assert written == 2


async def test_rewriting_from_before_covers_nothing_later(plant: Plant) -> None:
    """Of two deletions only the one behind which everything was rewritten is purged; they are listed page by page."""
    scope, composition = await plant.person(), plant.composition
    first = await forgotten(plant, scope, "I live in Suzhou.")
    await composition.reclaiming_tables.step()
    await composition.reclaiming_vectors.step()
    await composition.roller.roll()
    second = await forgotten(plant, scope, "Remember that I love hiking.")
    assert await composition.purger.step() == 1
    assert (await shown(plant, scope, first)).decision == "deletion_purged"
    assert (await shown(plant, scope, second)).decision == "deletion_propagated"
    assert await composition.reclaiming_tables.step() == 2
    assert await composition.reclaiming_tables.step() == 0
    newest = await composition.backend.receipts(scope, 1, None)
    oldest = await composition.backend.receipts(scope, 1, newest.next_cursor)
    assert [each.receipt_id for page in (newest, oldest) for each in page.receipts] == [second, first]
    assert oldest.next_cursor is None


async def test_a_transaction_that_may_still_see_it_keeps_the_tables_unreclaimed(plant: Plant) -> None:
    """While an old snapshot is open the vacuum cannot remove the rows, and does not claim to."""
    scope, composition = await plant.person(), plant.composition
    async with plant.owner() as connection, connection.transaction(isolation="repeatable_read"):
        await connection.fetchval("select count(*) from log.body")
        receipt = await forgotten(plant, scope, "I play the cello.")
        await composition.reclaiming_tables.step()
        await composition.reclaiming_vectors.step()
        await composition.roller.roll()
        await composition.purger.step()
        assert (await shown(plant, scope, receipt)).end is None
    await composition.reclaiming_tables.step()
    await composition.purger.step()
    assert (await shown(plant, scope, receipt)).decision == "deletion_purged"


async def test_receipts_are_counted_and_found_by_how_far_they_have_come(plant: Plant) -> None:
    """The counts name no id; a filter by decision and by moment finds just these."""
    scope, backend = await plant.person(), plant.composition.backend
    before = await backend.deletions()
    waiting = await plant.forget(scope, await plant.remember(scope, "I live in Suzhou.", "OK."))
    counted = await backend.deletions()
    assert counted.unpurged >= before.unpurged
    page = await backend.receipts(scope, 10, None, decision="DELETION_PENDING")
    assert [each.receipt_id for each in page.receipts] == [waiting]
    assert (await backend.receipts(scope, 10, None, decision="deletion_purged")).receipts == ()
    later = datetime.now(UTC) + timedelta(minutes=1)
    assert (await backend.receipts(scope, 10, None, since=later)).receipts == ()


async def test_the_person_closes_what_can_never_be_proven_and_nothing_else(plant: Plant) -> None:
    """Where a layer cannot prove it is closed, signed, and not tried again; before any has answered it is not."""
    scope, backend = await plant.person(), plant.composition.backend
    receipt = await plant.forget(scope, await plant.remember(scope, "I live in Suzhou.", "OK."))
    assert not await backend.receipt_book.close(scope, receipt), "nobody has tried it yet"
    await plant.follow()
    async with plant.owner() as connection:
        await connection.execute("alter table ops.read rename to hidden")
        try:
            assert (await plant.finish(scope, receipt)).decision == "DELETION_PENDING"
        finally:
            await connection.execute("alter table ops.hidden rename to read")
    assert not await backend.receipt_book.close(await plant.person(), receipt)
    assert await backend.receipt_book.close(scope, receipt)
    assert await plant.composition.purger.step() == 1
    view = await shown(plant, scope, receipt)
    assert view.decision == "closed_unproven"
    assert view.end is not None
    assert view.signing_key == plant.finisher()._signer.public
    assert verify(view.end.statement, view.end.signature, view.signing_key)
    position = (await plant.tombstone(scope, receipt)).position
    assert position is not None
    async with plant.owner() as connection:
        key = await connection.fetchval("select probe_key from ops.erasure where tombstone = $1", receipt)
    await plant.composition.finisher.finish(position)
    assert position not in await plant.composition.finisher.pending()
    assert not await plant.composition.vault("opener").present([key]), "the probes' key dies with the end"
    proven = await forgotten(plant, scope, "Remember that I love hiking.")
    with pytest.raises(BadInputError, match=r"nothing of deletion .* is unproven"):
        await backend.receipt_book.close(scope, proven)
    async with plant.owner() as connection:  # asked for before its last layer answered
        await connection.execute("update ops.erasure set close_asked_at = now() where tombstone = $1", proven)
    await plant.composition.purger.step()
    assert (await shown(plant, scope, proven)).decision != "closed_unproven"
