"""Fault 5 of other systems: a restored backup brings back what was forgotten. Here it may not, whenever it is of."""

import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from events.model import EventId, MemoryId, Scope
from tests.backups import brought_back, chosen_of, take
from tests.plant import Plant, planted

TEA, WORD = "龙井茶", "pomegranate"


@dataclass(frozen=True)
class Story:
    """A person with two memories, one of which is forgotten, and backups from before, during and after that."""

    plant: Plant
    scope: Scope
    kept: MemoryId
    gone: MemoryId
    folder: Path


@pytest.fixture(scope="module")
async def story(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Story]:
    """Tell it: back up, ask to forget, back up before anything is destroyed, finish, roll the keys, back up."""
    folder = tmp_path_factory.mktemp("backups")
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        scope = await plant.person()
        kept = await plant.remember(scope, f"请记住：我喜欢{TEA}。", "好的。")
        gone = await plant.remember(scope, f"Remember: my locker code word is {WORD}.", "Noted.")
        assert gone in await plant.recalled(scope, WORD)
        await take(plant, folder / "before")
        receipt = await plant.forget(scope, gone)
        await take(plant, folder / "during")
        await plant.follow()
        shown = await plant.until(scope, receipt)
        assert shown.decision == "deletion_propagated"
        await plant.composition.roller.roll()
        await take(plant, folder / "after")
        yield Story(plant, scope, kept, gone, folder)


@pytest.mark.parametrize(("taken", "late"), [("before", 1), ("during", 0), ("after", 0)])
async def test_a_restored_backup_brings_back_nothing_forgotten(
    story: Story, tmp_path: Path, taken: str, late: int
) -> None:
    """Its tombstones are applied and probed before any read, keys and bodies never return; no superuser is needed."""
    chosen = chosen_of(story.plant, story.folder / taken)
    async with brought_back(story.plant, chosen, tmp_path / "new", plain=taken == "after") as (restored, done):
        assert (done.late, done.probed) == (late, 1)
        assert done.left_out == (0 if taken == "after" else 4)  # the memory, its index part, both messages
        assert set(await restored.recalled(story.scope, TEA)) == {story.kept}
        assert story.gone not in await restored.recalled(story.scope, WORD)
        (stone,) = [event for event in await restored.stream(story.scope) if event.type == "tombstoned"]
        async with restored.owner() as owner, restored.vault() as vault:
            keys = await owner.fetch("select target from log.fence")
            assert (
                await vault.fetchval(
                    "select count(*) from vault.data_key where key_id = any($1::uuid[])",
                    [row["target"] for row in keys],
                )
                == 0
            )
            assert await owner.fetchval("select count(*) from log.checkpoint") == 1  # of an origin of its own
        receipt = await _receipt(story)
        assert stone.event_id == receipt
        shown = await restored.composition.backend.receipt(story.scope, receipt)
        assert shown is not None
        # what was left out cannot be asked for any more: a receipt that was not signed by then says so
        assert shown.unasked == (None if taken == "after" else "restored")
        assert (shown.propagated_at is None) == (taken != "after")
        await _still_works(restored, story.scope)


async def test_without_the_tombstone_it_would_come_back(story: Story, tmp_path: Path) -> None:
    """The control: a second place that lost the tombstone lets the older backup bring the memory back, and is found."""
    place = tmp_path / "second-place"
    shutil.copytree(story.plant.composition.settings.second_place, place)
    shutil.rmtree(place / "tombstones")
    folder = story.folder / "before"
    forgetful = replace(
        story.plant.composition, settings=story.plant.composition.settings.model_copy(update={"second_place": place})
    )
    blind = replace(story.plant, composition=forgetful)
    async with brought_back(blind, chosen_of(blind, folder), tmp_path / "new") as (restored, done):
        assert (done.late, done.left_out) == (0, 0)
        assert story.gone in await restored.recalled(story.scope, WORD)


async def _receipt(story: Story) -> EventId:
    page = await story.plant.composition.backend.receipt_book.page(story.scope, 10, None)
    return page.receipts[0].receipt_id


async def _still_works(restored: Plant, scope: Scope) -> None:
    """What is said after a restore is remembered, and what came back can be forgotten with its receipt."""
    memory = await restored.remember(scope, "请记住：我住在苏州。", "好的。")
    receipt = await restored.forget(scope, memory)
    await restored.follow()
    shown = await restored.until(scope, receipt)
    assert shown.decision == "deletion_propagated"
