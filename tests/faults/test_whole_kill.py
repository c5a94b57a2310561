"""kill -9 while a whole person or tenant is erased: it ends in the same receipt, and nobody else loses anything."""

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import pytest

from events.model import Scope, SubjectId, TenantId
from projections.follower import place_of
from projections.vector_probe import VectorProbe
from services.forgetting.previews import whole_digest
from services.forgetting.receipt import verify
from tests.faults.house import House, housed
from tests.faults.lives import Lives, counted, lives
from tests.plant import OWNED

STEPS = ("prepared", "destroyed", "removed", "recorded", "proven", "signed", "released")
PERSON = [f"erase.{step}:1" for step in STEPS]
TENANT = [f"erase.{step}:{2 if step in {'destroyed', 'removed'} else 1}" for step in STEPS]
"""Person by person: the second death leaves a tenant of which some have gone."""
SAID = ("我住在苏州。", "请记住：我喜欢北京烤鸭。", "Remember that I love hiking.")
_ELSEWHERE = "select count(*) from {table} where not (tenant_id = $1 and ($2::uuid is null or subject_id = $2))"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """Run the servers."""
    async with housed(tmp_path) as house:
        yield house


def turn(number: int, said: str) -> dict[str, Any]:
    return {
        "turn_id": f"t{number}",
        "session_id": "s1",
        "occurred_at": f"2026-08-01T09:0{number}:00+08:00",
        "messages": [{"message_id": "m1", "role": "user", "content": said}],
    }


async def lived(held: Lives, key: str, name: str) -> str:
    """Let somebody say some things, and wait until they are considered; return a token."""
    token: str = (await held.call("POST", "/v1/tokens", {"subject": name, "role": "person"}, key))["token"]
    for number, said in enumerate(SAID):
        await held.call("POST", "/v1/turns", turn(number, said), token)
    async with asyncio.timeout(60):
        for number in range(len(SAID)):
            await considered(held, token, number)
    return token


async def considered(held: Lives, token: str, number: int) -> None:
    """Wait for a turn's outcome."""
    state = "pending"
    while state != "considered":
        await asyncio.sleep(0.05)
        state = (await held.call("GET", f"/v1/turns/t{number}", token=token))["state"]


async def kept(held: Lives, token: str) -> list[tuple[str, str]]:
    """Return what a person has, opened."""
    page = await held.call("GET", "/v1/memories?limit=100", token=token)
    return sorted((each["memory_id"], each["content"]) for each in page["memories"])


async def elsewhere(house: House, tenant: TenantId, subject: SubjectId | None) -> dict[str, int]:
    """Count what everybody else has, in every layer."""
    found = {}
    async with house.composition.log(None).connection() as connection:
        for table in OWNED:
            found[table] = await connection.fetchval(_ELSEWHERE.format(table=table), tenant, subject)
        place = await place_of(connection, "vectors")
    pool = house.composition._pool(house.composition.endpoints.vault_url, None)
    async with pool.connection() as connection:
        for table in ("vault.person", "vault.alias"):  # data keys are leased ahead
            found[table] = await connection.fetchval(_ELSEWHERE.format(table=table), tenant, subject)
    probe = VectorProbe(house.composition.endpoints.milvus_uri, place)
    found["vectors"] = await probe.count() - await probe.count(tenant, subject)
    await probe.close()
    return found


async def erased(
    held: Lives, house: House, scope: Scope, what: Literal["person", "tenant"], plan: Sequence[str]
) -> dict[str, Any]:
    """Forget all of somebody while nothing runs, then die at each point of the plan; return the receipt."""
    await held.end()
    before = len(held.killed)
    backend = house.composition.backend
    first = await backend.forget_whole(scope, what, whole_digest(scope, what))
    held.arm(plan)
    held.begin()
    capability = house.composition.tokens.capability(scope, first.receipt_id)
    ended = "select propagated_at is not null and probe_key is null from ops.erasure where tombstone = $1"
    async with asyncio.timeout(240):
        while True:
            async with house.composition.log(None).connection() as connection:
                done = await connection.fetchval(ended, first.receipt_id)
            if done and held.armed == "-":
                break
            await asyncio.sleep(0.1)
    shown = await held.call("GET", f"/v1/receipts/{first.receipt_id}", token=capability)
    assert held.killed[before:] == list(plan)
    assert (await backend.forget_whole(scope, what, whole_digest(scope, what))).receipt_id == first.receipt_id
    async with house.composition.log(None).connection() as connection:
        signed = await connection.fetchval(
            "select count(*) from log.event where type = 'erasure_verified' and tenant_id = $1 and subject_id = $2",
            scope.tenant_id,
            scope.subject_id,
        )
    assert signed == 1
    assert shown["decision"] == "deletion_propagated"
    assert verify(shown["statement"], shown["signature"], shown["signing_key"])
    assert set(shown["negative_queries"].values()) == {0}
    return shown


@pytest.mark.timeout(600)
async def test_a_person_and_a_tenant_are_erased_over_a_kill_at_every_step(house: House) -> None:
    """Killed at each failpoint, of a tenant with some gone and some left, it ends in one receipt; others keep all."""
    other, key = await house.composition.create_tenant()
    hits = house.data / "hits"
    async with lives(house.composition.endpoints, house.data, hits) as held:
        held.begin()
        stays = await lived(held, house.key, "留下的人")
        await lived(held, house.key, "Gone")
        for name in ("甲", "乙"):
            await lived(held, key, name)
        had = await kept(held, stays)
        assert len(had) == len(SAID)
        await house.composition.vectors.flush("memory_v1")

        person = await house.scope("Gone")
        counts = await elsewhere(house, person.tenant_id, person.subject_id)
        shown = await erased(held, house, person, "person", PERSON)
        assert shown["scope"] == "person"
        assert await elsewhere(house, person.tenant_id, person.subject_id) == counts

        everybody = Scope(tenant_id=other, subject_id=SubjectId(UUID(int=0)))
        counts = await elsewhere(house, other, None)
        shown = await erased(held, house, everybody, "tenant", TENANT)
        assert shown["scope"] == "tenant"
        assert await elsewhere(house, other, None) == counts
        assert await kept(held, stays) == had
        await held.end()
    assert Counter(held.codes)[-signal.SIGKILL] == len(PERSON) + len(TENANT)
    assert {f"erase.{step}" for step in STEPS} <= set(counted(hits))
