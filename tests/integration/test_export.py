"""Exports on real stores: what may leave, what is registered, what a deletion says of it, what a file still holds."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from cenotaph.lines import Lines
from events.model import MemoryId, Scope, TenantId
from projections.choices import TRAINING
from services.recall.register import Register
from services.wire.exports import Purpose
from services.wire.receipts import LayerView, ReceiptView
from tests.integration.test_forgetting_controls import Idle
from tests.plant import Plant, planted

SAID = "请记住：我喜欢北京烤鸭。"


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


async def export(
    plant: Plant, owner: Scope | TenantId, purpose: Purpose
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Export; return the memories and the tail, after checking the whole."""
    lines, rows = Lines(), []
    async for line in plant.composition.backend.export(owner, purpose):
        rows += [json.loads(each) for each in lines.cut(line)]
    lines.end()
    head, *memories, tail = rows
    assert (head["schema"], head["export_id"]) == ("cenotaph.export/1", tail["export_id"])
    assert tail["memories"] == len(memories)
    return memories, tail


def layer(receipt: ReceiptView, name: str) -> LayerView:
    return next(each for each in receipt.layers if each.layer == name)


async def test_a_person_gets_everything_and_a_deletion_names_the_files_that_hold_it(plant: Plant) -> None:
    """All versions leave, registered; after a forget the receipt names the export, the check its lines."""
    scope, stranger = await plant.person(), await plant.person()
    memory = await plant.remember(scope, "请记住：我喜欢吃辣。", "好的。")
    assert await plant.remember(scope, "我现在不喜欢吃辣了。", "好的。") == memory
    held = (await plant.say(scope, "对了，我对青霉素过敏。", "好的。")).verdicts[0].memory_id
    await plant.remember(stranger, SAID, "好的。")
    memories, tail = await export(plant, scope, "download")
    assert {(each["memory_id"], each["version"]) for each in memories} == {
        (str(memory), 1),
        (str(memory), 2),
        (str(held), 0),
    }
    assert all(each["content"] and each["sources"] for each in memories)

    export_id = UUID(tail["export_id"])
    backend = plant.composition.backend
    registered = await backend.export_detail(scope, export_id)
    assert registered is not None
    assert (registered.memories, registered.digest, registered.forgotten) == (3, tail["digest"], ())
    assert await backend.export_detail(stranger, export_id) is None
    assert await backend.export_detail(plant.tenant, export_id) is None
    assert (await backend.exports(stranger)).exports == (await backend.exports(plant.tenant)).exports == ()

    receipt = await plant.forget(scope, memory)
    detail = await backend.export_detail(scope, export_id)
    assert detail is not None
    assert {(each.memory_id, each.version) for each in detail.forgotten} == {(memory, 1), (memory, 2)}
    await plant.follow()
    control = await plant.finish(scope, receipt, registry=plant.registry(Idle("exports")))
    assert (control.decision, layer(control, "exports").state) == ("DELETION_PENDING", "present")
    shown = await plant.until(scope, receipt)
    assert (layer(shown, "exports").state, layer(shown, "exports").holders) == ("masked", (export_id,))
    assert shown.statement is not None
    assert str(export_id) in shown.statement
    memories, tail = await export(plant, scope, "download")
    assert [each["memory_id"] for each in memories] == [str(held)]
    receipt = await plant.forget(stranger, await only(plant, stranger))
    await plant.follow()
    assert layer(await plant.until(stranger, receipt), "exports").state == "absent"


async def only(plant: Plant, scope: Scope) -> MemoryId:
    (memory,) = (await plant.composition.backend.memories(scope, None, 100, None)).memories
    return memory.memory_id


async def test_a_tenants_set_holds_only_what_was_agreed_to(plant: Plant) -> None:
    """Without consent to training nobody is in it; sensitive and withheld memories never are, nor other tenants."""
    tenant = await plant.composition.vault("keeper").create_tenant()
    theirs = Plant(plant.embedded, plant.composition, tenant, followed=plant.followed)
    willing, silent, changed = [await theirs.person() for _ in range(3)]
    memories = {}
    for scope in (willing, silent, changed):
        memories[scope.subject_id] = await theirs.remember(scope, SAID, "好的。")
    await theirs.say(willing, "请记住：我对青霉素过敏。", "好的。")
    backend = plant.composition.backend
    await backend.consent(willing, "health", given=True)
    await backend.consent(willing, TRAINING, given=True)
    await backend.consent(changed, TRAINING, given=True)
    await backend.consent(changed, TRAINING, given=False)
    await theirs.follow()
    mine = await plant.person()
    await backend.consent(mine, TRAINING, given=True)
    await plant.remember(mine, SAID, "好的。")

    found, tail = await export(plant, tenant, "training")
    assert [(each["memory_id"], each["person"]) for each in found] == [
        (str(memories[willing.subject_id]), str(willing.subject_id))
    ]
    assert found[0]["sources"] == []
    assert tail["left_out"] == {"no_consent": 2, "sensitive": 1}
    export_id = UUID(tail["export_id"])
    assert await backend.export_detail(willing, export_id) is None
    assert await backend.export_detail(plant.tenant, export_id) is None
    receipt = await theirs.forget(willing, memories[willing.subject_id])
    await theirs.follow()
    assert layer(await theirs.until(willing, receipt), "exports").holders == (export_id,)
    detail = await backend.export_detail(tenant, export_id)
    assert detail is not None
    assert [each.memory_id for each in detail.forgotten] == [memories[willing.subject_id]]
    assert (await export(plant, tenant, "evaluation"))[0] == []


async def test_what_is_forgotten_while_it_leaves_is_barred_or_named(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forget between the read and the fence takes the line out; one behind it finds the registration."""
    scope = await plant.person()
    memory = await plant.remember(scope, SAID, "好的。")
    reached, go_on = asyncio.Event(), asyncio.Event()
    add = Register.add

    async def slow(self: Register, *args: Any) -> set[MemoryId]:  # noqa: ANN401 - passed on as they are
        reached.set()
        await go_on.wait()
        return await add(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Register, "add", slow)
        under_way = asyncio.create_task(export(plant, scope, "download"))
        await reached.wait()
        receipt = await plant.forget(scope, memory)
        go_on.set()
        memories, tail = await under_way
    assert memories == []
    lines = plant.composition.backend.export(other := await plant.person(), "download")
    kept = await plant.remember(other, SAID, "好的。")
    await anext(lines)  # the head
    line = json.loads(await anext(lines))
    assert line["memory_id"] == str(kept)
    late = await plant.forget(other, kept)
    await plant.follow()
    cut = await plant.until(other, late)
    (export_id,) = layer(cut, "exports").holders
    found = await plant.composition.backend.export_detail(other, export_id)
    assert found is not None
    assert (found.digest, [each.memory_id for each in found.forgotten]) == (None, [kept])
    await plant.until(scope, receipt)
    assert tail["memories"] == 0
