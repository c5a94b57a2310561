"""kill -9 while a workflow works: no step is repeated, none is lost, what was learned reaches the next round."""

import asyncio
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.faults.house import House, housed
from tests.faults.lives import Lives, counted, lives

FAILPOINTS = ("task.leased", "task.appended", "follow.tasks", "remember.appended")
SHOWN = ("status", "version", "goal", "constraints", "current_step", "completed", "pending", "key_facts", "last_result")
NUMBERS = ("round", "errors", "budget_left", "turn_id", "lessons")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """Run the servers."""
    async with housed(tmp_path) as house:
        yield house


@dataclass
class Work:
    """A workflow that forgets everything with each death but the task's id: it asks for the state and goes on."""

    lives: Lives
    token: str
    trail: list[dict[str, Any]]

    async def round(self, task: str) -> None:
        """Carry a task of three steps out to its end, one command after the other."""
        begun = {
            "command_id": "start",
            "task_id": task,
            "type": "行程",
            "name": "杭州",
            "goal": "排好行程",
            "constraints": ["no planes"],
            "steps": ["查高铁", "book a hotel", "写行程"],
            "budget": {"calls": 9},
        }
        await self._note(await self.lives.call("POST", "/v1/tasks", begun, self.token))
        while True:
            seen = await self.lives.call("GET", f"/v1/tasks/{task}", token=self.token)
            if seen["current_step"] is not None:
                step = seen["current_step"]["id"]
                fact = {"facts": [{"text": f"{len(seen['completed'])} 步"}], "result": {"text": "trains/1.json"}}
                await self.do(task, "observe", **fact)
                await self.do(task, "spend", spent={"calls": 1})
                await self.do(task, "finish_step", step_id=step)
            elif seen["pending"]:
                await self.do(task, "begin_step", step_id=seen["pending"][0]["id"])
            else:
                break
        lesson = {"judged_wrong": "先订了票", "severity": "high", "instead": "先看酒店有没有房"}
        await self.do(task, "complete", outcome="succeeded", summary="都订好了", reflections=[lesson])
        async with asyncio.timeout(60):
            while not await self.learned(task):  # noqa: ASYNC110 - another process considers and follows
                await asyncio.sleep(0.05)

    async def learned(self, task: str) -> bool:
        """Tell whether the read models know that the task is over, and what was learned."""
        listed = await self.lives.call("GET", "/v1/tasks", token=self.token)
        over = {each["task_id"] for each in listed["tasks"] if each["status"] == "succeeded"}
        page = await self.lives.call("GET", "/v1/memories", token=self.token)
        return task in over and "reflection" in {each["kind"] for each in page["memories"]}

    async def do(self, task: str, do: str, **fields: object) -> dict[str, Any]:
        """Change the task on the version it has now; sent again until it is answered, under one command id."""
        version = (await self.lives.call("GET", f"/v1/tasks/{task}", token=self.token))["version"]
        command = {"command_id": f"{do}-{version}", "expected_version": version, "change": {"do": do, **fields}}
        return await self._note(await self.lives.call("POST", f"/v1/tasks/{task}", command, self.token))

    async def _note(self, seen: dict[str, Any]) -> dict[str, Any]:
        self.trail.append({name: _texts(seen[name]) for name in (*SHOWN, *NUMBERS)})
        return seen


def _texts(value: object) -> object:
    """Leave ids out: they are made up anew for every task."""
    if isinstance(value, list):
        return [_texts(each) for each in value]
    return value["text"] if isinstance(value, dict) and "text" in value else value


async def work(held: Lives, house: House, name: str) -> Work:
    """Mint a workflow's token."""
    minted = await held.call("POST", "/v1/tokens", {"subject": name, "role": "workflow"}, house.key)
    return Work(held, minted["token"], [])


async def test_a_task_survives_a_kill_at_every_failpoint(house: House) -> None:
    """Two rounds of a task go the same way, answer by answer, with the process killed at each place again and again."""
    plan = ["task.leased:1", "task.appended:2", "follow.tasks:1", "remember.appended:1", "task.appended:3"]
    hits = house.data / "hits"
    async with lives(house.composition.endpoints, house.data, hits) as held:
        held.begin()
        calm = await work(held, house, "calm")
        for task in ("t1", "t2"):
            await calm.round(task)
        held.arm(plan)
        restless = await work(held, house, "restless")
        await held.turn_over()
        for task in ("t1", "t2"):
            await restless.round(task)
        await held.end()
    assert restless.trail == calm.trail
    assert [each["lessons"] for each in calm.trail if each["version"] == 1][1] == ["先订了票 → 先看酒店有没有房 (high)"]
    assert held.killed == plan
    assert held.codes.count(-signal.SIGKILL) == len(plan)
    assert set(FAILPOINTS) <= set(counted(hits))
