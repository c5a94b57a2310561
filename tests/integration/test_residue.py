"""Every store's own writer plants a needle so that raw bytes do not show it; each is found, and named by its place."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import redis.asyncio as redis

from events.model import EventId
from ops.residue import Installation
from services.residue.needle import Find, Needle
from services.residue.search import Search, search_files
from tests.backups import keys_of, take
from tests.plant import Plant, planted

HALVES = ("amber-lantern-of-the-", "seventh-harbour-琥珀")
WORD = Needle(text="".join(HALVES), name="word")
FILLER = "the tide goes out and the tide comes in. "


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


def found(search: Search, *within: str) -> set[str]:
    """Return the forms in which the word was found in places that have all these words."""
    return {find.form for find in search.found if all(word in find.place for word in within)}


def look(plant: Plant) -> Search:
    search = search_files(plant.composition.settings.data / "valkey", [WORD])
    assert search.doubts == set()
    return search


async def test_long_packed_and_deleted_values_of_postgres_are_found(plant: Plant) -> None:
    """In pieces, packed within the row, packed in pieces, deleted: in the write-ahead log, then in the pages too."""
    noise, data = os.urandom(30_000).hex(), plant.composition.settings.data / "log"
    split, within, packed, gone = (
        Needle(text=f"{kind}: {WORD.text}") for kind in ("split", "within", "packed", "gone")
    )
    halves = [(each.text[:14], each.text[14:]) for each in (within, packed)]
    async with plant.owner() as connection:
        await connection.execute("create table public.unpacked (words text)")
        await connection.execute("alter table public.unpacked alter words set storage external")
        await connection.execute("create table public.planted (words text)")
        await connection.execute("checkpoint")
        for table, words in (
            ("unpacked", noise[:1980] + split.text + noise),  # it lies across the border of two pieces
            # packed by references to the halves that stand before it
            ("planted", halves[0][0] + FILLER + halves[0][1] + FILLER * 60 + within.text),
            ("planted", halves[1][0] + FILLER + halves[1][1] + noise[:9000] + packed.text + FILLER * 900),
            ("planted", gone.text),
        ):
            await connection.execute(f"insert into public.{table} values ($1)", words)  # noqa: S608 - names of this test
        await connection.execute("delete from public.planted where words = $1", gone.text)
        wanted = {(split, "put together"), (within, "unpacked"), (packed, "put together")}
        for place in ("pg_wal/", "base/"):
            search = search_files(data, (split, within, packed, gone))
            assert search.doubts == set()
            there = {(find.needle, find.form.removesuffix(" utf-8")) for find in search.found if place in find.place}
            assert wanted <= there
            assert gone in {needle for needle, _ in there}
            for needle, _ in wanted:
                assert (needle, "utf-8") not in there  # as raw bytes it is nowhere
            await connection.execute("checkpoint")


async def test_what_redis_wrote_is_found_plain_and_packed(plant: Plant) -> None:
    """In the file of commands as it was said, and after a rewrite in the snapshot, where Redis packs it."""
    client = redis.from_url(plant.composition.endpoints.redis_url)
    words = HALVES[0] + FILLER + HALVES[1] + FILLER * 60 + WORD.text
    await client.set("planted", json.dumps({"content": words}, ensure_ascii=False))
    assert "utf-8" in found(look(plant), ".aof")
    await client.bgrewriteaof()
    async with asyncio.timeout(90):
        while (await client.info())["aof_rewrite_in_progress"]:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.02)
    assert found(look(plant), ".rdb") == {"unpacked utf-8"}
    await client.delete("planted")
    await client.aclose()


async def test_a_deletion_is_audited_over_stores_and_backups(plant: Plant, tmp_path: Path) -> None:
    """Before a forget its sealed bytes, keys and vector lie in stores and backup; a folder that is away is a doubt."""
    scope = await plant.person()
    memory = await plant.remember(scope, "Remember: my locker code word is pomegranate.", "Noted.")
    folder = tmp_path / "backup"
    await take(plant, folder)
    receipt = await plant.forget(scope, memory)
    await plant.sealed()
    installation: Installation = plant.composition.installation
    search = await installation.search(EventId(receipt), ["pomegranate"], {}, [])
    assert search.doubts == set()
    kinds = {(find.needle.name.split()[0], _store(find, plant, folder)) for find in search.found}
    assert kinds >= {
        ("ciphertext", "log"),
        ("ciphertext", "backup"),
        ("wrapped", "vault"),
        ("vector", "milvus"),
    }
    assert not any(name == "line" for name, _ in kinds)  # nothing lies there in clear
    assert ("wrapped", "backup") not in kinds  # keys lie apart
    assert ("wrapped", "backup.keys") in kinds

    keys_of(folder).rename(tmp_path / "away")
    search = await installation.search(EventId(receipt), ["pomegranate"], {}, [])
    assert [doubt.place for doubt in search.doubts] == [str(keys_of(folder))]
    search = await installation.search(EventId(receipt), [], {}, [tmp_path / "away"])
    assert ("wrapped", "away") in {(find.needle.name.split()[0], _store(find, plant, folder)) for find in search.found}


def _store(find: Find, plant: Plant, folder: Path) -> str:
    place = Path(find.place)
    for root in (plant.composition.settings.data, folder.parent):
        if root in place.parents:
            return place.relative_to(root).parts[0]
    return find.place
