"""The benchmarks' own honesty: they count what they claim, in databases of their own, and leave nothing behind."""

from pathlib import Path
from typing import Any

import pytest

from events.errors import BadInputError
from ops.bench import growth, replay
from ops.bench.append.contender import Shape
from ops.bench.append.peers import installed
from ops.bench.append.run import ABSENT, measure
from ops.bench.forgetting import run as forgetting
from ops.bench.recall import run as recalling
from ops.bench.recall.fill import fill
from ops.bench.recall.people import Person
from ops.bench.years import run as years
from projections.model import READ_MODELS
from tests.conftest import Stores
from tests.plant import planted

NEEDED = {"events_per_s", "appended", "seen", "p50_ms", "p99_ms", "fsync", "synchronous_commit", "load", "floor"}


@pytest.fixture
def given(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the servers of the run, so that a benchmark starts none."""
    monkeypatch.setenv("DATABASE_URL", stores.endpoints.database_url)
    monkeypatch.setenv("VAULT_URL", stores.endpoints.vault_url)


async def databases_and_events(stores: Stores) -> tuple[set[str], int]:
    async with stores.owner.connection() as connection:
        names = await connection.fetch("select datname from pg_database")
        events: int = await connection.fetchval("select count(*) from log.event")
    return {row["datname"] for row in names}, events


@pytest.mark.usefixtures("given")
async def test_every_contender_appends_and_is_read_back(stores: Stores) -> None:
    """Each variant appends and sees the same number of events; a live log on the same cluster is not touched."""
    before = await databases_and_events(stores)
    result = await measure(Shape(writers=3, batch=2, events=24), rounds=2, variants=True, peers=True)
    assert result.keys() >= NEEDED
    variants = result["variants"]
    assert isinstance(variants, dict)
    for figures in (result, *variants.values()):
        assert (figures["appended"], figures["seen"], figures["seen_twice"]) == (24, 24, 0)
    assert set(variants) == {"no_encryption", "no_tree", "plain"}
    assert (result["valid"], result["fsync"], result["synchronous_commit"]) == (True, "on", "on")
    peers = result["peers"]
    assert isinstance(peers, dict)
    assert {name for name, figures in peers.items() if figures == ABSENT} == {
        name for name, version in installed().items() if version is None
    }
    assert await databases_and_events(stores) == before


@pytest.mark.usefixtures("given")
async def test_a_cluster_that_does_not_flush_makes_the_figures_invalid(stores: Stores) -> None:
    """Where an acknowledged commit may be lost, the result says so."""
    async with stores.owner.connection() as connection:
        owner = await connection.fetchval("select current_user")
        await connection.execute(f'alter role "{owner}" set synchronous_commit = off')
        try:
            result = await measure(Shape(writers=1, batch=1, events=2), rounds=1, variants=False, peers=False)
        finally:
            await connection.execute(f'alter role "{owner}" reset synchronous_commit')
    assert result["valid"] is False
    assert result["invalid_because"] == ["log: synchronous_commit is off"]


@pytest.mark.usefixtures("given")
async def test_everything_imported_is_opened_again(stores: Stores) -> None:
    """The replay counts opened bodies, so that n of n means that all of them could be decrypted."""
    before = await databases_and_events(stores)
    result = await replay.measure(300, 1)
    assert (result["appended"], result["sealed"], result["opened"], result["n_of_n"]) == (300, 300, [300], True)
    assert await databases_and_events(stores) == before


@pytest.mark.usefixtures("given")
async def test_a_log_that_grew_verifies() -> None:
    """The filled log is a real one: it verifies, every read model is rebuilt from it, every table is counted."""
    result = await growth.measure(400)
    assert (result["events"], result["verified"], result["faults"]) == (400, 400, 0)
    seconds, relations = result["seconds"], result["relations"]
    assert isinstance(seconds, dict)
    assert isinstance(relations, dict)
    assert {"verify", "rebuild_facts", "rebuild_keywords", "rebuild_sessions"} < set(seconds)
    assert {"log.event", "log.body", "log.node"} <= {each["relation"] for each in relations["log"]}


async def test_what_is_filled_for_measuring_is_what_the_log_says(tmp_path: Path) -> None:
    """Every read model of a filled system is the one that its log makes, entry by entry, and all of it is indexed."""
    async with planted(tmp_path) as plant:
        added: list[int] = []
        tenant = await fill(plant.composition, 3, 20, added.append)
        reports = {report.model: report async for report in plant.composition.differ().run()}
        assert {name: report.found for name, report in reports.items()} == dict.fromkeys(READ_MODELS, 0)
        assert (reports["vectors"].compared, reports["keywords"].compared, sum(added)) == (60, 60, 60)
        person = Person(tenant, 1, 20)
        found = await plant.composition.recall.recall(person.scope, person.said[7])
        assert person.said[7] in {each.body.content for each in found.recalled}


@pytest.mark.long
async def test_recall_is_measured_beside_its_floors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A filled system answers in every way, alone and sixteen at once; the result names ratios, sizes and load.

    What was kept is only asked by the next run, which refuses to be told that it holds something else.
    """
    monkeypatch.setattr(recalling, "_ASKED", 24)
    first = await recalling.measure(200, 2, tmp_path)
    result = await recalling.measure(200, 2, tmp_path)
    assert result["fill_s"] == first["fill_s"]
    with pytest.raises(BadInputError, match="2 people with 100 memories"):
        await recalling.measure(300, 2, tmp_path)
    assert result.keys() >= {"memories", "people", "fill_s", "resident_mib", "disk_mib", "fsync", "load"}
    for askers in (1, 16):
        ways = result[f"concurrency_{askers}"]
        assert isinstance(ways, dict)
        assert {name for name, times in ways.items() if isinstance(times, dict) and times["n"] == 24} == {
            *("numpy", "milvus", "embedding", "recall_without_embedding", "recall"),
            *("context_without_embedding", "context", "context_cached"),
        }
        assert ways["recall_to_milvus_p50"] > 0


@pytest.mark.long
async def test_a_short_life_through_upkeep_keeps_what_was_asked_for(tmp_path: Path) -> None:
    """Two people, forty weeks in accelerated time: room is made, messages expire, read models say what the log says."""
    result = await years.measure(
        years.Shape(people=2, weeks=40, step=2, turns=2, asked=1, every=40, capacity=6), tmp_path
    )
    first, last = result["samples"]
    assert years.problems(result) == []
    assert first["found"] == {"asked": 1, "used": 1, "unused": 1}
    assert (last["found"]["asked"], last["found"]["used"]) == (1, 1)
    assert last["sizes"]["living"] < last["sizes"]["written"] / 2
    assert {"expire:uncited", "expire:capacity:fact", "use:read"} <= result["done"].keys()


@pytest.mark.long
def test_forgetting_is_measured_up_to_its_figures_on_a_busy_machine() -> None:
    """However many turns it bears, the run ends at a rate that was flat, or says that none was, and nothing was hit."""
    result: dict[str, Any] = forgetting.main(2, 1, 2.0)
    load = result["under_load"]["load"]
    for phase in ("without_load", "under_load"):
        assert result[phase]["hits"] == {}
        assert result[phase]["reads"] > 0
        assert result[phase]["since_commit"]["receipt"]["n"] == result[phase]["forgets"]
    assert load["flat"] is ("turns waited ever longer while it was measured" not in result["invalid_because"])
    assert result["purge"]["second_receipts"] >= 5
