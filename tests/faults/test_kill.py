"""kill -9 between durable steps: nothing acknowledged is lost, nothing applied twice, every erasure ends."""

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from services.forgetting.receipt import verify
from tests.faults.conversation import Forget, Say, conversation
from tests.faults.house import House, housed
from tests.faults.lives import Lives, counted, lives

FAILPOINTS = (
    "ingest.leased",
    "ingest.appended",
    "seal.commits",
    "follow.facts",
    "follow.keywords",
    "follow.sessions",
    "follow.vectors",
    "follow.dispatch",
    "remember.appended",
    "erase.prepared",
    "erase.destroyed",
    "erase.removed",
    "erase.recorded",
    "erase.proven",
    "erase.signed",
)
STATUSES = ("active", "held", "superseded", "forgotten")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """Run the servers."""
    async with housed(tmp_path) as house:
        yield house


@dataclass(frozen=True)
class Person:
    """Somebody who talks to the system, whatever happens to it."""

    lives: Lives
    token: str

    async def play(self, seed: int, turns: int) -> int:
        """Play a conversation to its end, waiting for every answer over all deaths; return how much was forgotten."""
        forgotten: set[str] = set()
        for step in conversation(seed, turns):
            if isinstance(step, Say):
                await asyncio.gather(*(self.say(turn) for turn in step.turns))
            elif isinstance(step, Forget):
                forgotten |= await self.forget(step.turn_id)
        return len(forgotten)

    async def say(self, turn: dict[str, Any]) -> None:
        """Hand a turn over and wait until it is considered."""
        answer = await self.lives.call("POST", "/v1/turns", turn, self.token)
        assert answer["state"] in {"stored", "known"}
        async with asyncio.timeout(60):
            state = "pending"
            while state != "considered":
                await asyncio.sleep(0.03)
                state = (await self.outcome(turn["turn_id"]))["state"]

    async def outcome(self, turn_id: str) -> dict[str, Any]:
        """Ask what became of a turn."""
        return await self.lives.call("GET", f"/v1/turns/{turn_id}", token=self.token)

    async def forget(self, turn_id: str) -> set[str]:
        """Forget what a turn led to; return the receipts' ids, old ones where it was forgotten before."""
        verdicts = (await self.outcome(turn_id))["verdicts"]
        memories = {each["memory_id"] for each in verdicts if each["outcome"] in {"accepted", "reinforced"}}
        answers = [
            await self.lives.call("POST", "/v1/forget", {"memory_id": memory}, self.token)
            for memory in sorted(memories)
        ]
        return {answer["receipt_id"] for answer in answers}

    async def receipts(self) -> list[dict[str, Any]]:
        """Wait until no receipt is pending; return them all."""
        async with asyncio.timeout(60):
            while True:
                page = await self.lives.call("GET", "/v1/receipts?limit=100", token=self.token)
                if all(each["decision"] == "deletion_propagated" for each in page["receipts"]):
                    return list(page["receipts"])
                await asyncio.sleep(0.1)

    async def memories(self) -> Counter[tuple[Any, ...]]:
        """Return everything that is kept, without ids and times of recording."""
        kept: Counter[tuple[Any, ...]] = Counter()
        for status in STATUSES:
            page = await self.lives.call("GET", f"/v1/memories?limit=100&status={status}", token=self.token)
            kept.update(
                (
                    *(each[name] for name in ("status", "version", "kind", "key", "value", "content", "positive")),
                    tuple((source["turn_id"], source["state"]) for source in each["sources"]),
                )
                for each in page["memories"]
            )
        return kept


async def meet(held: Lives, house: House, name: str) -> Person:
    """Mint a person's token."""
    minted = await held.call("POST", "/v1/tokens", {"subject": name, "role": "agent"}, house.key)
    return Person(held, minted["token"])


async def check(house: House, name: str, turns: int) -> list[tuple[Any, ...]]:
    """Look into the log and the facts: every turn once, considered once, positions dense; return the folded state."""
    scope = await house.scope(name)
    async with house.composition.log(None).connection() as connection:
        rows = await connection.fetch(
            "select type, count(*) as n from log.event where subject_id = $1 group by type", scope.subject_id
        )
        counts = {row["type"]: row["n"] for row in rows}
        assert counts["turn_finalized"] == counts["turn_considered"] == turns, counts
        followed = await connection.fetchval(
            "select count(*) from sessions.turn where considered and subject_id = $1", scope.subject_id
        )
        assert followed == turns
        dense = await connection.fetchrow("select count(*) as n, max(position) + 1 as top from log.sealed")
        assert dense is not None
        assert dense["n"] == dense["top"]
        assert await connection.fetchval("select count(*) from ops.dead_letter") == 0
        facts = await connection.fetch(
            "select version, status, kind, reinforced, source_forgotten from facts.memory where subject_id = $1",
            scope.subject_id,
        )
    return sorted(tuple(row.values()) for row in facts)


async def torture(house: House, seed: int, turns: int, plan: list[str]) -> Counter[str]:
    """Play a conversation undisturbed and once more while the process is killed at each point of the plan; compare."""
    hits = house.data / "hits"
    async with lives(house.composition.endpoints, house.data, hits) as held:
        held.begin()
        calm = await meet(held, house, "calm")
        forgotten = await calm.play(seed, turns)
        undisturbed, receipts = await calm.memories(), await calm.receipts()
        assert len(receipts) == forgotten
        held.arm(plan)
        restless = await meet(held, house, "restless")
        await held.turn_over()
        assert await restless.play(seed, turns) == forgotten
        extra = turns
        while held.armed != "-":  # the last of them need a few more turns and erasures to come by
            other = await meet(held, house, f"other-{extra}")
            await other.play(seed, 6)
            await other.receipts()
            extra += 1
        signed = await restless.receipts()
        assert len(signed) == forgotten
        assert all(verify(each["statement"], each["signature"], each["signing_key"]) for each in signed)
        assert await restless.memories() == undisturbed
        await held.end()
    assert held.killed == plan
    assert held.codes.count(-signal.SIGKILL) == len(plan)
    assert await check(house, "restless", turns) == await check(house, "calm", turns)
    for name in ("calm", "restless"):
        await nothing_left(house, name, forgotten)
    return counted(hits)


async def nothing_left(house: House, name: str, forgotten: int) -> None:
    """No key that a tombstone names is left, nor the key of any probe, and no receipt was written twice."""
    scope, opener = await house.scope(name), house.composition.vault("opener")
    async with house.composition.log(None).connection() as connection:
        fenced = await connection.fetch("select target from log.fence where tenant_id = $1", scope.tenant_id)
        assert not await opener.present([row["target"] for row in fenced])
        probes = await connection.fetch("select probe_key, probe from ops.erasure")
        receipts = await connection.fetchval(
            "select count(*) from log.event where type = 'erasure_verified' and subject_id = $1", scope.subject_id
        )
        async with asyncio.timeout(60):  # the probes' key is destroyed behind the receipt, and then no longer named
            while True:
                if not await connection.fetchval("select exists (select from ops.erasure where probe_key is not null)"):
                    break
                await asyncio.sleep(0.1)
    assert not await opener.present([row["probe_key"] for row in probes if row["probe_key"] is not None])
    assert receipts == forgotten
    assert all(row["probe"] is None for row in probes)


Report = Callable[[str, object], None]


@pytest.fixture
def report(record_property: Report, capsys: pytest.CaptureFixture[str]) -> Report:
    """Give a way to put numbers into the run's report, and before the eyes of whoever watches it."""

    def note(name: str, value: object) -> None:
        record_property(name, value)
        with capsys.disabled():
            sys.stdout.write(f"\n{name}: {value}\n")

    return note


async def test_thirty_turns_survive_a_kill_at_every_failpoint(house: House, report: Report) -> None:
    """Thirty turns and their erasures end as if nothing had happened, with one death at each named place."""
    hits = await torture(house, 7, 30, [f"{name}:{1 + number % 2}" for number, name in enumerate(FAILPOINTS)])
    report("hits", dict(hits))
    assert set(FAILPOINTS) <= set(hits)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, 2])
async def test_two_hundred_turns_survive_sixty_kills(house: House, seed: int, report: Report) -> None:
    """Two hundred turns and their erasures end as if nothing had happened, with four deaths at each named place."""
    plan = [
        f"{name}:{1 + (number + seed) % 4}" for round_ in range(4) for number, name in enumerate(FAILPOINTS, round_)
    ]
    hits = await torture(house, seed, 200, plan)
    report("hits", dict(hits))
    assert set(FAILPOINTS) <= set(hits)
