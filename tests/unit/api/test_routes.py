import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from events.model import EventId, Origin, Role, Scope
from services.access.rights import TokenRole
from services.api.openapi import Api
from services.api.routes import receipts
from services.wire.memories import MemoryStatus
from services.wire.names import Bounds
from services.wire.receipts import ReceiptEnd, ReceiptView
from services.wire.turns import TurnIn
from tests.unit.api.backend import DIGEST, MEMORY, RECEIPT, RecordingBackend
from tests.unit.api.requests import message, turn


@pytest.mark.parametrize(
    ("state", "status", "location"),
    [("stored", 202, "/v1/turns/t-1"), ("known", 200, "/v1/turns/t-1"), ("forgotten", 200, None)],
)
async def test_finalize(
    *, agent: httpx.AsyncClient, backend: RecordingBackend, scope: Scope, state: str, status: int, location: str | None
) -> None:
    """A turn is handed over under the token's scope; the status says whether it is new."""
    backend.state = state
    answer = await agent.post("/v1/turns", json=turn())
    assert (answer.status_code, answer.headers.get("location")) == (status, location)
    assert answer.json() == {"turn_id": "t-1", "state": state, "redacted": {}, "position": 7}
    [(name, (seen, given))] = backend.calls
    assert (name, seen) == ("finalize", scope)
    assert isinstance(given, TurnIn)
    assert given.messages[0].content == "我不吃牛肉, and I like tea."


async def test_origin_follows_role(agent: httpx.AsyncClient, backend: RecordingBackend) -> None:
    """Each role has an origin of its own where none is named."""
    said = [message(message_id=role, role=role) for role in Role]
    await agent.post("/v1/turns", json=turn(messages=said))
    given: TurnIn = backend.calls[0][1][1]
    assert [each.origin for each in given.messages] == [Origin.USER, Origin.ASSISTANT, Origin.INJECTED, Origin.TOOL]


@pytest.mark.parametrize(
    ("role", "origin"),
    [("tool", "retrieved"), ("tool", "tool"), ("system", "injected"), ("assistant", "subagent")],
)
async def test_fitting_origins(agent: httpx.AsyncClient, role: str, origin: str) -> None:
    """A role takes every origin that fits it."""
    answer = await agent.post("/v1/turns", json=turn(messages=[message(role=role, origin=origin)]))
    assert answer.status_code == 202


async def test_empty_message_beside_others(agent: httpx.AsyncClient) -> None:
    """A tool that returned nothing is no fault as long as the turn says something."""
    said = [message(), message(message_id="m-2", role="tool", content="")]
    assert (await agent.post("/v1/turns", json=turn(messages=said))).status_code == 202


@pytest.mark.parametrize("turn_id", ["t-1", "轮次/1 ?#%", "😀", "a" * 200])
async def test_location_leads_back(agent: httpx.AsyncClient, backend: RecordingBackend, turn_id: str) -> None:
    """Whatever the turn id holds, Location finds the turn."""
    location = (await agent.post("/v1/turns", json=turn(turn_id=turn_id))).headers["location"]
    assert (await agent.get(location)).json()["turn_id"] == turn_id
    assert backend.calls[1][1][1] == turn_id


async def test_context(agent: httpx.AsyncClient, backend: RecordingBackend, scope: Scope) -> None:
    """Context comes with citations and what was left out."""
    answer = await agent.post("/v1/context", json={"query": "晚饭 dinner", "role": "chat"})
    assert answer.status_code == 200
    cited = {"memory_id": str(MEMORY), "version": 1, "kind": "preference", "score": 0.8, "may_drive_a_write": True}
    assert answer.json()["memories"] == [cited]
    assert answer.json()["left_out"] == [{"memory_id": None, "reason": "budget"}]
    assert backend.calls[0][1][0] == scope
    assert backend.calls[0][1][1].token_budget == 800


async def test_search(agent: httpx.AsyncClient) -> None:
    """A search answers memories with a score."""
    found = (await agent.post("/v1/memories/search", json={"query": "牛肉"})).json()["memories"]
    assert [(each["memory_id"], each["score"]) for each in found] == [(str(MEMORY), 0.5)]


async def test_list_memories(agent: httpx.AsyncClient, backend: RecordingBackend, scope: Scope) -> None:
    """A list takes status, limit and cursor."""
    answer = await agent.get("/v1/memories", params={"status": "held", "limit": 3, "cursor": "aB_-=."})
    assert answer.json()["next_cursor"] == "abc"
    assert backend.calls == [("memories", (scope, MemoryStatus.HELD, 3, "aB_-=."))]


async def test_show_memory(agent: httpx.AsyncClient) -> None:
    """One memory comes with its versions and sources."""
    shown = (await agent.get(f"/v1/memories/{MEMORY}")).json()
    assert shown["content"] == "不吃牛肉 / does not eat beef"
    assert [each["version"] for each in shown["versions"]] == [1]
    assert shown["sources"][0]["state"] == "readable"


async def test_forget(agent: httpx.AsyncClient) -> None:
    """Forgetting is accepted and points to its receipt."""
    answer = await agent.post("/v1/forget", json={"memory_id": str(MEMORY)})
    assert (answer.status_code, answer.headers["location"]) == (202, f"/v1/receipts/{RECEIPT}")
    assert answer.json()["decision"] == "DELETION_PENDING"
    shown = await agent.get(answer.headers["location"])
    assert shown.json() == answer.json()


async def test_show_trace(agent: httpx.AsyncClient) -> None:
    """A context's id shows how it came about."""
    shown = (await agent.get(f"/v1/traces/{RECEIPT}")).json()
    assert (shown["path"], shown["memories"], shown["turns"]) == ("context", [str(MEMORY)], ["t-1"])
    assert (await agent.get(f"/v1/traces/{MEMORY}")).status_code == 404


async def test_list_receipts(agent: httpx.AsyncClient) -> None:
    """Receipts can be listed."""
    assert [each["receipt_id"] for each in (await agent.get("/v1/receipts")).json()["receipts"]] == [str(RECEIPT)]


@pytest.fixture
async def person(app: Api, bearer: Callable[[TokenRole], dict[str, str]]) -> AsyncIterator[httpx.AsyncClient]:
    """Talk to the door as the person."""
    transport, headers = httpx.ASGITransport(app), bearer(TokenRole.PERSON)
    async with httpx.AsyncClient(transport=transport, base_url="http://door", headers=headers) as client:
        yield client


async def test_forget_by_description(agent: httpx.AsyncClient, backend: RecordingBackend, scope: Scope) -> None:
    """A preview forgets nothing; its digest, and no other, confirms it."""
    said = {"description": "我喝咖啡的口味"}
    shown = (await agent.post("/v1/forget/preview", json=said)).json()
    assert [(each["memory_id"], each["versions"]) for each in shown["memories"]] == [(str(MEMORY), 1)]
    done = await agent.post("/v1/forget/described", json={**said, "digest": shown["digest"]})
    assert (done.status_code, [each["receipt_id"] for each in done.json()["receipts"]]) == (202, [str(RECEIPT)])
    stale = await agent.post("/v1/forget/described", json={**said, "digest": "0" * 64})
    assert (stale.status_code, stale.json()["type"].rpartition(":")[2]) == (409, "preview-changed")
    assert [(name, args[:2]) for name, args in backend.calls[:1]] == [("preview", (scope, said["description"]))]


async def test_only_the_person_moves_a_memory(
    agent: httpx.AsyncClient, person: httpx.AsyncClient, backend: RecordingBackend
) -> None:
    """Which readers a memory is for is the person's choice; an agent's token is refused before anything is asked."""
    path, to = f"/v1/memories/{MEMORY}/audience", {"project": "北风", "assistant": "coach"}
    assert (await agent.put(path, json=to)).status_code == 403
    assert "move" not in {name for name, _ in backend.calls}
    answer = (await person.put(path, json=to)).json()
    assert answer == {"memory_id": str(MEMORY), "version": 2, "visibility": "project", "purpose": None, **to}


async def test_forget_and_suspend_by_name(agent: httpx.AsyncClient, backend: RecordingBackend, scope: Scope) -> None:
    """A memory or a session is previewed and forgotten, by its digest or without; suspending says it is reversible."""
    for named in ({"session_id": "s1"}, {"memory_id": str(MEMORY)}):
        shown = (await agent.post("/v1/forget/preview", json=named)).json()
        assert (shown["total"], shown["digest"]) == (1, DIGEST)
        for body, status in (({}, 202), ({"digest": DIGEST}, 202), ({"digest": "0" * 64}, 409)):
            assert (await agent.post("/v1/forget", json={**named, **body})).status_code == status
    for path in ("/v1/forget", "/v1/forget/preview"):
        assert (await agent.post(path, json={"session_id": "unknown"})).status_code == 404
    for word, suspended in (("suspend", True), ("resume", False)):
        answer = await agent.post(f"/v1/memories/{MEMORY}/{word}")
        assert answer.json() == {"memory_id": str(MEMORY), "suspended": suspended, "reversible": True}
        assert (await agent.post(f"/v1/memories/{RECEIPT}/{word}")).status_code == 404
    assert ("suspend", (scope, MEMORY, True)) in backend.calls


async def test_the_inbox_is_settled_by_the_person(person: httpx.AsyncClient, backend: RecordingBackend) -> None:
    """What waits is listed; confirming and refusing name one entry."""
    (entry,) = (await person.get("/v1/inbox")).json()["entries"]
    assert (entry["memory_id"], entry["why"]) == (str(MEMORY), "needs_consent")
    for word, decision in (("confirm", "confirmed"), ("refuse", "refused")):
        settled = (await person.post(f"/v1/inbox/{MEMORY}/{word}")).json()
        assert settled == {"memory_id": str(MEMORY), "version": 1, "decision": decision}
    assert [args[2] for name, args in backend.calls if name == "settle"] == [True, False]


async def test_consents_and_suppressions(person: httpx.AsyncClient, backend: RecordingBackend) -> None:
    """A class is opened and closed; a suppression is made, listed and lifted."""
    health = {"sensitivity": "health", "purposes": []}
    assert (await person.get("/v1/consents")).json()["consents"] == [{**health, "state": "none"}]
    opened = await person.put("/v1/consents/health", json={"given": True})
    assert opened.json()["consents"] == [{**health, "state": "given"}]
    assert (await person.put("/v1/consents/health", json={"given": "yes"})).status_code == 422
    made = (await person.post("/v1/suppressions", json={"description": "my job search"})).json()
    assert made == {"suppression_id": str(MEMORY), "description": "my job search"}
    assert len((await person.get("/v1/suppressions")).json()["suppressions"]) == 1
    assert (await person.delete(f"/v1/suppressions/{MEMORY}")).status_code == 204
    assert [name for name, _ in backend.calls] == ["consents", "consent", "suppress", "suppressions", "lift"]


@pytest.mark.parametrize(
    ("method", "path", "sent"),
    [
        ("PUT", "/v1/consents/health", {"given": True}),
        ("POST", "/v1/suppressions", {"description": "x"}),
        ("POST", f"/v1/inbox/{MEMORY}/confirm", None),
        ("POST", f"/v1/inbox/{MEMORY}/refuse", None),
    ],
)
async def test_an_agent_chooses_nothing(
    agent: httpx.AsyncClient, backend: RecordingBackend, method: str, path: str, sent: dict[str, Any] | None
) -> None:
    """Consent and the inbox are the person's own: an agent that talks for them is refused before anything is read."""
    assert (await agent.request(method, path, json=sent)).status_code == 403
    assert backend.calls == []


async def test_explain(agent: httpx.AsyncClient) -> None:
    """A memory is explained by its id."""
    assert (await agent.get(f"/v1/memories/{MEMORY}/explain")).json()["versions"][0]["memory_id"] == str(MEMORY)


async def test_where(agent: httpx.AsyncClient) -> None:
    """A memory is found in its layers by its id."""
    found = (await agent.get(f"/v1/memories/{MEMORY}/where")).json()
    assert [(each["layer"], each["holds"], each["versions"]) for each in found["layers"]] == [("facts", True, [1])]
    assert found["readers"] == ["person", "agent"]


ABSENT = "0195f3a0-7c1e-7d53-9b1a-000000000000"


@pytest.mark.parametrize(
    ("method", "absent", "foreign", "body"),
    [
        ("GET", f"/v1/memories/{ABSENT}", f"/v1/memories/{MEMORY}", None),
        ("GET", f"/v1/receipts/{ABSENT}", f"/v1/receipts/{RECEIPT}", None),
        ("POST", "/v1/forget", "/v1/forget", "memory_id"),
        ("GET", f"/v1/memories/{ABSENT}/explain", f"/v1/memories/{MEMORY}/explain", None),
        ("GET", f"/v1/memories/{ABSENT}/where", f"/v1/memories/{MEMORY}/where", None),
        ("POST", f"/v1/inbox/{ABSENT}/confirm", f"/v1/inbox/{MEMORY}/confirm", None),
        ("POST", f"/v1/inbox/{ABSENT}/refuse", f"/v1/inbox/{MEMORY}/refuse", None),
        ("DELETE", f"/v1/suppressions/{ABSENT}", f"/v1/suppressions/{MEMORY}", None),
    ],
)
async def test_foreign_is_absent(
    *,
    nobody: httpx.AsyncClient,
    bearer: Callable[[TokenRole], dict[str, str]],
    backend: RecordingBackend,
    scope: Scope,
    method: str,
    absent: str,
    foreign: str,
    body: str | None,
) -> None:
    """Somebody else's id gets the very same answer as one that never was."""

    def sent(value: object) -> dict[str, Any]:
        return {"json": {body: str(value)}} if body else {}

    headers = bearer(TokenRole.PERSON)
    assert (await nobody.request(method, foreign, headers=headers, **sent(MEMORY))).is_success
    backend.owner = scope.model_copy(update={"subject_id": RECEIPT})
    one = await nobody.request(method, absent, headers=headers, **sent(ABSENT))
    other = await nobody.request(method, foreign, headers=headers, **sent(MEMORY))
    assert one.status_code == other.status_code == 404
    assert one.content == other.content


async def test_mint(nobody: httpx.AsyncClient, backend: RecordingBackend) -> None:
    """A tenant key mints a token, and the token opens the memory of that subject in that tenant."""
    key = {"Authorization": f"bearer {backend.key}"}
    minted = await nobody.post("/v1/tokens", headers=key, json={"subject": "用户-17", "role": "agent", "ttl_s": 60})
    assert minted.status_code == 200
    token = {"Authorization": f"Bearer {minted.json()['token']}"}
    assert (await nobody.get("/v1/memories", headers=token)).status_code == 200
    scope: Scope = backend.calls[1][1][0]
    assert scope.tenant_id == backend.tenant_id
    assert scope.subject_id == await backend.subject(backend.tenant_id, "用户-17")


@pytest.mark.parametrize("role", TokenRole)
async def test_a_token_bound_to_a_project_reaches_no_farther(
    nobody: httpx.AsyncClient, backend: RecordingBackend, role: TokenRole
) -> None:
    """Agents and workflows are bound to project, task, assistant and purpose, as the token says, the others to none."""
    key = {"Authorization": f"bearer {backend.key}"}
    bounds = {"project": "项目北风", "task_id": "report-7", "assistant": "教练", "purpose": "health coaching"}
    minted = await nobody.post("/v1/tokens", headers=key, json={"subject": "用户-17", "role": role, **bounds})
    if role not in {"agent", "workflow"}:
        assert minted.status_code == 403
        return
    for answer, given in ((minted, bounds), (await _minted(nobody, key, role), {})):
        token = {"Authorization": f"Bearer {answer.json()['token']}"}
        assert (await nobody.get("/v1/tasks", headers=token)).status_code == 200
        scope: Scope = backend.calls[-1][1][0]
        expected = await backend.bound(scope.person, Bounds(**given))
        assert scope.reach == expected.reach


async def _minted(nobody: httpx.AsyncClient, key: dict[str, str], role: TokenRole) -> httpx.Response:
    return await nobody.post("/v1/tokens", headers=key, json={"subject": "用户-17", "role": role})


@pytest.mark.parametrize(
    "body",
    [
        {"subject": "", "role": "agent"},
        {"subject": "x", "role": "agent", "project": ""},
        {"subject": "x", "role": "agent", "project": "x\0"},
        {"subject": "x", "role": "agent", "task_id": "x" * 201},
        {"subject": "x\0", "role": "agent"},
        {"subject": "x" * 201, "role": "agent"},
        {"subject": "x"},
        {"subject": "x", "role": "admin"},
        {"subject": "x", "role": "agent", "ttl_s": 59},
        {"subject": "x", "role": "agent", "ttl_s": 86_401},
        {"subject": "x", "role": "agent", "tenant_id": ABSENT},
    ],
)
async def test_bad_mint(nobody: httpx.AsyncClient, backend: RecordingBackend, body: dict[str, Any]) -> None:
    """A token needs a subject, a known role and a sane life, and no tenant in the payload."""
    answer = await nobody.post("/v1/tokens", headers={"Authorization": f"Bearer {backend.key}"}, json=body)
    assert answer.status_code == 422
    assert backend.calls == []


async def test_a_receipt_is_sent_as_events_until_it_has_ended(agent: httpx.AsyncClient) -> None:
    """The state of now comes at once, as a server-sent event; an unknown receipt is a problem instead."""
    async with agent.stream("GET", f"/v1/receipts/{RECEIPT}/events?seconds=1") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line async for line in answer.aiter_lines() if line]
    assert lines[0] == "event: receipt"
    assert json.loads(lines[1].removeprefix("data: "))["receipt_id"] == str(RECEIPT)
    assert (await agent.get(f"/v1/receipts/{MEMORY}/events")).status_code == 404


async def test_a_watched_receipt_is_sent_again_when_it_changed_and_ends_with_the_second_one(
    agent: httpx.AsyncClient, backend: RecordingBackend, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One event for each state, none for what stayed the same, and the stream is over with the last signature."""
    pending = await backend.receipt(scope, RECEIPT)
    assert pending is not None
    signed = pending.model_copy(update={"decision": "deletion_propagated"})
    end = ReceiptEnd(layers=(), at=pending.requested_at, statement="{}", signature="x")
    purged = signed.model_copy(update={"decision": "deletion_purged", "end": end})
    states = iter((pending, pending, signed, signed, purged))

    async def receipt(scope: Scope, receipt_id: EventId) -> ReceiptView | None:
        del scope, receipt_id
        return next(states)

    monkeypatch.setattr(backend, "receipt", receipt)
    monkeypatch.setattr(receipts, "_LOOK_S", 0)
    async with agent.stream("GET", f"/v1/receipts/{RECEIPT}/events") as answer:
        sent = [json.loads(line[6:]) async for line in answer.aiter_lines() if line.startswith("data: ")]
    assert [each["decision"] for each in sent] == ["DELETION_PENDING", "deletion_propagated", "deletion_purged"]


async def test_receipts_are_filtered_and_closed(
    agent: httpx.AsyncClient, person: httpx.AsyncClient, backend: RecordingBackend
) -> None:
    """A decision and a moment reach the backend; only the person closes."""
    page = await agent.get("/v1/receipts?decision=deletion_purged&since=2026-08-01T00:00:00Z")
    assert page.status_code == 200
    assert backend.calls[-1][1][3] == "deletion_purged"
    for wrong in ("decision=gone", "since=yesterday", "since=2026-08-01T00:00:00"):
        assert (await agent.get(f"/v1/receipts?{wrong}")).status_code == 422
    assert (await agent.post(f"/v1/receipts/{RECEIPT}/close")).status_code == 403
    assert (await person.post(f"/v1/receipts/{RECEIPT}/close")).json()["receipt_id"] == str(RECEIPT)
    assert (await person.post(f"/v1/receipts/{MEMORY}/close")).status_code == 404


async def test_waiting_deletions_are_counted(agent: httpx.AsyncClient) -> None:
    """The metrics say how many wait and for how long, with no id."""
    text = (await agent.get("/metrics")).text
    assert 'cenotaph_deletions{waiting_for="propagation"} 1.0' in text
    assert 'cenotaph_deletion_age_seconds{waiting_for="purge"} 0.0' in text
