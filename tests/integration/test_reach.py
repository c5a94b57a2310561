"""What is for a project, task, assistant or purpose is read there and by the person alone, on every path (R30, R31)."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from typing import Final
from uuid import uuid4

import httpx
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from events.errors import ScopeError
from events.model import PRIVATE as EVERYBODY
from events.model import Audience, MemoryId, Position, Scope
from projections.changes import fold
from projections.keywords import matching
from projections.memories import open_memories
from projections.vectors import DIMENSION, Row, Vectors
from services.access.rights import TokenRole
from services.access.tokens import TokenSigner
from services.api.app import create_app
from services.api.openapi import Api
from services.wire.limits import Limits
from services.wire.names import Bounds
from services.wire.recall import ContextRequest, RecallRole
from services.wire.tasks import TaskStart
from tests.plant import Plant, planted

PRIVATE, ATLAS, BOREAS, TASK = "Kestrel", "琥珀灯塔", "Zebrafinch", "月见草"
COACH, FITNESS = "Larkspur", "海棠渡"
SAID: Final = {
    PRIVATE: "Please remember that my boat is called Kestrel.",
    ATLAS: "请记住：我养的猫叫琥珀灯塔。",
    BOREAS: "Please remember that my boat is called Zebrafinch.",
    TASK: "请记住：我喜欢月见草茶。",
    COACH: "Please remember that my bicycle is called Larkspur.",
    FITNESS: "请记住：我喜欢去海棠渡跑步。",
}
DESCRIBED = "the name of my boat, my bicycle, 我的猫叫什么, 月见草茶, 去哪里跑步"
PLACE = ("visibility", "project", "task_id", "assistant", "purpose")
QUERY = "What is my boat called? And my bicycle? 我的猫叫什么名字？ 月见草 跑步"


@dataclass
class Doors:
    """One person with memories for several readers, and the door with a token for each reader."""

    plant: Plant
    app: Api
    signer: TokenSigner
    scopes: Mapping[str, Scope]
    memories: Mapping[str, MemoryId]

    async def call(self, who: str, method: str, path: str, body: object = None) -> httpx.Response:
        """Make one call as somebody."""
        role = TokenRole.PERSON if who == "person" else TokenRole.AGENT
        token, _ = self.signer.issue(self.scopes[who], role, timedelta(minutes=5))
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://door") as client:
            return await client.request(method, path, json=body, headers={"Authorization": f"Bearer {token}"})

    async def read(self, who: str) -> str:
        """Read as somebody whatever names or holds a memory; return all that was said."""
        texts = []
        for method, path, body in (
            ("GET", "/v1/memories", None),
            ("GET", "/v1/profile", None),
            ("GET", "/v1/inbox", None),
            ("POST", "/v1/memories/search", {"query": QUERY}),
            ("POST", "/v1/context", {"query": QUERY, "role": "chat", "session_id": "s1", "token_budget": 3000}),
            (
                "POST",
                "/v1/forget/preview",
                {"description": DESCRIBED},
            ),
            *(("POST", "/v1/forget/preview", {"kind": kind}) for kind in ("fact", "preference")),
            ("POST", "/v1/forget/preview", {"session_id": "s1"}),
            *(
                ("GET", f"/v1/memories/{memory}{what}", None)
                for memory in self.memories.values()
                for what in ("", "/explain")
            ),
        ):
            answer = await self.call(who, method, path, body)
            assert answer.status_code in {200, 404}, (path, answer.text)
            texts.append(answer.text.replace(QUERY, ""))
        return "\n".join(texts)


@pytest.fixture(scope="module")
async def doors(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Doors]:
    """Let one person speak in private, in two projects, in a task of one, to an assistant, and to it for a purpose."""
    async with planted(tmp_path_factory.mktemp("reach")) as plant:
        backend, person = plant.composition.backend, await plant.person()
        scopes = {
            "person": person,
            "agent": person.within(Audience()),
            "atlas": await backend.bound(person, Bounds("Atlas")),
            "boreas": await backend.bound(person, Bounds("项目北风")),
            "task": await backend.bound(person, Bounds("ＡＴＬＡＳ", "task-7")),
            "coach": await backend.bound(person, Bounds(assistant="Coach")),
            "fitness": await backend.bound(person, Bounds(assistant="ＣＯＡＣＨ", purpose="Health  Coaching")),
            "adviser": await backend.bound(person, Bounds(assistant="理财顾问", purpose="health coaching")),
            "marketing": await backend.bound(person, Bounds(assistant="coach", purpose="marketing")),
        }
        said_by = {PRIVATE: "agent", ATLAS: "atlas", BOREAS: "boreas", TASK: "task", COACH: "coach", FITNESS: "fitness"}
        memories = {word: await plant.remember(scopes[who], SAID[word], "好的 ok") for word, who in said_by.items()}
        signer = TokenSigner(Ed25519PrivateKey.generate())
        app = create_app(backend, signer, Limits(max_messages=50, max_message_chars=10_000, max_body_bytes=100_000))
        yield Doors(plant, app, signer, scopes, memories)


SEEN: Final = {
    "person": {PRIVATE, ATLAS, BOREAS, TASK, COACH, FITNESS},
    "agent": {PRIVATE, ATLAS, BOREAS},
    "atlas": {ATLAS},
    "boreas": {BOREAS},
    "task": {ATLAS, TASK},
    "coach": {PRIVATE, ATLAS, BOREAS, COACH},
    "fitness": {PRIVATE, ATLAS, BOREAS, COACH, FITNESS},
    "adviser": {PRIVATE, ATLAS, BOREAS},
    "marketing": {PRIVATE, ATLAS, BOREAS, COACH},
}


@pytest.mark.parametrize("who", SEEN)
async def test_everybody_reads_what_is_for_them(doors: Doors, who: str) -> None:
    """Nothing private is read in a project, nothing of a project in another one, nothing of a task outside it.

    Nothing that one assistant was told is read by another, nor for another purpose than it was told for.
    """
    found = await doors.read(who)
    for word, memory in doors.memories.items():
        assert (word in found) == (word in SEEN[who]), word
        expected = 200 if word in SEEN[who] else 404
        assert (await doors.call(who, "GET", f"/v1/memories/{memory}")).status_code == expected, word


async def test_a_view_says_whom_it_is_for(doors: Doors) -> None:
    """The person sees visibility, project, task, assistant and purpose of each memory, by their outside ids."""
    shown = {
        word: (await doors.call("person", "GET", f"/v1/memories/{each}")).json()
        for word, each in doors.memories.items()
    }
    places = {word: tuple(each[name] for name in PLACE) for word, each in shown.items()}
    assert places == {
        PRIVATE: ("private", None, None, None, None),
        ATLAS: ("project", "atlas", None, None, None),
        BOREAS: ("project", "北风", None, None, None),
        TASK: ("project", "atlas", "task-7", None, None),
        COACH: ("private", None, None, "coach", None),
        FITNESS: ("private", None, None, "coach", "health coaching"),
    }


async def test_projects_do_not_replace_each_other(doors: Doors) -> None:
    """The boat of the private memory and that of a project are two facts; neither superseded the other."""
    listed = (await doors.call("person", "GET", "/v1/memories")).json()["memories"]
    assert {each["status"] for each in listed} == {"active"}


@pytest.mark.parametrize(
    ("said", "project", "word"),
    [
        pytest.param("鲲鹏项目里代码统一用制表符缩进。", "鯤鵬專案", "制表符", id="zh"),
        pytest.param(
            "For project Falcon, always use tabs for indentation.", "the FALCON project", "indentation", id="en"
        ),
    ],
)
async def test_a_rule_for_a_project_that_the_person_names_is_read_there(
    doors: Doors, said: str, project: str, word: str
) -> None:
    """Said in private, it is for the agents of that project, however they write its name, and for no others."""
    plant, backend = doors.plant, doors.plant.composition.backend
    memory = await plant.remember(doors.scopes["agent"], said, "好的 ok")
    there = await backend.bound(doors.scopes["person"], Bounds(project))
    context = await backend.context(there, ContextRequest(query=said, role=RecallRole.CHAT))
    assert [each.memory_id for each in context.memories] == [memory]
    assert word in context.text
    for who in ("atlas", "boreas"):
        assert (await doors.call(who, "GET", f"/v1/memories/{memory}")).status_code == 404


async def test_an_id_of_a_turn_is_another_turn_in_another_project(doors: Doors) -> None:
    """Nobody learns by its id that a turn was said elsewhere, or what became of it."""
    answers = {who: (await doors.call(who, "GET", "/v1/turns/t1")).status_code for who in SEEN}
    assert {who for who, status in answers.items() if status == 200} == {"agent", "person"}


async def test_a_trace_is_read_as_far_as_its_reader_reached(doors: Doors) -> None:
    """The trace of a private read is not there for a project; that of a project's read is, and for the agent too."""
    backend = doors.plant.composition.backend
    request, asked = ContextRequest(query=QUERY, role=RecallRole.CHAT), ("agent", "atlas", "task", "fitness")
    traces = {who: (await backend.context(doors.scopes[who], request)).context_id for who in asked}
    found = {
        (who, of): (await doors.call(who, "GET", f"/v1/traces/{trace}")).status_code == 200
        for of, trace in traces.items()
        for who in SEEN
    }
    assert {pair for pair, there in found.items() if there} == {
        *(("person", of) for of in traces),
        *((who, "agent") for who in ("agent", "coach", "fitness", "adviser", "marketing")),
        *((who, "atlas") for who in ("coach", "fitness", "adviser", "marketing")),
        ("fitness", "fitness"),
        ("agent", "atlas"),
        ("atlas", "atlas"),
        ("task", "atlas"),
        ("task", "task"),
    }


async def test_what_is_kept_by_the_cache_is_kept_for_one_reach(doors: Doors) -> None:
    """Asked twice by each reader in turn, an answer never comes from what was found for another."""
    backend, request = doors.plant.composition.backend, ContextRequest(query=QUERY, role=RecallRole.CHAT)
    for _ in range(2):
        for who, words in SEEN.items():
            text = (await backend.context(doors.scopes[who], request)).text
            assert {word for word in SAID if word in text} <= words, who


async def test_a_project_forgets_only_its_own(doors: Doors) -> None:
    """To forget or to set aside a private memory from a project finds nothing, and its receipt is not there either."""
    memory = doors.memories[PRIVATE]
    for path, body in (("/v1/forget", {"memory_id": str(memory)}), (f"/v1/memories/{memory}/suspend", None)):
        assert (await doors.call("atlas", "POST", path, body)).status_code == 404
    spare = await doors.plant.remember(doors.scopes["agent"], "请记住：我喝咖啡只喝手冲。", "好的")
    receipt = await doors.plant.forget(doors.scopes["agent"], spare)
    assert (await doors.call("agent", "GET", f"/v1/receipts/{receipt}")).status_code == 200
    assert (await doors.call("atlas", "GET", f"/v1/receipts/{receipt}")).status_code == 404
    assert str(receipt) not in (await doors.call("atlas", "GET", "/v1/receipts")).text


async def test_a_task_is_of_the_project_it_was_begun_in(doors: Doors) -> None:
    """Another project finds it neither by its id nor in the list, a credential of another task neither."""
    backend, tasks = doors.plant.composition.backend, doors.plant.composition.backend.task_states
    start = TaskStart.model_validate(
        {"command_id": "c1", "task_id": "report", "type": "report", "name": "r", "goal": "写周报", "steps": ["write"]}
    )
    await backend.start_task(doors.scopes["atlas"], start)
    await doors.plant.follow()
    here, there = doors.scopes["atlas"], doors.scopes["boreas"]
    assert await tasks.book.show(here, "report") is not None
    assert await tasks.book.show(there, "report") is None
    assert await tasks.book.show(doors.scopes["task"], "report") is None
    assert [each.task_id for each in (await tasks.book.page(here, 10, None)).tasks] == ["report"]
    assert not (await tasks.book.page(there, 10, None)).tasks
    assert not (await tasks.book.page(doors.scopes["task"], 10, None)).tasks


async def test_a_task_is_of_the_assistant_and_the_purpose_it_was_begun_for(doors: Doors) -> None:
    """Neither another assistant nor a reader for another purpose finds it; what is concluded of it is for the same."""
    backend, book = doors.plant.composition.backend, doors.plant.composition.backend.task_states.book
    start = TaskStart.model_validate(
        {"command_id": "c1", "task_id": "plan", "type": "plan", "name": "p", "goal": "跑步计划", "steps": ["run"]}
    )
    await backend.start_task(doors.scopes["fitness"], start)
    await doors.plant.follow()
    assert await book.show(doors.scopes["fitness"], "plan") is not None
    task, *_ = (await book.page(doors.scopes["fitness"], 10, None)).tasks
    for who in ("coach", "adviser", "marketing", "agent"):
        assert await book.show(doors.scopes[who], "plan") is None, who
        listed = (await book.page(doors.scopes[who], 10, None)).tasks
        assert task.started_at not in {each.started_at for each in listed}, who


async def test_no_body_opens_beyond_the_reach(doors: Doors) -> None:
    """Whatever found it, the content of a memory for other readers is refused where it would be decrypted."""
    plant = doors.plant
    state = fold({}, await plant.stream(doors.scopes["person"]))
    for who, word in (("atlas", PRIVATE), ("adviser", COACH), ("marketing", FITNESS), ("agent", FITNESS)):
        (fact,) = (each for each in state.values() if each.memory_id == doors.memories[word])
        keyring = await plant.composition.vault("opener").keyring(doors.scopes[who])
        async with plant.composition.log("reader").transaction(doors.scopes[who]) as connection:
            with pytest.raises(ScopeError, match="other readers"):
                await open_memories(connection, keyring, [fact])


@pytest.mark.parametrize("table", ["facts.memory", "keywords.entry", "sessions.turn", "ops.read"])
async def test_the_hostile_query_of_a_project_finds_nothing_else(doors: Doors, table: str) -> None:
    """A query without any filter, through the application's own connection, gets rows of the project alone."""
    scope = doors.scopes["boreas"]
    async with doors.plant.composition.log("reader").transaction(scope) as connection:
        rows = await connection.fetch(f"select project, task from {table}")  # noqa: S608 - our own tables
    assert {(row["project"], row["task"]) for row in rows} == {(scope.audience.project, None)}


async def test_the_index_is_searched_as_far_as_the_reader_reaches(doors: Doors) -> None:
    """The vector index itself gives a project its own rows, a task also its own, the person all."""
    plant = doors.plant
    (vector,) = await plant.composition.embedder.embed_passages([SAID[PRIVATE]])
    async with plant.owner() as connection:
        place: str = await connection.fetchval("select place from read_model.checkpoint where name = 'vectors'")
    index = plant.composition.vectors
    found = {
        who: {hit.memory_id for hit in await index.search(place, scope, vector, 50)}
        for who, scope in doors.scopes.items()
    }
    for who, words in SEEN.items():
        assert found[who] & set(doors.memories.values()) == {doors.memories[word] for word in words}, who


async def test_the_three_walls_say_the_same(doors: Doors) -> None:
    """Of every audience and every reach: the rule, the policy of Postgres and the filter of the index agree."""
    plant, person = doors.plant, await doors.plant.person()
    projects = (None, uuid4(), uuid4())
    others = (None, uuid4(), uuid4())
    own = [dict(zip(("task", "assistant", "purpose"), each, strict=True)) for each in product(others, repeat=3)]
    audiences = {
        MemoryId(uuid4()): Audience.model_validate({"project": project, **each}) for project in projects for each in own
    }
    vector = np.zeros(DIMENSION, np.float32)
    vector[0] = 1
    rows = [Row(person, memory, 1, Position(1), vector, audience) for memory, audience in audiences.items()]
    async with plant.owner() as connection:
        for memory, audience in audiences.items():
            await connection.execute(
                "insert into keywords.entry values ($1, $2, $3, 1, '{7}', 1, $4, $5, $6, $7)",
                *(person.tenant_id, person.subject_id, memory, *(each for _, each in audience)),
            )
    index = Vectors(plant.composition.milvus, "reach")
    await index.ensure()
    await index.upsert(rows)
    every = [*audiences.values()]
    for scope in (person, person.within(EVERYBODY), *(person.within(each) for each in every[::7])):
        admitted = {memory for memory, audience in audiences.items() if scope.admits(audience)}
        async with plant.composition.log("reader").transaction(scope) as connection:
            found = {entry.memory_id for entry in (await matching(connection, scope, [7])).entries}
        hits = {hit.memory_id for hit in await index.search(scope, vector, len(rows))}
        assert (found, hits) == (admitted, admitted), scope.reach


async def _readers(doors: Doors, memory: MemoryId, word: str) -> set[str]:
    """Say who reads a memory on every path; each reads it on all or on none, by its words, its id and in a context."""
    found = set()
    for who in SEEN.keys() - {"task", "adviser"}:
        backend = doors.plant.composition.backend
        context = await backend.context(doors.scopes[who], ContextRequest(query=QUERY, role=RecallRole.CHAT))
        shown = await doors.call(who, "GET", f"/v1/memories/{memory}")
        explained = await doors.call(who, "GET", f"/v1/memories/{memory}/explain")
        listed = await doors.call(who, "GET", "/v1/memories")
        old = await doors.call(who, "GET", "/v1/memories?status=superseded")
        seen = [word in text for text in (context.text, shown.text, explained.text, listed.text)]
        assert len(set(seen)) == 1, (who, seen)
        assert who == "person" or word not in old.text, who
        found |= {who} if seen[0] else set()
    return found


@pytest.mark.parametrize("followed", [True, False], ids=["indexed", "not yet indexed"])
async def test_the_person_moves_a_memory(doors: Doors, *, followed: bool) -> None:
    """From private to a project, to an assistant, and back: at once, before and after the indexes have followed."""
    thing, word = ("boat shed", "Wisteria") if followed else ("canoe", "Goldfinch")
    memory = await doors.plant.remember(doors.scopes["agent"], f"Please remember that my {thing} is called {word}.")
    everybody = {"person", "agent", "coach", "fitness", "marketing"}
    ways: Sequence[tuple[dict[str, str], set[str]]] = (
        ({"project": "Project Atlas"}, everybody | {"atlas"}),
        ({"assistant": "Coach", "purpose": "health coaching"}, {"person", "fitness"}),
        ({"assistant": "coach"}, {"person", "coach", "fitness", "marketing"}),
        ({}, everybody),
    )
    assert await _readers(doors, memory, word) == everybody
    for version, (to, readers) in enumerate(ways, 2):
        answer = await doors.call("person", "PUT", f"/v1/memories/{memory}/audience", to)
        assert (answer.status_code, answer.json()["version"]) == (200, version)
        again = await doors.call("person", "PUT", f"/v1/memories/{memory}/audience", to)
        assert again.json() == answer.json()
        if followed:
            await doors.plant.follow()
        assert await _readers(doors, memory, word) == readers, to
    detail = (await doors.call("person", "GET", f"/v1/memories/{memory}")).json()
    assert [each["visibility"] for each in detail["versions"]] == [
        "private",
        "project",
        "private",
        "private",
        "private",
    ]
    assert {each["scope"] for each in detail["versions"]} == {"personal", "project:atlas"}
    assert detail["scope"] == "personal"
    assert len({each["occurred_at"] for each in detail["versions"]}) == 1
    await doors.plant.follow()


async def test_nobody_else_moves_a_memory(doors: Doors) -> None:
    """Neither an agent nor a workflow may, in whatever place; the person may not move what is not there."""
    memory = doors.memories[PRIVATE]
    for who in SEEN.keys() - {"person"}:
        answer = await doors.call(who, "PUT", f"/v1/memories/{memory}/audience", {"project": "atlas"})
        assert answer.status_code == 403, who
    unknown = await doors.call("person", "PUT", f"/v1/memories/{uuid4()}/audience", {})
    assert unknown.status_code == 404
    assert (await doors.call("person", "PUT", f"/v1/memories/{memory}/audience", {"task_id": "x"})).status_code == 422


async def test_what_would_contradict_or_is_sensitive_is_not_moved(doors: Doors) -> None:
    """A boat of the project is not contradicted by moving another one there, and nothing sensitive enters a project."""
    refused = await doors.call("person", "PUT", f"/v1/memories/{doors.memories[PRIVATE]}/audience", {"project": "北风"})
    assert (refused.status_code, str(doors.memories[BOREAS]) in refused.text) == (422, True)
    allergy = await doors.plant.remember(doors.scopes["agent"], "请记住：我对芒果过敏。")
    refused = await doors.call("person", "PUT", f"/v1/memories/{allergy}/audience", {"project": "atlas"})
    assert (refused.status_code, "sensitive" in refused.text) == (422, True)
    assert "芒果" not in refused.text
