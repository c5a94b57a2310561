"""What the person closed or refused is blind to an agent on every read path of the real door, and not to the person."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from events.model import MemoryId, Scope
from services.access.rights import TokenRole
from services.access.tokens import TokenSigner
from services.api.app import create_app
from services.api.openapi import Api
from services.replay.journal import Window
from services.wire.limits import Limits
from services.wire.recall import ContextRequest, RecallRole
from tests.plant import Plant, planted

WRITES = {
    "POST /v1/tokens",
    "POST /v1/turns",
    "POST /v1/inbox/{memory_id}/confirm",
    "POST /v1/inbox/{memory_id}/refuse",
    "PUT /v1/consents/{sensitivity}",
    "POST /v1/suppressions",
    "DELETE /v1/suppressions/{suppression_id}",
    "POST /v1/forget",
    "POST /v1/forget/described",
    "POST /v1/memories/{memory_id}/suspend",
    "POST /v1/memories/{memory_id}/resume",
    "PUT /v1/memories/{memory_id}/audience",
    "POST /v1/tasks",
    "POST /v1/tasks/{task_id}",
    "POST /v1/exports",
    "POST /v1/facts",
    "POST /v1/person/forget",
    "POST /v1/tenant/forget",
    "POST /v1/receipts/{receipt_id}/close",
}
ELSEWHERE = {
    "GET /v1/memories/{memory_id}/where",  # asks workers; ids and numbers
    "GET /v1/tasks/{task_id}",  # tests/integration/test_tasks.py
    "GET /v1/exports/{export_id}",  # a file that left
    "GET /v1/facts/{fact_id}",  # of the system that stated it
    "GET /v1/tenant/forget",  # takes a tenant key
    "GET /v1/receipts/{receipt_id}/events",  # ends late; tests/unit/api/test_routes.py
}
OF_THE_PERSON = {"GET /v1/suppressions", "GET /v1/exports", "GET /v1/person/forget"}
SAYINGS = [
    pytest.param("我对花生过敏", "花生", id="zh"),
    pytest.param("I'm allergic to peanuts.", "peanut", id="en"),
]


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run servers of this module's own."""
    async with planted(tmp_path_factory.mktemp("blinding")) as plant:
        yield plant


@dataclass
class Asking:
    """The door of the real system, and one person's memory behind it."""

    plant: Plant
    app: Api
    signer: TokenSigner
    scope: Scope
    said: str

    async def ask(self, role: TokenRole, call: str, body: Mapping[str, Any] | None = None, **names: object) -> Any:  # noqa: ANN401 - JSON
        """Make one call; return the JSON of what came."""
        method, path = call.split(" ")
        token, _ = self.signer.issue(self.scope, role, timedelta(minutes=5))
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://door") as client:
            headers = {"Authorization": f"Bearer {token}"}
            answer = await client.request(method, path.format(**names), json=body, headers=headers)
        assert answer.is_success, (call, answer.text)
        return answer.json() if answer.headers["content-type"] == "application/json" else answer.text

    async def read(self, memory: MemoryId, role: TokenRole = TokenRole.AGENT) -> dict[str, str]:
        """Read on every path there is; return what each said, without the question that was repeated."""
        bodies: dict[str, dict[str, object]] = {
            "POST /v1/context": {"query": self.said, "role": "chat", "session_id": "s1", "token_budget": 2000},
            "POST /v1/memories/search": {"query": self.said},
            "POST /v1/forget/preview": {"description": self.said},
        }
        (receipt, *_) = (await self.ask(role, "GET /v1/receipts"))["receipts"]
        searched = await self.ask(role, "POST /v1/memories/search", bodies["POST /v1/memories/search"])
        names = {"memory_id": memory, "turn_id": "t1", "receipt_id": receipt["receipt_id"]}
        names["trace_id"] = searched["context_id"]
        calls = {
            f"{method.upper()} {path}"
            for path, methods in self.app.openapi()["paths"].items()
            for method in methods
            if path.startswith("/v1/")
        }
        assert calls >= WRITES
        found = {}
        assert calls >= ELSEWHERE
        for call in sorted(calls - WRITES - ELSEWHERE):
            if call in OF_THE_PERSON and role is TokenRole.AGENT:
                continue
            found[call] = str(await self.ask(role, call, bodies.get(call), **names))
        for status in ("active", "held", "superseded", "in_conflict", "expired", "forgotten"):
            call = f"GET /v1/memories?status={status}"
            found[call] = str(await self.ask(role, call))
        return found


Opened = Callable[[str], Any]


@pytest.fixture
async def asking(plant: Plant) -> Opened:
    """Open the door for a person of whom one thing was forgotten, so that there is a receipt."""
    limits = Limits(max_messages=50, max_message_chars=10_000, max_body_bytes=1_000_000)
    signer = TokenSigner(Ed25519PrivateKey.generate())
    app = create_app(plant.composition.backend, signer, limits)

    async def begin(said: str) -> Asking:
        plant._turns = 0
        scope = await plant.person()
        await plant.forget(scope, await plant.remember(scope, "我喝咖啡只喝手冲。", "好的。"))
        return Asking(plant, app, signer, scope, said)

    return begin


def telling(found: Mapping[str, str], word: str) -> set[str]:
    return {call for call, text in found.items() if word in text}


async def replayed(plant: Plant, scope: Scope, word: str) -> tuple[int, set[str]]:
    """Replay a person's events; return how many open parts hold a word, and the states of all parts."""
    window = Window(subject=scope.subject_id)
    parts = [
        part
        async for _, entries in plant.composition.journal.replay(scope.tenant_id, window)
        for entry in entries
        for part in entry.parts
    ]
    return sum(word in str(part.body) for part in parts), {part.state for part in parts}


@pytest.mark.parametrize(("said", "word"), SAYINGS)
async def test_withdrawing_blinds_every_read_path_of_an_agent(
    plant: Plant, asking: Opened, said: str, word: str
) -> None:
    """An agent reads it nowhere, also not where it was said, answered, said again or used; the person does, marked."""
    door = await asking(said)
    scope, backend = door.scope, plant.composition.backend
    (verdict,) = (await plant.say(scope, said, f"好的 ok {word}")).verdicts
    memory = verdict.memory_id
    assert verdict.outcome == "held"
    closed = telling(await door.read(memory), word)
    assert closed == {"POST /v1/context"}, "the conversation itself goes on; what was made of it waits for consent"
    assert "GET /v1/inbox" in telling(await door.read(memory, TokenRole.PERSON), word)

    await backend.consent(scope, "health", given=True)
    await plant.follow()
    request = ContextRequest(query=said, role=RecallRole.CHAT)
    used = await backend.context(scope, request)
    assert [each.memory_id for each in used.memories] == [memory]
    await plant.say(scope, "午饭吃什么？ What about lunch?", f"不放 no {word}", contexts=[used.context_id])
    await plant.say(scope, said, f"记得 still no {word}")
    reading = telling(await door.read(memory), word)
    assert reading >= {
        "GET /v1/memories",
        "GET /v1/memories/{memory_id}",
        "GET /v1/memories/{memory_id}/explain",
        "POST /v1/context",
        "POST /v1/forget/preview",
        "POST /v1/memories/search",
    }
    open_parts, _ = await replayed(plant, scope, word)
    assert open_parts >= 6

    await backend.consent(scope, "health", given=False)
    assert telling(await door.read(memory), word) == set()
    shown = await door.ask(TokenRole.AGENT, f"GET /v1/memories/{memory}")
    assert (shown["status"], shown["content"], shown["withheld"]) == ("active", None, "consent_withdrawn")
    own = await door.read(memory, TokenRole.PERSON)
    assert telling(own, word) >= reading - {"POST /v1/context", "POST /v1/memories/search"}
    assert "consent_withdrawn" in own["GET /v1/memories"]
    open_parts, states = await replayed(plant, scope, word)
    assert open_parts == 0
    assert "consent_withdrawn" in states

    await backend.consent(scope, "health", given=True)
    assert telling(await door.read(memory), word) == reading
    assert (await replayed(plant, scope, word))[0] >= 6


@pytest.mark.parametrize(("said", "word"), SAYINGS)
async def test_what_is_refused_leaves_the_recent_turns(plant: Plant, asking: Opened, said: str, word: str) -> None:
    """From refusing on, neither the message nor its answer stands in a context; the message itself is kept."""
    door = await asking(said)
    (verdict,) = (await plant.say(door.scope, said, f"好的 ok {word}")).verdicts
    await plant.say(door.scope, "今天天气不错。", "是啊。")
    assert verdict.outcome == "held"
    await plant.composition.backend.settle(door.scope, verdict.memory_id, confirmed=False)
    found = await door.read(verdict.memory_id)
    assert telling(found, word) == set()
    assert "今天天气不错" in found["POST /v1/context"]
    assert (await replayed(plant, door.scope, word))[0] == 2
