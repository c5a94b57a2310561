"""Another embedding model: built beside, compared, switched at once, kept, dropped; vectors of two models never mix."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from events import failpoint
from events.errors import BadInputError
from events.model import Embedded, MemoryId, Scope
from projections.follower import Follower
from projections.model_names import default_model, place_of_model, uncentred_model, use_model
from projections.vector_index import vector_places
from services.upkeep.reindex import Comparison, Reindex
from tests.plant import Plant, planted

SAID = ("我喜欢喝抹茶", "我住在苏州", "I play the violin", "My dog is called Biscuit", "我喜欢喝乌龙茶")
MODELS = {"same dimension": uncentred_model, "other dimension": use_model}


class Dead(Exception):  # noqa: N818 - the test's own way out, like a kill -9
    """The process dies here."""


@pytest.fixture
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own; each test changes the one index there is."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


async def lives(plant: Plant) -> tuple[Scope, dict[str, MemoryId]]:
    scope = await plant.person()
    return scope, {said: await plant.remember(scope, said) for said in SAID}


async def follow(plant: Plant) -> None:
    """Let the makers and both indexes catch up."""
    composition = plant.composition
    await Follower(composition.embedding, composition.log("eraser"), 50).catch_up()
    await plant.follow()
    await Follower(composition.beside, composition.log("projector")).catch_up()


async def rows(plant: Plant, place: str, scope: Scope) -> dict[str, Any]:
    """Read one person's rows of a collection raw, by memory."""
    milvus = plant.composition.milvus

    def ask(client: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - pymilvus ships no types
        if not client.has_collection(place):
            return []
        which = f'subject_id == "{scope.subject_id.hex}"'
        found: list[dict[str, Any]] = client.query(place, filter=which, output_fields=["id", "vector"])
        return found

    found = await milvus.read(lambda: milvus.call(place, ask))
    return {row["id"]: np.asarray(row["vector"], dtype=np.float32) for row in found}


async def places(plant: Plant) -> tuple[str, str | None]:
    """Name the collection that serves, and what is beside it."""
    async with plant.owner() as connection:
        found = await vector_places(connection)
    return found["vectors"].place, found["vectors_beside"].place if "vectors_beside" in found else None


async def agree(plant: Plant) -> None:
    async for report in plant.composition.differ().run():
        assert report.found == 0, report


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
async def test_the_model_is_changed_while_people_are_remembered(plant: Plant, model: Any) -> None:  # noqa: ANN401
    """What is there is found by the new vectors after the switch, what is said later too; a rebuild embeds nothing."""
    scope, memories = await lives(plant)
    changing, old = plant.composition.reindex, (await places(plant))[0]
    await changing.build(model())
    compared = await changing.compare(50)
    assert isinstance(compared, Comparison)
    assert (compared.queries, compared.serving, compared.built) == (len(SAID), default_model(), model())
    assert (compared.first_serving, compared.first_built, compared.overlap) == (1, 1, 1)
    await changing.switch(timedelta(hours=1))
    assert await places(plant) == (place_of_model(model()), old)
    assert memories["I play the violin"] in await plant.recalled(scope, "Which instrument do I play?")
    later = await plant.remember(scope, "我养了一只猫叫年糕")
    await follow(plant)
    new_rows, old_rows = await rows(plant, place_of_model(model()), scope), await rows(plant, old, scope)
    assert new_rows.keys() == old_rows.keys() == {each.hex for each in (*memories.values(), later)}
    mixed = [each for each in new_rows if new_rows[each].shape == old_rows[each].shape]
    assert not [each for each in mixed if np.allclose(new_rows[each], old_rows[each], atol=1e-4)]
    made = plant.composition.models.of(model())
    (expected,) = await made.embed_passages(["住在苏州"])
    assert max(float(vector @ expected) for vector in new_rows.values()) > 0.99
    assert later in await plant.recalled(scope, "猫叫什么名字？")
    before = len([each for each in await plant.stream(scope) if isinstance(each.event, Embedded)])
    await plant.rebuild("vectors")
    assert len(await rows(plant, (await places(plant))[0], scope)) == len(new_rows)
    assert len([each for each in await plant.stream(scope) if isinstance(each.event, Embedded)]) == before
    await agree(plant)


async def test_what_is_forgotten_during_the_build_and_the_grace_is_in_neither_index(plant: Plant) -> None:
    """The probe asks both while both exist, also before the new one has caught up; keys take the new vectors along."""
    scope, memories = await lives(plant)
    changing = plant.composition.reindex
    await changing.build(uncentred_model())
    first = await plant.forget(scope, memories["我喜欢喝抹茶"])
    await plant.follow()
    assert (await plant.until(scope, first)).decision == "deletion_propagated"
    await changing.switch(timedelta(hours=1))
    second = await plant.forget(scope, memories["我住在苏州"])
    await plant.follow()
    # the one that served before has not followed yet, so nothing is proven
    assert (await plant.finish(scope, second)).decision == "DELETION_PENDING"
    await follow(plant)
    assert (await plant.until(scope, second)).decision == "deletion_propagated"
    gone = {memories["我喜欢喝抹茶"].hex, memories["我住在苏州"].hex}
    for place in await places(plant):
        assert place is not None
        assert len(kept := await rows(plant, place, scope)) == len(SAID) - 2
        assert not kept.keys() & gone
    async with plant.owner() as connection:
        left = await connection.fetchval(
            "select count(*) from log.body where part like 'vector:%' and subject_id = $1", scope.subject_id
        )
    assert left == len(SAID) - 2
    await agree(plant)


async def test_a_build_that_dies_at_any_point_goes_on(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the start, while embedding, while indexing, and in the switch, which then has not happened."""
    scope, memories = await lives(plant)
    changing = plant.composition.reindex
    for point in ("reindex.begun", "reindex.embedding", "reindex.indexing", "reindex.switching"):
        _light(monkeypatch, point)
        with pytest.raises(Dead):
            await _all(changing)
        assert (await changing.standing()).serving == default_model()
        assert memories["我住在苏州"] in await plant.recalled(scope, "我住在哪个城市？")
    monkeypatch.undo()
    await _all(changing)
    assert (await changing.standing()).serving == uncentred_model()
    embedded = [each.event for each in await plant.stream(scope) if isinstance(each.event, Embedded)]
    assert sorted(source for event in embedded for source in event.sources) == sorted(
        {source for event in embedded for source in event.sources}
    )
    assert len(await rows(plant, place_of_model(uncentred_model()), scope)) == len(SAID)
    await agree(plant)


async def test_the_old_index_is_dropped_when_its_time_is_over_and_nobody_waits_for_it(plant: Plant) -> None:
    """Before that nothing is dropped; another model must wait; afterwards one can go back."""
    scope, _ = await lives(plant)
    changing, old = plant.composition.reindex, (await places(plant))[0]
    with pytest.raises(BadInputError, match="already"):
        await changing.build(default_model())
    with pytest.raises(BadInputError, match="nothing was built"):
        await changing.switch(timedelta())
    await changing.build(uncentred_model())
    await changing.switch(timedelta(hours=1))
    assert await changing.retire() == 0
    with pytest.raises(BadInputError, match="--drop"):
        await changing.build(default_model())
    assert await rows(plant, old, scope)
    async with plant.owner() as connection:
        await connection.execute(
            "update read_model.checkpoint set until = $1 where until is not null", datetime.now(UTC) - timedelta(1)
        )
    assert await changing.retire() == 1
    assert await rows(plant, old, scope) == {}
    await changing.build(default_model())
    await changing.switch(timedelta())
    assert (await changing.standing()).serving == default_model()
    assert await changing.drop()
    assert len(await rows(plant, (await places(plant))[0], scope)) == len(SAID)
    await agree(plant)


async def _all(changing: Reindex) -> None:
    await changing.build(uncentred_model())
    await changing.switch(timedelta(hours=1))


def _light(monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    def hit(name: str) -> None:
        if name == point:
            raise Dead

    monkeypatch.setattr(failpoint, "hit", hit)
