"""Every way to read is listed and asked from outside its scope; a new one that is not makes a test fail (R30)."""

import ast
import inspect
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from cenotaph.calls import Call, TaskStart, Turn, What
from cenotaph.client import AsyncCenotaph, Cenotaph
from events.errors import CenotaphError, ScopeError
from events.model import (
    Accepted,
    KeyId,
    MemoryId,
    MessageId,
    NotWritten,
    Position,
    Scope,
    SessionId,
    TaskId,
    TurnFinalized,
    TurnId,
)
from ops.cli import app as command_line
from ops.logins import PARTS
from projections.changes import fold
from projections.memories import open_memories
from projections.tokens import terms
from services.access.rights import BOUND, TokenRole
from services.access.tokens import TokenSigner
from services.api.app import create_app
from services.api.openapi import Api
from services.wire.limits import Limits
from tests.attacks.world import SAID, SYSTEM, Victim, World, world
from tests.plant import planted
from tests.reading import commands, functions, routes
from tests.reading.finding import asking, querying, reachable_names

PLACES = ("another project", "another task", "another assistant", "another purpose")
LIMITS = Limits(max_messages=50, max_message_chars=10_000, max_body_bytes=100_000)


@dataclass
class Outside:
    """Who stands outside, the door they stand at, and everything of the victims.

    `nobody` is a person who never said anything, for questions to the stores themselves.
    """

    world: World
    app: Api
    signer: TokenSigner
    ids: functions.Ids
    stranger: Scope
    nobody: Scope

    @property
    def victim(self) -> Victim:
        """The victim of the stranger's own tenant."""
        return self.world.victims[0]

    @property
    def askers(self) -> Iterator[tuple[str, Scope, TokenRole]]:
        """Another person in every part, and an agent of the victim that is bound to something else."""
        yield from (("another person", self.stranger, role) for role in TokenRole)
        for scope, name in zip(self.victim.bound, PLACES, strict=True):
            yield from ((name, scope, role) for role in sorted(BOUND))

    async def ask(self, route: str, scope: Scope, role: TokenRole) -> httpx.Response:
        """Make the call of a route, with the victim's ids where it takes any."""
        method, path = route.split(" ")
        names = {name: self.victim.ids[kind][0] for name, kind in routes.IDS.items()} | {"sensitivity": "health"}
        system = SYSTEM if role is TokenRole.SYSTEM else None
        token, _ = self.signer.issue(scope, role, timedelta(minutes=5), system=system)
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://door") as client:
            return await client.request(
                method,
                path.format(**names),
                json=routes.body_of(route, self.victim),
                headers={} if route in routes.OPERATION else {"Authorization": f"Bearer {token}"},
            )

    def told(self, answer: httpx.Response) -> list[str]:
        """Say what of the victims an answer gives away: words and ids, but for what the request itself named."""
        request = answer.request
        asked = request.url.path + request.read().decode()
        return [each for each in self.world.secrets if each in answer.text + str(answer.headers) and each not in asked]


@pytest.fixture(scope="module")
async def outside(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Outside]:
    """Let the victims live, and somebody stand outside."""
    async with planted(tmp_path_factory.mktemp("outside")) as plant:
        made = await world(plant)
        signer = TokenSigner(Ed25519PrivateKey.generate())
        app = create_app(plant.composition.backend, signer, LIMITS)
        ids = await ids_of(made, made.victims[0])
        yield Outside(made, app, signer, ids, await plant.person(), await plant.person())


async def ids_of(made: World, victim: Victim) -> functions.Ids:
    """Collect all ids of a victim, as the owner of the stores sees them."""
    plant, scope = made.plant, victim.scope
    stream = await plant.stream(scope)
    keyring = await plant.composition.vault("opener").keyring(scope)
    async with plant.owner() as connection:
        turns = [each for each in await plant.turns(scope) if isinstance(each.event, TurnFinalized)]
        rows = await connection.fetch(
            "select tag from facts.memory where subject_id = $1 and tag is not null", scope.subject_id
        )
        reads = await connection.fetch("select read_id from ops.read where subject_id = $1", scope.subject_id)
        query = "select task_id, series_id from tasks.task where subject_id = $1"
        task = await connection.fetchrow(query, scope.subject_id)
        size: int = await connection.fetchval("select size from log.head")
    assert task is not None
    heads = [each.event for each in turns if isinstance(each.event, TurnFinalized)]
    written = [each.event for each in stream if isinstance(each.event, Accepted | NotWritten)]
    return functions.Ids(
        scope=scope,
        memories=[MemoryId(UUID(each)) for each in victim.ids["memory"]] + [each.candidate_id for each in written],
        turns=[TurnId(each.turn_id) for each in heads],
        messages=[MessageId(head.message_id) for each in heads for head in each.messages],
        sessions=[SessionId(each.session_id) for each in heads],
        contexts=[row["read_id"] for row in reads],
        events=[each.event_id for each in (*stream, *turns)],
        commands=[each.command_id for each in (*stream, *turns)],
        keys=[KeyId(part.key_id) for each in (*stream, *turns) for part in each.parts],
        task=TaskId(task["task_id"]),
        series=task["series_id"],
        terms=[term for said in SAID for term in terms(said, keyring.secret("terms"))],
        tags=[row["tag"] for row in rows],
        position=Position(size - 1),
    )


def empty(found: object) -> bool:
    """Tell whether an answer holds nothing: no row, no number but nought."""
    if isinstance(found, tuple | list | set | frozenset):
        return all(map(empty, found))
    return not found


# ── the door ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_route_is_listed(outside: Outside) -> None:
    """The door has the routes of the table, and no other; a new one must be asked from outside here."""
    described = {
        f"{method.upper()} {path}" for path, methods in outside.app.openapi()["paths"].items() for method in methods
    }
    served = {
        f"{method} {getattr(route, 'path', '').replace(':path', '')}"
        for route in outside.app.routes
        for method in getattr(route, "methods", None) or ()
        if method not in {"HEAD", "OPTIONS"}
    }
    apart = {
        route for route in served - described if not route.split(" ")[1].startswith(("/v1", "/health", "/metrics"))
    }
    assert described | (served - apart) == routes.ROUTES
    assert {route.split(" ")[1] for route in apart} <= {"/openapi.json", "/docs", "/redoc", "/docs/oauth2-redirect"}


@pytest.mark.parametrize("route", sorted(routes.ROUTES - routes.TENANT))
async def test_no_route_gives_anything_to_another_scope(outside: Outside, route: str) -> None:
    """Whoever asks from outside, in whatever part, gets no word and no id of the victims, and is refused their ids."""
    for who, scope, role in outside.askers:
        answer = await outside.ask(route, scope, role)
        assert outside.told(answer) == [], (who, role)
        assert answer.status_code < 500, (who, role, answer.text)
        if route in routes.NAMED:
            assert 400 <= answer.status_code < 500, (who, role, answer.text)


@pytest.mark.parametrize("route", sorted(routes.TENANT))
async def test_a_tenants_key_opens_its_own_tenant_only(outside: Outside, route: str) -> None:
    """With another tenant's key nothing of the victim's tenant is counted, named or forgotten."""
    _, key = await outside.world.plant.composition.create_tenant()
    method, path = route.split(" ")
    transport = httpx.ASGITransport(app=outside.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://door") as client:
        answer = await client.request(
            method,
            path,
            json=routes.body_of(route, outside.victim),
            headers={"Authorization": f"Bearer {key}"},
        )
    assert outside.told(answer) == []
    if method == "GET":
        counted = {name: number for name, number in answer.json().items() if isinstance(number, int)}
        assert set(counted.values()) == {0}
    else:
        assert 400 <= answer.status_code < 500


async def test_asking_from_outside_changed_nothing(outside: Outside) -> None:
    """Whatever the calls above asked for, the victims have what they had."""
    for victim in outside.world.victims:
        page = await outside.world.plant.composition.backend.memories(
            victim.scope, None, 100, None, reader=TokenRole.PERSON
        )
        assert len(page.memories) >= len(SAID)
        assert all(each.withheld is None or each.status == "held" for each in page.memories)


async def test_the_same_calls_tell_the_victim(outside: Outside) -> None:
    """The control: asked as the victim itself, the routes that list or name something do give it away."""
    telling = {
        "GET /v1/memories",
        "GET /v1/profile",
        "GET /v1/inbox",
        "GET /v1/tasks",
        "GET /v1/exports",
        "GET /v1/receipts",
    }
    telling |= {"GET /v1/memories/{memory_id}", "POST /v1/memories/search", "POST /v1/context", "POST /v1/exports"}
    for route in telling:
        assert outside.told(await outside.ask(route, outside.victim.scope, TokenRole.PERSON)), route


# ── the client ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Recording:
    """Takes the calls of a client instead of sending them."""

    def __init__(self) -> None:
        self.calls: list[Call[Any]] = []

    def send(self, call: Call[Any]) -> Any:  # noqa: ANN401 - whatever the call answers
        """Note a call."""
        self.calls.append(call)
        raise CenotaphError

    stream = send


GIVEN: dict[str, object] = {
    "turn": Turn("t1", "s1", datetime.now(UTC), ()),
    "start": TaskStart("c", "t", "t", "n", "g"),
    "change": {"do": "abandon"},
    "expected_version": 1,
    "given": True,
    "role": "chat",
    "what": What(kind="fact"),
    **dict.fromkeys(("memory_id", "trace_id", "export_id", "suppression_id", "receipt_id"), uuid4()),
    **dict.fromkeys(("turn_id", "task_id", "command_id", "query", "description", "digest", "sensitivity"), "x"),
}
APART = frozenset({"for_subject", "close", "aclose"})
"""What makes no call: another client over the same connections, and the end."""


@pytest.mark.parametrize("kind", [Cenotaph, AsyncCenotaph], ids=["blocking", "asyncio"])
async def test_every_method_of_the_client_asks_a_listed_route(kind: type[Cenotaph] | type[AsyncCenotaph]) -> None:
    """The client reads through the door alone, so that what holds for the routes holds for it."""
    shapes = [re.compile(re.sub(r"\\{[^}]+\\}", "[^/]+", re.escape(route))) for route in routes.ROUTES]
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if name.startswith("_") or name in APART:
            continue
        client, recording = kind("http://door", token="t"), Recording()
        client._sender = recording  # type: ignore[assignment]
        parameters = inspect.signature(method).parameters.values()
        wanted = [each.name for each in parameters if each.default is inspect.Parameter.empty and each.name != "self"]
        with suppress(CenotaphError):
            made = getattr(client, name)(**{each: GIVEN[each] for each in wanted})
            await made if inspect.isawaitable(made) else [each async for each in made]
        (call,) = recording.calls
        assert any(shape.fullmatch(f"{call.method} {call.path}") for shape in shapes), name


# ── the stores ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_everything_that_queries_a_store_is_listed() -> None:
    """Every function with a query is in the table of known readers; a new one must be asked from outside there."""
    through = {each for own in functions.THROUGH.values() for each in own}
    system = {each for own in functions.SYSTEM.values() for each in own}
    asked = functions.ENVELOPES.keys() | functions.PERSONAL.keys() | functions.VAULT.keys()
    listed = [*asked, *through, *system, *functions.NOBODYS, *functions.ENDS_WITH_THE_PERSON]
    assert len(listed) == len(set(listed))
    assert querying() == set(listed)


def test_a_new_query_is_found_wherever_it_is_written() -> None:
    """The control: a query in a function, a method, a function within one, or against the index is seen."""
    source = """
async def one(connection): await connection.fetch("select 1")
class Two:
    async def three(self): return [row async for row in self.connection.cursor("select 1")]
def four():
    def five(client): return client.search("memory")
    return five
def six(): return regex.search("x")
"""
    assert set(asking(ast.parse(source))) == {"one", "Two.three", "four"}


def test_what_goes_through_the_door_names_its_route() -> None:
    """A function that is asked through a route names one that is asked from outside."""
    assert functions.THROUGH.keys() <= routes.ROUTES


def test_no_door_holds_a_role_of_the_system() -> None:
    """Functions of the system run under roles that no process with a door logs in as."""
    held = {f"log:{role}" for role in PARTS["api"].log} | {f"vault:{role}" for role in PARTS["api"].vault}
    assert not functions.SYSTEM.keys() & held


async def answers_of(outside: Outside, probe: functions.Probe, bound: Scope) -> list[object]:
    """Ask within a scope's transaction: under that scope, and under the victim's as an argument."""
    composition = outside.world.plant.composition
    found = []
    for argument in (bound, outside.victim.scope):
        keyring = await composition.vault("keeper").keyring(bound)
        async with composition.log("reader").transaction(bound) as connection:
            found.append(await probe(functions.Asked(connection, keyring, argument, outside.ids)))
    return found


@pytest.mark.parametrize("name", sorted({*functions.ENVELOPES, *functions.PERSONAL, *functions.VAULT}))
async def test_a_reader_of_another_person_gets_nothing(outside: Outside, name: str) -> None:
    """With the victim's ids, and even under the victim's scope as an argument, the stores give a stranger nothing."""
    probe = {**functions.ENVELOPES, **functions.PERSONAL, **functions.VAULT}[name]
    for found in await answers_of(outside, probe, outside.nobody):
        assert empty(found), found


@pytest.mark.parametrize("name", sorted(functions.PERSONAL))
@pytest.mark.parametrize("place", range(len(PLACES)), ids=PLACES)
async def test_a_reader_bound_to_something_else_gets_nothing(outside: Outside, name: str, place: int) -> None:
    """An agent of the victim in a project or task that nothing is for, or of another assistant, gets no row."""
    for found in await answers_of(outside, functions.PERSONAL[name], outside.victim.bound[place]):
        assert empty(found), found


async def test_the_same_questions_tell_the_victim(outside: Outside) -> None:
    """The control: asked under the victim's own scope, they are answered."""
    silent = {"services.access.permission:_injected"}  # no turn came of a context
    silent |= {"projections.sessions:turns_resting_on"}  # nor of upkeep
    silent |= {"services.forgetting.selection:_injected", "projections.sessions:turns_with_contexts"}
    silent |= {"events.log:read_embedded", "events.log:expired", "projections.working:keys_resting_on"}
    every = {**functions.ENVELOPES, **functions.PERSONAL, **functions.VAULT}
    for name, probe in every.items():
        found = await answers_of(outside, probe, outside.victim.scope)
        assert name in silent or not empty(found), name


@pytest.mark.parametrize("place", range(len(PLACES)), ids=PLACES)
async def test_no_body_of_the_victim_opens_from_outside(outside: Outside, place: int) -> None:
    """What envelopes name does not open: not with the keys of another person, not beyond the reach."""
    composition, bound = outside.world.plant.composition, outside.victim.bound[place]
    stream = await outside.world.plant.stream(outside.victim.scope)
    facts = [fact for fact in fold({}, stream).values() if fact.status == "current"]
    keyring = await composition.vault("keeper").keyring(bound)
    for fact in facts:
        async with composition.log("reader").transaction(bound) as connection:
            with pytest.raises(ScopeError):
                await open_memories(connection, keyring, [fact])


async def test_the_vector_index_finds_nothing_for_another_scope(outside: Outside) -> None:
    """The index, asked with the victim's own words under every other scope, proposes nothing of the victim's."""
    composition = outside.world.plant.composition
    async with outside.world.plant.owner() as connection:
        place: str = await connection.fetchval("select place from read_model.checkpoint where name = 'vectors'")
    vectors = await composition.embedder.embed_passages(list(SAID))
    for scope in (outside.stranger, *outside.victim.bound):
        for vector in vectors:
            assert await composition.vectors.search(place, scope, vector, 50) == []
    assert await composition.vectors.search(place, outside.victim.scope, vectors[0], 50)


# ── the command line ──────────────────────────────────────────────────────────────────────────────────────────────────


def every_command() -> Iterator[tuple[str, str, str]]:
    """Name every command with the module and the function it runs."""

    def walk(command: Any, name: tuple[str, ...]) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - click's own types
        for word, below in getattr(command, "commands", {}).items():
            yield from walk(below, (*name, word))
        if not hasattr(command, "commands"):
            yield " ".join(name), command.callback

    for name, callback in walk(typer.main.get_command(command_line), ()):
        function = inspect.unwrap(callback)
        yield name, function.__module__, function.__name__


def test_every_command_is_listed() -> None:
    """The command line has the commands of the table, and no other."""
    assert {name for name, _, _ in every_command()} == commands.DOOR | commands.OWNER


def test_commands_of_the_door_open_no_store() -> None:
    """Such a command, and what it calls in its module, mentions nothing that opens a store: the door answers it."""
    for name, module, function in every_command():
        if name in commands.DOOR:
            assert not reachable_names(module, function) & commands.STORES, name
