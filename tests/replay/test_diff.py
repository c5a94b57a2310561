import asyncio
from typing import Any
from uuid import uuid4

import pytest

from events.errors import CenotaphError
from projections.exclusive import exclusive
from projections.follower import Follower
from projections.model import READ_MODELS
from projections.vector_mirror import VectorsMirror
from services.replay.compare import Report
from services.replay.standing import standings
from tests.conftest import Stores
from tests.dice import dice
from tests.replay.histories import Person, born
from tests.replay.models import Models, models
from workers.compare import Comparison

FIELDS = ("id", "tenant_id", "subject_id", "project", "task", "assistant", "purpose", "version", "position", "vector")


async def lived(own: Models, seed: int, steps: int = 12) -> list[Person]:
    """Let two people live, and every read model follow."""
    random = dice(seed)
    people = [await born(own.stores, own.log, random) for _ in range(2)]
    for person in people:
        await person.live(steps)
    await own.seal()
    await own.follow()
    return people


def told(report: Report) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(each.table, each.kind, each.columns) for each in report.differences]


async def test_what_nobody_touched_does_not_differ(apart: Stores) -> None:
    """Every read model is compared in full, at the position of its checkpoint, and nothing of the side is left."""
    async with models(apart) as own:
        await lived(own, 3, steps=30)
        reports = await own.reports()
        assert tuple(reports) == READ_MODELS
        assert {name: report.found for name, report in reports.items()} == dict.fromkeys(READ_MODELS, 0)
        assert all(report.compared > 0 for report in reports.values())
        async with apart.owner.connection() as connection:
            head = await connection.fetchval("select size - 1 from log.head")
            assert {report.position for report in reports.values()} == {head}
            left = "select count(*) from pg_class where relpersistence = 't' and relkind = 'r'"
            assert await connection.fetchval(left) == 0


async def test_an_empty_log_is_compared_too(apart: Stores) -> None:
    """Before anything was said there is nothing to differ, nor an index."""
    async with models(apart) as own:
        assert {(report.position, report.compared, report.found) for report in (await own.reports()).values()} == {
            (-1, 0, 0)
        }


CORRUPTIONS = {
    ("facts", "memory", "differs", ("confidence", "status")): (
        "update facts.memory set status = 'held', confidence = confidence + 1 where (memory_id, version) ="
        " (select memory_id, version from facts.memory where status = 'current' order by 1, 2 limit 1)"
        " returning memory_id::text || '/' || version"
    ),
    ("facts", "memory", "missing", ()): (
        "delete from facts.memory where (memory_id, version) ="
        " (select memory_id, version from facts.memory order by 1 desc, 2 desc limit 1)"
        " returning memory_id::text || '/' || version"
    ),
    ("facts", "subject", "extra", ()): (
        "insert into facts.subject values (gen_random_uuid(), gen_random_uuid(), 7) returning subject_id::text"
    ),
    ("keywords", "entry", "differs", ("terms",)): (
        "update keywords.entry set terms = terms || 7::bigint where memory_id ="
        " (select memory_id from keywords.entry order by 1 limit 1) returning memory_id::text"
    ),
    ("keywords", "entry", "missing", ()): (
        "delete from keywords.entry where memory_id ="
        " (select memory_id from keywords.entry order by 1 desc limit 1) returning memory_id::text"
    ),
    ("keywords", "entry", "extra", ()): (
        "insert into keywords.entry values (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, '{5}', 1)"
        " returning memory_id::text"
    ),
    ("sessions", "message", "differs", ("forgotten",)): (
        "update sessions.message set forgotten = not forgotten where message_id ="
        " (select message_id from sessions.message order by 1 limit 1) returning message_id::text"
    ),
    ("sessions", "turn", "missing", ()): (
        "delete from sessions.turn where turn_id = (select turn_id from sessions.turn order by 1 limit 1)"
        " returning turn_id::text"
    ),
    ("tasks", "task", "differs", ("errors",)): (
        "update tasks.task set errors = errors + 1 where task_id ="
        " (select task_id from tasks.task order by 1 limit 1) returning task_id::text"
    ),
    ("tasks", "item", "missing", ()): (
        "delete from tasks.item where item_id = (select item_id from tasks.item order by task_id, item_id limit 1)"
        " returning task_id || '/' || item_id"
    ),
    ("sessions", "turn", "extra", ()): (
        "insert into sessions.turn select tenant_id, subject_id, gen_random_uuid(), session_id, event_id, status,"
        " contexts, position, occurred_at, recorded_at, considered, project, task, assistant, purpose, rests_on,"
        " consolidated"
        " from sessions.turn limit 1 returning turn_id::text"
    ),
}


async def test_a_table_corrupted_by_hand_is_named(apart: Stores) -> None:
    """A row changed, deleted or added in any table is named by model, table, kind, id and column; all at once too."""
    async with models(apart) as own:
        await lived(own, 4, steps=40)
        async with apart.owner.connection() as connection:
            done = [(*what, await connection.fetchval(statement)) for what, statement in CORRUPTIONS.items()]
        reports = await own.reports("facts", "keywords", "sessions", "tasks")
        found = [
            (each.model, each.table, each.kind, each.columns, each.id)
            for report in reports.values()
            for each in report.differences
        ]
        assert sorted(found) == sorted(done)
        assert [report.found for report in reports.values()] == [3, 3, 3, 2]


async def test_an_index_corrupted_by_hand_is_named(apart: Stores) -> None:
    """In Milvus: a vector changed, a row deleted, one added, one with an invented position; each named by its id."""
    async with models(apart) as own:
        await lived(own, 7, steps=100)
        async with apart.owner.connection() as connection:
            mirror = VectorsMirror(own.milvus, own.index)
            rows = [entry async for entry in mirror.live(connection, own.place)]
        assert len(rows) >= 5
        changed, deleted, moved, *_ = rows
        added = uuid4()

        def corrupt(client: Any) -> None:  # noqa: ANN401 - pymilvus ships no types
            raw = client.get(own.place, ids=[changed.key[1], moved.key[1]], output_fields=["*"])
            held = {row["id"]: {name: row[name] for name in FIELDS} for row in raw}
            first, other = held[changed.key[1]], held[moved.key[1]]
            turned = first | {"vector": [-float(number) for number in first["vector"]]}
            client.upsert(own.place, [turned], partition_name=changed.key[0])
            client.upsert(own.place, [first | {"id": added.hex}], partition_name=changed.key[0])
            client.upsert(own.place, [other | {"position": 10**9}], partition_name=moved.key[0])
            client.delete(own.place, ids=[deleted.key[1]], partition_name=deleted.key[0])

        await own.milvus.write(lambda: own.milvus.call(own.place, corrupt))
        report = (await own.reports("vectors"))["vectors"]
        assert {(each.id, each.kind, each.columns) for each in report.differences} == {
            (changed.id, "differs", ("vector",)),
            (deleted.id, "missing", ()),
            (str(added), "extra", ()),
            (moved.id, "differs", ("position",)),
        }


async def test_nothing_differs_under_live_writes(apart: Stores) -> None:
    """People live, are followed in small batches and forgotten, with their keys destroyed, while all is compared."""
    async with models(apart) as own:
        people = await lived(own, 6)
        done = asyncio.Event()

        async def live() -> int:
            rounds = 0
            while not done.is_set():
                for person in people:
                    await person.live(2)
                    await person.shred(own.stores)
                await own.seal()
                for model in own.all.values():
                    await Follower(model, apart.projector, 5).step()
                rounds += 1
            return rounds

        living = asyncio.create_task(live())
        try:
            for _ in range(4):
                reports = await own.reports()
                assert [each for report in reports.values() for each in report.differences] == []
        finally:
            done.set()
        assert await living > 3


async def test_a_follower_that_lags_is_not_a_difference(apart: Stores) -> None:
    """What was forgotten, and whose body is gone, behind the checkpoint of a stopped follower is no fault of it."""
    async with models(apart) as own:
        people = await lived(own, 7)
        for person in people:
            for turn in list(person.said)[:3]:
                await person.forget(turn)
            await person.shred(own.stores)
        await own.seal()
        reports = await own.reports()
        assert {name: told(report) for name, report in reports.items()} == {name: [] for name in READ_MODELS}
        await own.follow()
        assert {name: told(report) for name, report in (await own.reports()).items()} == {
            name: [] for name in READ_MODELS
        }


async def test_one_at_a_time(apart: Stores) -> None:
    """A read model that is being rebuilt or compared is refused to whoever comes second, by name."""
    async with models(apart) as own:
        await lived(own, 8, steps=1)
        async with exclusive(apart.owner, "keywords"):
            with pytest.raises(CenotaphError, match="keywords is being rebuilt or compared"):
                await own.reports("keywords")
            with pytest.raises(CenotaphError, match="keywords is being rebuilt or compared"):
                await Follower(own.all["keywords"], apart.owner).rebuild()
        assert (await own.reports("keywords"))["keywords"].found == 0


async def test_it_is_compared_again_when_the_last_time_is_long_ago(apart: Stores) -> None:
    """The worker compares what was never compared, lets it rest however often it starts, and comes back in time."""
    async with models(apart) as own:
        (person, *_) = await lived(own, 9, steps=2)
        await person.accept(next(iter(person.said)))
        await own.seal()
        await own.follow()

        def worker() -> Comparison:
            return Comparison(apart.projector, own.differ("facts", "keywords"), every_s=3600, settle_s=0)

        first = worker()
        assert [await first.step(), await first.step()] == [2, 0]
        assert await worker().step() == 0
        async with apart.owner.connection() as connection:
            await connection.execute("update read_model.compared set at = at - interval '2 hours'")
            await connection.execute("delete from keywords.entry")
        assert await worker().step() == 2
        async with apart.reader.connection() as connection:
            found = {each.model: each.differences for each in await standings(connection)}
    assert found["facts"] == 0
    assert found["keywords"] is not None
    assert found["keywords"] > 0
    assert found["sessions"] is None


async def test_a_rebuild_makes_right_what_the_comparison_named(apart: Stores) -> None:
    """An emptied table and a lost collection are named; after a rebuild nothing differs any more."""
    async with models(apart) as own:
        await lived(own, 10, steps=6)
        async with apart.owner.connection() as connection:
            await connection.execute("delete from keywords.entry")
        await own.milvus.write(lambda: own.milvus.call(own.place, lambda client: client.drop_collection(own.place)))
        assert {name for name, report in (await own.reports()).items() if report.found} == {"keywords", "vectors"}
        for name in ("keywords", "vectors"):
            await Follower(own.all[name], apart.owner).rebuild()
        assert {name: told(report) for name, report in (await own.reports()).items()} == {
            name: [] for name in READ_MODELS
        }
