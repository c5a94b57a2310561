import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.unit.api.backend import RecordingBackend
from tests.unit.api.requests import message, turn

SECRET = "牛肉秘密beef-secret"  # what a person said; no answer may hold it

FUTURE = (datetime.now(UTC) + timedelta(hours=6)).isoformat()  # made when tests are collected, sent minutes later

# name, body, status, the field it must name (None where the whole body is at fault)
TURNS: list[tuple[str, Any, int, str | None]] = [
    ("no object", [SECRET], 422, "body"),
    ("a string", SECRET, 422, "body"),
    ("null", None, 422, "body"),
    ("empty object", {}, 422, "turn_id"),
    ("unknown field", turn(**{SECRET: 1}), 422, "body"),
    ("unknown field of a message", turn(messages=[message(**{SECRET: 1})]), 422, "messages[0]"),
    ("tenant in the payload", turn(tenant_id="0195f3a0-7c1e-7d53-9b1a-2f6f3f1f9a10"), 422, "body"),
    ("other schema", turn(schema="cenotaph.turn/2"), 422, "schema"),
    ("empty turn id", turn(turn_id=""), 422, "turn_id"),
    ("blank turn id", turn(turn_id=" \u3000"), 422, "turn_id"),
    ("long turn id", turn(turn_id="长" * 201), 422, "turn_id"),
    ("number as turn id", turn(turn_id=7), 422, "turn_id"),
    ("line break in turn id", turn(turn_id="a\nb"), 422, "turn_id"),
    ("lone surrogate in turn id", turn(turn_id="a\ud800"), 422, "turn_id"),
    ("no session", {k: v for k, v in turn().items() if k != "session_id"}, 422, "session_id"),
    ("naive time", turn(occurred_at="2026-03-01T09:30:00"), 422, "occurred_at"),
    ("date only", turn(occurred_at="2026-03-01"), 422, "occurred_at"),
    ("epoch seconds", turn(occurred_at=1_700_000_000), 422, "occurred_at"),
    ("epoch as text", turn(occurred_at="1700000000"), 422, "occurred_at"),
    ("words as time", turn(occurred_at=SECRET), 422, "occurred_at"),
    ("month 13", turn(occurred_at="2026-13-01T00:00:00Z"), 422, "occurred_at"),
    ("future", turn(occurred_at=FUTURE), 422, "occurred_at"),
    ("year 9999", turn(occurred_at="9999-12-31T23:59:59-14:00"), 422, "occurred_at"),
    ("year 1", turn(occurred_at="0001-01-01T00:00:00+14:00"), 422, "occurred_at"),
    ("before 2000", turn(occurred_at="1999-12-31T23:59:59Z"), 422, "occurred_at"),
    ("unknown status", turn(status=SECRET), 422, "status"),
    ("no messages", turn(messages=[]), 422, "messages"),
    ("messages as object", turn(messages={"0": message()}), 422, "messages"),
    ("too many messages", turn(messages=[message(message_id=str(n)) for n in range(6)]), 422, "messages"),
    ("message id twice", turn(messages=[message(), message(content="又一条")]), 422, "messages"),
    ("only blank content", turn(messages=[message(content=" \u200b\u3000\n")]), 422, "messages"),
    ("long message", turn(messages=[message(content=SECRET * 20)]), 422, "messages[0].content"),
    ("NUL", turn(messages=[message(content=f"{SECRET}\0")]), 422, "messages[0].content"),
    ("bell", turn(messages=[message(content=f"{SECRET}\x07")]), 422, "messages[0].content"),
    ("lone surrogate", turn(messages=[message(content=f"{SECRET}\udc00")]), 422, "messages[0].content"),
    ("content null", turn(messages=[message(content=None)]), 422, "messages[0].content"),
    ("content as list", turn(messages=[message(content=[SECRET])]), 422, "messages[0].content"),
    ("unknown role", turn(messages=[message(role=SECRET)]), 422, "messages[0].role"),
    ("role as list", turn(messages=[message(role=[SECRET])]), 422, "messages[0].role"),
    ("unknown origin", turn(messages=[message(origin=SECRET)]), 422, "messages[0].origin"),
    ("user from a tool", turn(messages=[message(origin="tool")]), 422, "messages[0].origin"),
    ("user retrieved", turn(messages=[message(origin="retrieved")]), 422, "messages[0].origin"),
    ("tool from the user", turn(messages=[message(role="tool", origin="user")]), 422, "messages[0].origin"),
    ("system from the user", turn(messages=[message(role="system", origin="user")]), 422, "messages[0].origin"),
    ("assistant from the user", turn(messages=[message(role="assistant", origin="user")]), 422, "messages[0].origin"),
    ("context no uuid", turn(contexts=[SECRET]), 422, "contexts[0]"),
]

OTHERS: list[tuple[str, str, Any, str]] = [
    ("context without role", "/v1/context", {"query": SECRET}, "role"),
    ("context of unknown role", "/v1/context", {"query": SECRET, "role": "admin"}, "role"),
    ("unknown preset", "/v1/context", {"query": SECRET, "role": "chat", "preset": "best"}, "preset"),
    ("search by unknown preset", "/v1/memories/search", {"query": SECRET, "preset": "best"}, "preset"),
    ("context for nothing", "/v1/context", {"query": "\u3000", "role": "chat"}, "query"),
    ("context with NUL", "/v1/context", {"query": f"{SECRET}\0", "role": "chat"}, "query"),
    ("budget too small", "/v1/context", {"query": SECRET, "role": "chat", "token_budget": 49}, "token_budget"),
    ("budget too large", "/v1/context", {"query": SECRET, "role": "chat", "token_budget": 8001}, "token_budget"),
    ("budget as text", "/v1/context", {"query": SECRET, "role": "chat", "token_budget": "800"}, "token_budget"),
    ("budget true", "/v1/context", {"query": SECRET, "role": "chat", "token_budget": True}, "token_budget"),
    ("negative position", "/v1/context", {"query": SECRET, "role": "chat", "at_least": -1}, "at_least"),
    ("position beyond bigint", "/v1/context", {"query": SECRET, "role": "chat", "at_least": 2**63}, "at_least"),
    ("subject in the payload", "/v1/context", {"query": SECRET, "role": "chat", "subject_id": "x"}, "body"),
    ("limit 0", "/v1/memories/search", {"query": SECRET, "limit": 0}, "limit"),
    ("limit 51", "/v1/memories/search", {"query": SECRET, "limit": 51}, "limit"),
    ("forget no uuid", "/v1/forget", {"memory_id": SECRET}, "memory_id"),
    ("forget a number", "/v1/forget", {"memory_id": 7}, "memory_id"),
    ("forget nothing", "/v1/forget", {}, "body"),
    ("forget two things", "/v1/forget", {"kind": "fact", "session_id": "s1"}, "body"),
    ("forget a kind there is not", "/v1/forget", {"kind": "everything"}, "kind"),
    ("forget many", "/v1/forget", {"memory_id": "*"}, "memory_id"),
]


def problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    """Check that an answer is that problem, whole and without content."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert SECRET not in answer.text
    assert "beef" not in answer.text
    found: dict[str, Any] = answer.json()
    assert found["status"] == status
    assert {"type", "title", "detail"} <= found.keys()
    return found


@pytest.mark.parametrize(("body", "status", "field"), [case[1:] for case in TURNS], ids=[case[0] for case in TURNS])
async def test_bad_turn(
    agent: httpx.AsyncClient, backend: RecordingBackend, body: object, status: int, field: str | None
) -> None:
    """A bad turn is a 4xx that names the field and not the content, and nothing is asked of the backend."""
    raw = json.dumps(body).encode()
    answer = await agent.post("/v1/turns", content=raw, headers={"Content-Type": "application/json"})
    errors = problem(answer, status)["errors"]
    assert field in {error["field"] for error in errors}
    assert backend.calls == []


@pytest.mark.parametrize(("path", "body", "field"), [case[1:] for case in OTHERS], ids=[case[0] for case in OTHERS])
async def test_bad_request(
    agent: httpx.AsyncClient, backend: RecordingBackend, path: str, body: object, field: str
) -> None:
    """Every other body is checked the same way."""
    raw = json.dumps(body).encode()
    answer = await agent.post(path, content=raw, headers={"Content-Type": "application/json"})
    assert [error["field"] for error in problem(answer, 422)["errors"]] == [field]
    assert backend.calls == []


GOOD = json.dumps(turn()).encode()


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (GOOD[:-5], 400),
        (GOOD + b"{}", 400),
        (b"\xff\xfe" + GOOD, 400),
        (GOOD.decode().encode("utf-16"), 400),
        (b"\xef\xbb\xbf" + GOOD, 400),
        (GOOD.replace(b"t-1", b"\xc3\x28"), 400),
        (GOOD.replace(b'"t-1"', b"NaN"), 400),
        (GOOD.replace(b'"t-1"', b"-Infinity"), 400),
        (GOOD.replace(b'"t-1"', b"1e999"), 422),
        (GOOD.replace(b'"t-1"', b"9" * 5000), 400),
        (GOOD.replace(b"{", b'{"turn_id":"other",', 1), 400),
        (b"[" * 10_000, 400),
        (b"[" * 9_000 + b"]" * 9_000, 400),
        (b'{"a":' * 3_000 + b"1" + b"}" * 3_000, 400),
        (b"[" * 500 + b"]" * 500, 422),
        (GOOD.replace(b"'", b'"').replace(b'"t-1"', b'"\t"'), 400),
    ],
)  # fmt: skip
async def test_not_json(agent: httpx.AsyncClient, backend: RecordingBackend, raw: bytes, status: int) -> None:
    """What is not one JSON text with unique names is refused before it is looked at."""
    problem(await agent.post("/v1/turns", content=raw, headers={"Content-Type": "application/json"}), status)
    assert backend.calls == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": ""},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json; charset=gbk"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": "application/jsonp"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
async def test_media_type(agent: httpx.AsyncClient, backend: RecordingBackend, headers: dict[str, str]) -> None:
    """Anything but plain JSON in UTF-8 is a 415."""
    problem(await agent.post("/v1/turns", content=GOOD, headers=headers), 415)
    assert backend.calls == []


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON", 'application/json; charset="UTF-8"'])
async def test_json_media_types(agent: httpx.AsyncClient, kind: str) -> None:
    """The usual ways to say JSON all work."""
    assert (await agent.post("/v1/turns", content=GOOD, headers={"Content-Type": kind})).status_code == 202


async def test_too_large(agent: httpx.AsyncClient, backend: RecordingBackend) -> None:
    """A body beyond the limit is a 413, by its announced length."""
    raw = json.dumps(turn(session_id="x" * 20_001)).encode()
    problem(await agent.post("/v1/turns", content=raw, headers={"Content-Type": "application/json"}), 413)
    assert backend.calls == []


@pytest.mark.parametrize("length", [None, "10"])
async def test_too_large_in_chunks(agent: httpx.AsyncClient, backend: RecordingBackend, length: str | None) -> None:
    """A body without a length, or with a false one, is cut off where the limit is, not read to its end."""
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1_000):
            sent += 1
            yield b" " * 1_000

    headers = {"Content-Type": "application/json"} | ({"Content-Length": length} if length else {})
    problem(await agent.post("/v1/turns", content=endless(), headers=headers), 413)
    assert sent < 25
    assert backend.calls == []


@pytest.mark.parametrize("path", ["/v1/turns", "/v1/context", "/v1/memories/search", "/v1/forget"])
async def test_no_body(agent: httpx.AsyncClient, path: str) -> None:
    """A POST without a body is a 4xx."""
    problem(await agent.post(path), 415)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/memories/secret-beef", "memory_id"),
        ("/v1/memories/%00", "memory_id"),
        ("/v1/receipts/1", "receipt_id"),
        ("/v1/turns/a%00b", "turn_id"),
        ("/v1/turns/a%09b", "turn_id"),
        ("/v1/turns/" + "x" * 201, "turn_id"),
        ("/v1/memories?limit=0", "limit"),
        ("/v1/memories?limit=101", "limit"),
        ("/v1/memories?limit=beef", "limit"),
        ("/v1/memories?limit=" + "9" * 5000, "limit"),
        ("/v1/memories?status=beef", "status"),
        ("/v1/memories?cursor=%E7%89%9B", "cursor"),
        ("/v1/memories?cursor=%00", "cursor"),
        ("/v1/receipts?cursor=" + "a" * 401, "cursor"),
    ],
)
async def test_bad_parameters(agent: httpx.AsyncClient, backend: RecordingBackend, path: str, field: str) -> None:
    """Bad parts of the path and the query are problems that name the part and not its value."""
    errors = problem(await agent.get(path), 422)["errors"]
    assert [error["field"] for error in errors] == [field]
    assert backend.calls == []


async def test_many_faults_few_lines(agent: httpx.AsyncClient) -> None:
    """A request with very many faults gets an answer of bounded size."""
    body = turn(contexts=["x"] * 100)
    answer = await agent.post("/v1/turns", json=body)
    assert len(problem(answer, 422)["errors"]) == 20


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1", 404), ("PUT", "/v1/turns", 405), ("GET", "/", 404), ("GET", "/v1/turns/a%0Ab", 404)],
)
async def test_unknown_paths(agent: httpx.AsyncClient, method: str, path: str, status: int) -> None:
    """A path or a method that does not exist is a problem too."""
    problem(await agent.request(method, path), status)
