"""Bad input over real HTTP: a 4xx problem that says what is wrong, nothing stored, never a 500."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import httpx
import pytest

from events.bodies import open_bodies
from events.log import read_events
from events.model import EventId, MessageBody, Scope, TurnFinalized
from ops.composition import Composition
from ops.embedded.supervisor import Embedded
from ops.run import ALL_WORKERS, Running
from ops.settings import load_settings

SAID = "请记住：我喜欢北京烤鸭。"
TURN: dict[str, Any] = {
    "turn_id": "t-1",
    "session_id": "s-1",
    "occurred_at": "2026-08-01T09:00:00+08:00",
    "messages": [
        {"message_id": "m-1", "role": "user", "content": SAID},
        {"message_id": "m-2", "role": "assistant", "content": "Noted."},
    ],
}


@dataclass(frozen=True)
class Up:
    """A running system with the persons who use it."""

    composition: Composition
    url: str
    keys: tuple[str, str]

    async def events(self) -> int:
        """Count every event of the log."""
        async with self.composition.log(None).connection() as connection:
            count: int = await connection.fetchval("select count(*) from log.event")
        return count

    async def settled(self) -> int:
        """Wait until every turn was considered; return the number of events."""
        waiting = (
            "select (select count(*) from log.event where type = 'turn_finalized')"
            " - (select count(*) from log.event where type = 'turn_considered')"
        )
        async with asyncio.timeout(90):
            while True:
                async with self.composition.log(None).connection() as connection:
                    if not await connection.fetchval(waiting):
                        return await self.events()
                await asyncio.sleep(0.05)

    @asynccontextmanager
    async def person(self, name: str, tenant: int = 0, role: str = "agent") -> AsyncIterator[httpx.AsyncClient]:
        """Open a client with a token for one person."""
        async with httpx.AsyncClient(base_url=self.url) as http:
            minted = await http.post(
                "/v1/tokens",
                json={"subject": name, "role": role},
                headers={"Authorization": f"Bearer {self.keys[tenant]}"},
            )
        minted.raise_for_status()
        headers = {"Authorization": f"Bearer {minted.json()['token']}"}
        async with httpx.AsyncClient(base_url=self.url, headers=headers, timeout=90) as client:
            yield client


@pytest.fixture(scope="module")
async def up(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Up]:
    """Run the system for two tenants on servers of its own, so that every event of the log is ours to count."""
    settings = load_settings(data=tmp_path_factory.mktemp("up"), port=0)
    with Embedded(settings) as embedded:
        composition = Composition(settings, embedded.endpoints)
        await composition.migrate()
        keys = [(await composition.create_tenant())[1] for _ in range(2)]
        async with Running(composition, ALL_WORKERS, door=True) as running:
            yield Up(composition, f"http://127.0.0.1:{running.port}", (keys[0], keys[1]))


def turn(**changed: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON, right or wrong
    return {**TURN, "turn_id": f"t-{uuid4()}", **changed}


def message(**changed: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON, right or wrong
    return turn(messages=[{**TURN["messages"][0], **changed}])


def later(**ahead: int) -> str:
    return (datetime.now(UTC) + timedelta(**ahead)).isoformat()


BAD_JSON: dict[str, bytes] = {
    "nothing": b"",
    "blanks": b"   ",
    "cut off": b'{"turn_id": "t',
    "not JSON": "我喜欢烤鸭".encode(),
    "two texts": b"{}{}",
    "trailing comma": b'{"turn_id": "t",}',
    "not UTF-8": b'{"turn_id": "\xff\xfe"}',
    "UTF-16": json.dumps(TURN).encode("utf-16"),
    "a name twice": b'{"turn_id": "a", "turn_id": "b"}',
    "NaN": b'{"turn_id": NaN}',
    "a number of 10,000 digits": b'{"turn_id": ' + b"9" * 10_000 + b"}",
    "nested 100,000 deep": b"[" * 100_000,
    "NUL byte": b'{"turn_id": "a\x00b"}',
}
BAD_TURNS: dict[str, Any] = {
    "null": None,
    "a list": [TURN],
    "a string": "turn",
    "a number": 10**30,
    "empty": {},
    "unknown field": turn(tenant_id=str(uuid4())),
    "no turn id": {key: value for key, value in TURN.items() if key != "turn_id"},
    "empty turn id": turn(turn_id=""),
    "blank turn id": turn(turn_id="\u3000\u200b"),
    "turn id too long": turn(turn_id="长" * 201),
    "turn id a number": turn(turn_id=7),
    "turn id with NUL": turn(turn_id="a\x00b"),
    "turn id with line break": turn(turn_id="a\nb"),
    "turn id with a lone surrogate": turn(turn_id="\ud800"),
    "session id null": turn(session_id=None),
    "session id with a lone surrogate": turn(session_id="\udfff"),
    "no time": {key: value for key, value in turn().items() if key != "occurred_at"},
    "time a number": turn(occurred_at=1_700_000_000),
    "time without offset": turn(occurred_at="2026-08-01T09:00:00"),
    "no such day": turn(occurred_at="2026-02-30T09:00:00Z"),
    "time in an hour": turn(occurred_at=later(hours=1)),
    "time in a thousand years": turn(occurred_at=later(days=365_000)),
    "year 0": turn(occurred_at="0000-01-01T00:00:00Z"),
    "year 1": turn(occurred_at="0001-01-01T00:00:00+14:00"),
    "year 9999": turn(occurred_at="9999-12-31T23:59:59-14:00"),
    "unknown status": turn(status="done"),
    "no messages": turn(messages=[]),
    "messages null": turn(messages=None),
    "messages an object": turn(messages={"0": TURN["messages"][0]}),
    "201 messages": turn(messages=[{**TURN["messages"][0], "message_id": f"m{n}"} for n in range(201)]),
    "message id twice": turn(messages=[TURN["messages"][0], TURN["messages"][0]]),
    "message a string": turn(messages=["hello"]),
    "unknown role": message(role="developer"),
    "role null": message(role=None),
    "role a list": message(role=["user"]),
    "unknown origin": message(origin="dream"),
    "origin that does not fit": message(origin="assistant"),
    "empty content": message(content=""),
    "blank content": message(content=" \u3000\n"),
    "content null": message(content=None),
    "content a list": message(content=[{"type": "text", "text": "hi"}]),
    "content with NUL": message(content="喜欢\x00烤鸭"),
    "content with a lone surrogate": message(content="喜欢\ud83d烤鸭"),
    "content with reversed surrogates": message(content="\udc00\ud800"),
    "content with an escape": message(content="\x1b[31m"),
    "content too long": message(content="长" * 100_001),
    "contexts that are no ids": turn(contexts=["x"]),
    "101 contexts": turn(contexts=[str(uuid4())] * 101),
    "another schema": turn(schema="cenotaph.turn/2"),
}
BAD_BODIES: dict[str, tuple[str, Any]] = {
    "context without role": ("/v1/context", {"query": "晚饭"}),
    "context for an unknown role": ("/v1/context", {"query": "晚饭", "role": "admin"}),
    "context without query": ("/v1/context", {"role": "chat"}),
    "empty query": ("/v1/context", {"query": "", "role": "chat"}),
    "query with a lone surrogate": ("/v1/context", {"query": "\ud800", "role": "chat"}),
    "query with NUL": ("/v1/memories/search", {"query": "a\x00"}),
    "query too long": ("/v1/memories/search", {"query": "晚" * 8_001}),
    "budget of 10**400": ("/v1/context", {"query": "x", "role": "chat", "token_budget": 10**400}),
    "budget -1": ("/v1/context", {"query": "x", "role": "chat", "token_budget": -1}),
    "budget a string": ("/v1/context", {"query": "x", "role": "chat", "token_budget": "800"}),
    "budget 1e308": ("/v1/context", {"query": "x", "role": "chat", "token_budget": 1e308}),
    "at_least 2**63": ("/v1/context", {"query": "x", "role": "chat", "at_least": 2**63}),
    "at_least -1": ("/v1/memories/search", {"query": "x", "at_least": -1}),
    "limit 0": ("/v1/memories/search", {"query": "x", "limit": 0}),
    "limit true": ("/v1/memories/search", {"query": "x", "limit": True}),
    "limit 10**30": ("/v1/memories/search", {"query": "x", "limit": 10**30}),
    "forget nothing": ("/v1/forget", {}),
    "forget what is no id": ("/v1/forget", {"memory_id": "'; drop table log.event; --"}),
    "forget a number": ("/v1/forget", {"memory_id": 7}),
    "forget a list": ("/v1/forget", {"memory_id": [str(uuid4())]}),
    "forget what never was": ("/v1/forget", {"memory_id": str(uuid4())}),
    "forget for another tenant": ("/v1/forget", {"memory_id": str(uuid4()), "tenant_id": str(uuid4())}),
}
CURSORS = (
    *("x", "AAAA", "....", "=", "a" * 400, "a" * 401, "%00", "bnVsbA==", "W10=", "WzEsMiwzXQ==", "e30=", "烤鸭", "-1"),
    *("MjAyNi0wOC0wMVQwOTowMDowMCswMDowMHx4fDE", "LTk5OTk5OTk5OTk5fDB8MA", "__________8", "%F0%28%8C%BC"),
)
BAD_GETS = (
    *(f"/v1/{what}?cursor={cursor}" for what in ("memories", "receipts") for cursor in CURSORS),
    *(f"/v1/{what}?limit={limit}" for what in ("memories", "receipts") for limit in ("0", "101", "-1", "x", "9" * 400)),
    "/v1/memories?status=dead",
    "/v1/memories/x",
    "/v1/memories/" + "0" * 5_000,
    "/v1/memories/%00",
    f"/v1/memories/{uuid4()}",
    "/v1/receipts/x",
    f"/v1/receipts/{uuid4()}",
    "/v1/turns/never-said",
    "/v1/turns/%00",
    "/v1/turns/%ED%A0%80",
    "/v1/turns/" + "a" * 201,
    "/v1/nothing",
    "/v1/memories/../../etc/passwd",
)


def check(answer: httpx.Response, *statuses: int) -> None:
    """Assert that this is a refusal a program can read, without a word of what was sent."""
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text)
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["type"].startswith("urn:cenotaph:problem:")
    assert problem["title"]
    assert problem["detail"]
    assert "烤鸭" not in answer.text
    if statuses:
        assert answer.status_code in statuses, answer.text


@pytest.fixture
async def shen(up: Up) -> AsyncIterator[httpx.AsyncClient]:
    """Give the client of a fresh person."""
    async with up.person(f"沈-{uuid4()}") as client:
        yield client


def escaped(value: object) -> bytes:
    return json.dumps(value).encode()


def json_headers() -> dict[str, str]:
    return {"Content-Type": "application/json"}


@pytest.mark.parametrize("path", ["/v1/turns", "/v1/context", "/v1/memories/search", "/v1/forget", "/v1/tokens"])
async def test_bytes_that_are_not_json(up: Up, shen: httpx.AsyncClient, path: str) -> None:
    """Malformed bytes are refused with 400 at every door, and nothing is stored."""
    before = await up.settled()
    headers = json_headers() | ({"Authorization": f"Bearer {up.keys[0]}"} if path == "/v1/tokens" else {})
    for raw in BAD_JSON.values():
        check(await shen.post(path, content=raw, headers=headers), HTTPStatus.BAD_REQUEST)
    assert await up.events() == before


@pytest.mark.parametrize("name", BAD_TURNS)
async def test_a_turn_that_is_wrong(up: Up, shen: httpx.AsyncClient, name: str) -> None:
    """Each wrong turn is refused with 422, and nothing is stored."""
    before = await up.settled()
    answer = await shen.post("/v1/turns", content=escaped(BAD_TURNS[name]), headers=json_headers())
    check(answer, HTTPStatus.UNPROCESSABLE_ENTITY)
    assert answer.json()["errors"]
    assert await up.events() == before


async def test_other_bodies_that_are_wrong(up: Up, shen: httpx.AsyncClient) -> None:
    """Recall and forgetting refuse what is wrong, and nothing is stored."""
    before = await up.settled()
    for path, body in BAD_BODIES.values():
        check(await shen.post(path, content=escaped(body), headers=json_headers()), 400, 404, 422)
    assert await up.events() == before


async def test_paths_cursors_and_numbers(up: Up, shen: httpx.AsyncClient) -> None:
    """Garbage in a path, a cursor or a limit is a 4xx."""
    before = await up.settled()
    for path in BAD_GETS:
        check(await shen.get(path))
    assert await up.events() == before


async def test_too_large(up: Up, shen: httpx.AsyncClient) -> None:
    """A body beyond the limit is refused, with its length declared and without."""
    before = await up.settled()
    huge = escaped(message(content="长" * 3_000_000))

    def chunks() -> Iterator[bytes]:
        yield from (huge[at : at + 65_536] for at in range(0, len(huge), 65_536))

    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks():
            yield chunk

    for content in (huge, stream()):
        check(await shen.post("/v1/turns", content=content, headers=json_headers()), 413)
    assert await up.events() == before


async def test_other_media_and_methods(up: Up, shen: httpx.AsyncClient) -> None:
    """Another media type, charset, encoding or method is refused."""
    before = await up.settled()
    for headers in (
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ):
        check(await shen.post("/v1/turns", content=escaped(turn()), headers=headers), 415)
    check(await shen.post("/v1/turns", content=escaped(turn())), 415)
    for method in ("PUT", "DELETE", "PATCH"):
        check(await shen.request(method, "/v1/turns", content=b"{}"), 405)
    assert await up.events() == before


async def test_no_credential_or_a_wrong_one(up: Up, shen: httpx.AsyncClient) -> None:
    """Without a credential, with a forged or cut one, or with a tenant key where a token belongs: 401 or 403."""
    before = await up.settled()
    good = shen.headers["Authorization"].removeprefix("Bearer ")
    head, body, signature = good.split(".")
    wrong = [
        None,
        "",
        "Bearer",
        "Basic dXNlcjpwYXNz",
        "Bearer x",
        "Bearer " + "a" * 10_000,
        f"Bearer {head}.{body}.",
        f"Bearer {head}.{body}.{signature[::-1]}",
        f"Bearer {head}.{body[::-1]}.{signature}",
        f"Bearer eyJhbGciOiJub25lIn0.{body}.",
        f"Bearer {up.keys[0]}",
        f"Bearer {up.keys[0][:-1]}",
        "Bearer cnk_x_y",
        "Bearer cnk_",
        "Bearer cnk_'; drop table ops.api_key; --_x",
    ]
    async with httpx.AsyncClient(base_url=up.url) as http:
        for credential in wrong:
            headers = {} if credential is None else {"Authorization": credential}
            for method, path, json_body in (
                ("POST", "/v1/turns", turn()),
                ("POST", "/v1/context", {"query": "晚饭", "role": "chat"}),
                ("POST", "/v1/forget", {"memory_id": str(uuid4())}),
                ("GET", "/v1/memories", None),
                ("GET", "/v1/receipts", None),
            ):
                check(await http.request(method, path, json=json_body, headers=headers), 401, 403)
    check(await shen.post("/v1/tokens", json={"subject": "x", "role": "agent"}), 403)
    tenant = {"Authorization": f"Bearer {up.keys[0]}"}
    for wish in ({"subject": "x", "role": "owner"}, {"subject": "", "role": "agent"}, {"subject": "\ud800"}):
        answer = await shen.post("/v1/tokens", content=escaped(wish), headers=tenant | json_headers())
        check(answer, HTTPStatus.UNPROCESSABLE_ENTITY)
    assert await up.events() == before


async def test_another_tenants_ids(up: Up) -> None:
    """Memory, receipt and turn of another person, of the same tenant or another, are not there and do not change."""
    name = f"沈-{uuid4()}"
    async with up.person(name) as owner, up.person(f"陆-{uuid4()}") as neighbour, up.person(name, 1) as namesake:
        said = turn()
        assert (await owner.post("/v1/turns", json=said)).status_code == HTTPStatus.ACCEPTED
        gone = turn(messages=[{"message_id": "m", "role": "user", "content": "Please remember: I live in Utrecht."}])
        assert (await owner.post("/v1/turns", json=gone)).status_code == HTTPStatus.ACCEPTED
        await up.settled()
        (kept,) = (await owner.get(f"/v1/turns/{said['turn_id']}")).json()["verdicts"]
        (lost,) = (await owner.get(f"/v1/turns/{gone['turn_id']}")).json()["verdicts"]
        receipt = await _propagated(owner, lost["memory_id"])
        paths = (
            f"/v1/memories/{kept['memory_id']}",
            f"/v1/receipts/{receipt['receipt_id']}",
            f"/v1/turns/{said['turn_id']}",
        )
        shown = [(await owner.get(path)).json() for path in paths]
        before = await up.settled()
        for stranger in (neighbour, namesake):
            for path in paths:
                check(await stranger.get(path), 404)
            for memory in (kept, lost):
                check(await stranger.post("/v1/forget", json={"memory_id": memory["memory_id"]}), 404)
            for path in ("/v1/memories", "/v1/memories?status=forgotten"):
                assert (await stranger.get(path)).json()["memories"] == []
            assert (await stranger.get("/v1/receipts")).json()["receipts"] == []
        assert await up.events() == before
        assert [(await owner.get(path)).json() for path in paths] == shown
        assert shown[0]["status"] == "active"


async def _propagated(http: httpx.AsyncClient, memory_id: str) -> dict[str, Any]:
    receipt: dict[str, Any] = (await http.post("/v1/forget", json={"memory_id": memory_id})).json()
    async with asyncio.timeout(90):
        while receipt["decision"] != "deletion_propagated":
            await asyncio.sleep(0.05)
            receipt = (await http.get(f"/v1/receipts/{receipt['receipt_id']}")).json()
    return receipt


async def test_a_turn_id_with_another_body(up: Up, shen: httpx.AsyncClient) -> None:
    """A known turn id with other words, roles, order, time or status is a conflict; the same turn again is known."""
    said = turn()
    assert (await shen.post("/v1/turns", json=said)).status_code == HTTPStatus.ACCEPTED
    before = await up.settled()
    again = await shen.post("/v1/turns", json=said)
    assert (again.status_code, again.json()["state"]) == (HTTPStatus.OK, "known")
    first, second = said["messages"]
    for change in (
        {"messages": [{**first, "content": "我不喜欢北京烤鸭。"}, second]},
        {"messages": [{**first, "content": first["content"] + " "}, second]},
        {"messages": [first]},
        {"messages": [second, first]},
        {"messages": [first, second, {**first, "message_id": "m-3"}]},
        {"messages": [first, {**second, "origin": "subagent"}]},
        {"occurred_at": "2026-08-01T09:00:01+08:00"},
        {"status": "cancelled"},
    ):
        answer = await shen.post("/v1/turns", json={**said, **change})
        check(answer, HTTPStatus.CONFLICT)
    assert await up.events() == before


FRAMES: dict[str, dict[str, Any]] = {
    "another message id": {"messages": [{**TURN["messages"][0], "message_id": "m-9"}, TURN["messages"][1]]},
    "another session": {"session_id": "s-other"},
    "other contexts": {"contexts": [str(uuid4())]},
}


@pytest.mark.parametrize("name", FRAMES)
async def test_a_turn_id_with_another_frame(up: Up, shen: httpx.AsyncClient, name: str) -> None:
    """A known turn id with other message ids, another session or other contexts is a conflict too."""
    said = turn()
    assert (await shen.post("/v1/turns", json=said)).status_code == HTTPStatus.ACCEPTED
    before = await up.settled()
    check(await shen.post("/v1/turns", json={**said, **FRAMES[name]}), HTTPStatus.CONFLICT)
    assert await up.events() == before


async def _turns_of(up: Up, name: str) -> list[tuple[str, ...]]:
    """Open every stored turn of a person: the words of its messages."""
    vault, key = up.composition.vault("keeper"), up.keys[0]
    holder = await up.composition.backend.holder_of_key(key)
    assert holder is not None
    tenant = holder.tenant_id
    scope = Scope(tenant_id=tenant, subject_id=await vault.subject(tenant, name))
    async with up.composition.log(None).connection() as connection:
        rows = await connection.fetch(
            "select event_id from log.event where type = 'turn_finalized' and subject_id = $1", scope.subject_id
        )
        stored = await read_events(connection, [EventId(row["event_id"]) for row in rows])
        keyring, found = await vault.keyring(scope), []
        for event in stored.values():
            assert isinstance(event.event, TurnFinalized)
            opened = await open_bodies(connection, keyring, [(event, part.name) for part in event.parts])
            bodies = [opened[event.event_id, part.name] for part in event.parts]
            found.append(tuple(MessageBody.model_validate_json(b).content for b in bodies if isinstance(b, bytes)))
        parts = await connection.fetchval("select count(*) from log.body where subject_id = $1", scope.subject_id)
    assert parts >= sum(map(len, found))
    return found


async def test_one_turn_posted_twenty_times_at_once(up: Up) -> None:
    """The same turn from twenty connections: one is stored, the others are told that it is known."""
    name, said = f"沈-{uuid4()}", turn()
    async with up.person(name) as http:
        answers = await asyncio.gather(*(http.post("/v1/turns", json=said) for _ in range(20)))
        states = sorted(answer.json()["state"] for answer in answers)
        assert states == ["known"] * 19 + ["stored"], [answer.text for answer in answers]
    assert await _turns_of(up, name) == [(SAID, "Noted.")]
    await up.settled()


async def test_two_bodies_for_one_turn_id_at_once(up: Up) -> None:
    """Twenty posts of one turn id with two bodies: exactly one body is stored, the others' senders learn of it."""
    for _ in range(3):
        name, said = f"沈-{uuid4()}", turn()
        other = {**said, "messages": [{"message_id": "m-1", "role": "user", "content": "I moved to Utrecht."}]}
        async with up.person(name) as http:
            answers = await asyncio.gather(*(http.post("/v1/turns", json=(said, other)[n % 2]) for n in range(20)))
        stored = [n for n, answer in enumerate(answers) if answer.status_code == HTTPStatus.ACCEPTED]
        assert len(stored) == 1, [answer.text for answer in answers]
        for n, answer in enumerate(answers):
            if n % 2 != stored[0] % 2:
                check(answer, HTTPStatus.CONFLICT)
            elif n != stored[0]:
                assert (answer.status_code, answer.json()["state"]) == (HTTPStatus.OK, "known")
        assert await _turns_of(up, name) == [(("I moved to Utrecht.",) if stored[0] % 2 else (SAID, "Noted."))]
    await up.settled()
