"""The whole path on real parts: turn → memory → context → forget → signed receipt."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from ops.composition import Composition
from ops.embedded import Embedded
from ops.run import ALL_WORKERS, Running
from ops.settings import load_settings
from services.forgetting.receipt import verify


@pytest.fixture(scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[str, str]]:
    """Run the system on servers of its own; give its address and a tenant key."""
    settings = load_settings(data=tmp_path_factory.mktemp("up"), port=0)
    with Embedded(settings) as embedded:
        composition = Composition(settings, embedded.endpoints)
        await composition.migrate()
        _, key = await composition.create_tenant()
        async with Running(composition, ALL_WORKERS, door=True) as up:
            yield f"http://127.0.0.1:{up.port}", key


async def client(running: tuple[str, str], subject: str) -> httpx.AsyncClient:
    url, key = running
    async with httpx.AsyncClient(base_url=url) as http:
        answer = await http.post(
            "/v1/tokens", json={"subject": subject, "role": "agent"}, headers={"Authorization": f"Bearer {key}"}
        )
    answer.raise_for_status()
    return httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {answer.json()['token']}"}, timeout=90)


async def say(http: httpx.AsyncClient, turn: str, text: str) -> dict[str, Any]:
    answer = await http.post(
        "/v1/turns",
        json={
            "turn_id": turn,
            "session_id": "s1",
            "occurred_at": "2026-08-01T09:00:00+08:00",
            "messages": [
                {"message_id": "m1", "role": "user", "content": text},
                {"message_id": "m2", "role": "assistant", "content": "好的。"},
            ],
        },
    )
    assert answer.status_code in {200, 202}, answer.text
    for _ in range(200):
        outcome = (await http.get(f"/v1/turns/{turn}")).json()
        if outcome["state"] == "considered":
            return dict(outcome)
        await asyncio.sleep(0.05)
    raise AssertionError(f"{turn} was not considered")


async def test_turn_memory_context_forget_receipt(running: tuple[str, str]) -> None:
    """What a person said is recalled, and after a forget nothing returns it and a signed receipt says so."""
    async with await client(running, "shen") as http:
        outcome = await say(http, "t1", "请记住：我喜欢北京烤鸭。")
        (verdict,) = outcome["verdicts"]
        context = (await http.post("/v1/context", json={"query": "晚饭吃什么", "role": "chat"})).json()
        assert "烤鸭" in context["text"], context
        receipt = (await http.post("/v1/forget", json={"memory_id": verdict["memory_id"]})).json()
        for _ in range(100):
            if receipt["decision"] == "deletion_propagated":
                break
            await asyncio.sleep(0.1)
            receipt = (await http.get(f"/v1/receipts/{receipt['receipt_id']}")).json()
        assert receipt["decision"] == "deletion_propagated", receipt
        assert verify(receipt["statement"], receipt["signature"], receipt["signing_key"])
        context = (await http.post("/v1/context", json={"query": "北京烤鸭", "role": "chat"})).json()
        assert "烤鸭" not in context["text"]
