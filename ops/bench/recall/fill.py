"""Filling a system with memories: real events in its log, taken in by its own read models; only the vectors are dice.

A turn says ten things, so that there are neighbours; what each thing says is sealed and indexed as the product does. A
few people at a time are appended, sealed and taken in, while the next are made, so that memory does not grow with them.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from events.envelope import (
    Command,
    DataKey,
    NewEvent,
    Part,
    event_id_of,
)
from events.keyring import Keyring
from events.model import (
    MEMORY_PART,
    Accepted,
    Assertion,
    EventId,
    Evidence,
    IndexBody,
    Kind,
    MemoryBody,
    MemoryId,
    MessageId,
    Origin,
    SessionId,
    TenantId,
    TurnId,
)
from ops.bench.recall.people import Person
from ops.bench.recall.taking import Taking
from ops.bench.turns import Message, Turn, commands_of
from ops.composition import Composition
from projections.index import PART as INDEX
from services.remembering.indexing import index_of

_EACH: Final = 10  # memories of a turn
_TURNS: Final = 50  # turns an append
_SESSION: Final = 20  # turns a session
_BLOCK: Final = 5000  # memories that are made while as many are taken in
_KINDS: Final = (Kind.FACT, Kind.PREFERENCE, Kind.EPISODE, Kind.GOAL, Kind.PLAN)
_START: Final = datetime(2026, 1, 1, tzinfo=UTC)


async def fill(composition: Composition, people: int, each: int, done: Callable[[int], None]) -> TenantId:
    """Remember `each` memories of `people` people of a new tenant, in every read model.

    `done` is told how many more are there.
    """
    tenant = await composition.vault("keeper").create_tenant()
    taking = Taking(composition)
    at_once = max(1, _BLOCK // each)
    async with asyncio.TaskGroup() as tasks:
        before: asyncio.Task[None] | None = None
        for start in range(0, people, at_once):
            block = [Person(tenant, number, each) for number in range(start, min(start + at_once, people))]
            made: dict[EventId, IndexBody] = {}
            for person in block:
                made |= await _append(composition, person)
            if before is not None:
                await before
            await taking.seal()
            before = tasks.create_task(taking.take(made))
            done(len(block) * each)
    await taking.finish()
    async with composition.log(None).connection() as connection:
        await connection.execute("vacuum analyze")
    return tenant


async def append(composition: Composition, people: int, each: int, done: Callable[[int], None]) -> list[Person]:
    """Append `each` memories of `people` people of a new tenant, for a running system to follow; return the people."""
    tenant = await composition.vault("keeper").create_tenant()
    for number in range(people):
        await _append(composition, Person(tenant, number, each))
        done(each)
    return [Person(tenant, number, each) for number in range(people)]


async def _append(composition: Composition, person: Person) -> dict[EventId, IndexBody]:
    """Append what one person said and what is kept of it; return what the indexes get."""
    keyring = await composition.vault("keeper").keyring(person.scope)
    made: dict[EventId, IndexBody] = {}
    for start in range(0, person.each, _EACH * _TURNS):
        count = min(_EACH * _TURNS, person.each - start)
        keys = iter(await keyring.lease(count + -(-count // _EACH)))
        commands: list[Command] = []
        for at in range(start, start + count, _EACH):
            commands += _turn(keyring, keys, person, at, composition.embedder.model_id)
            made |= {
                event_id_of(commands[-1].command_id, ordinal): part.body
                for ordinal, new in enumerate(commands[-1].events)
                for part in new.parts
                if isinstance(part.body, IndexBody)
            }
        await composition.events.append_many(commands)
    return made


def _turn(keyring: Keyring, keys: Iterator[DataKey], person: Person, start: int, model: str) -> tuple[Command, Command]:
    """Make a turn of one message and the decision that keeps everything it says."""
    scope, turn, message, key = keyring.scope, TurnId(uuid4()), MessageId(uuid4()), next(keys)
    number, of_turn = start // _EACH, range(start, min(start + _EACH, person.each))
    at = _START + timedelta(minutes=number)
    session = SessionId(UUID(int=(scope.subject_id.int + number // _SESSION) % 2**128))
    words = "\n".join(person.said[each] for each in of_turn)
    kept = tuple(_kept(keyring, next(keys), _Said(person, each, turn, message, at), model) for each in of_turn)
    messages = (Message(message, Origin.USER, words, key),)
    return commands_of(Turn(scope, turn, session, at, messages), kept)


@dataclass(frozen=True, slots=True)
class _Said:
    """One of the things that a person said, and where."""

    person: Person
    number: int
    turn: TurnId
    message: MessageId
    at: datetime


def _kept(keyring: Keyring, key: DataKey, said: _Said, model: str) -> NewEvent:
    text = said.person.said[said.number]
    memory = MemoryId(uuid4())
    kind = _KINDS[memory.int % len(_KINDS)]
    body = MemoryBody(
        kind=kind,
        key=f"note.{said.number}",
        value=text[:20],
        content=text,
        evidence=(Evidence(message_id=said.message, start=0, end=len(text)),),
        assertion=Assertion.STATED,
    )
    event = Accepted(
        candidate_id=memory,
        memory_id=memory,
        version=1,
        turn_id=said.turn,
        kind=kind,
        confidence=900,
        importance=300 + memory.int % 600,
        cites=(said.message,),
    )
    index = index_of(keyring, body, said.person.vectors[said.number], model, said.person.tokens[said.number])
    return NewEvent(event, said.at, (Part(MEMORY_PART, body, key), Part(INDEX, index, key)))
