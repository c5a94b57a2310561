"""Filling a system with memories: real events in its log, followed by its own read models; only the vectors are dice.

A turn says ten things, so that there are neighbours; what each thing says is sealed and indexed as the product does.
"""

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final
from uuid import UUID, uuid4

import numpy as np

from events.envelope import (
    Command,
    DataKey,
    NewEvent,
    Part,
    considered_command,
    finalized_command,
    memory_stream,
    turns_stream,
)
from events.keyring import Keyring
from events.model import (
    MEMORY_PART,
    Accepted,
    Assertion,
    Evidence,
    Kind,
    MemoryBody,
    MemoryId,
    MessageBody,
    MessageHead,
    MessageId,
    Origin,
    Role,
    Scope,
    SessionId,
    SubjectId,
    TurnConsidered,
    TurnFinalized,
    TurnId,
    TurnStatus,
)
from ops.bench.recall.words import sentences
from ops.composition import Composition
from projections.embedding import DIMENSION, Vector
from projections.follower import Follower
from projections.index import PART as INDEX
from projections.sessions import message_part
from services.remembering.indexing import index_of

_EACH: Final = 10  # memories of a turn
_TURNS: Final = 50  # turns an append
_SESSION: Final = 20  # turns a session
_AT_ONCE: Final = 3
_KINDS: Final = (Kind.FACT, Kind.PREFERENCE, Kind.EPISODE, Kind.GOAL, Kind.PLAN)
_START: Final = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Filled:
    """One person, what the person said, and the vectors it was indexed under, shape (n, 384)."""

    scope: Scope
    said: tuple[str, ...]
    vectors: Vector


async def fill(composition: Composition, people: int, each: int, done: Callable[[int], None]) -> list[Filled]:
    """Append `each` memories of `people` people; returns them. `done` is told after each person."""
    tenant = await composition.vault("keeper").create_tenant()
    numbers = iter(range(people))

    async def work() -> list[Filled]:
        made = []
        for number in numbers:
            scope = Scope(tenant_id=tenant, subject_id=SubjectId(uuid4()))
            made.append(await _person(composition, scope, each, number))
            done(each)
        return made

    return [filled for made in await asyncio.gather(*(work() for _ in range(_AT_ONCE))) for filled in made]


async def follow(composition: Composition) -> None:
    """Let every read model reach the end of the log."""
    projector = composition.log("projector")
    async with composition.log(None).connection() as connection:
        while await connection.fetchval("select exists (select from log.unsealed)"):  # noqa: ASYNC110 - it rings not
            await asyncio.sleep(0.05)
    await asyncio.gather(*(Follower(model, projector).catch_up() for model in composition.projections().values()))
    async with composition.log(None).connection() as connection:
        await connection.execute("vacuum analyze")


async def _person(composition: Composition, scope: Scope, each: int, number: int) -> Filled:
    keyring = await composition.vault("keeper").keyring(scope)
    raw = np.random.default_rng(number).standard_normal((each, DIMENSION), dtype=np.float32)
    vectors = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    said = tuple(islice(sentences(random.Random(number)), each))  # noqa: S311 - sentences are no secrets
    for start in range(0, each, _EACH * _TURNS):
        count = min(_EACH * _TURNS, each - start)
        keys = iter(await keyring.lease(count + -(-count // _EACH)))
        commands = [
            command
            for at in range(start, start + count, _EACH)
            for command in _turn(
                keyring,
                keys,
                said[at : at + _EACH],
                vectors[at : at + _EACH],
                composition.embedder.model_id,
                at // _EACH,
            )
        ]
        await composition.events.append_many(commands)
    return Filled(scope, said, vectors)


def _turn(  # noqa: PLR0917 - the fields of one turn
    keyring: Keyring, keys: Iterator[DataKey], said: Sequence[str], vectors: Vector, model: str, number: int
) -> tuple[Command, Command]:
    """Make a turn of one message and the decision that keeps everything it says."""
    scope, turn, message, key = keyring.scope, TurnId(uuid4()), MessageId(uuid4()), next(keys)
    at = _START + timedelta(minutes=number)
    session = SessionId(UUID(int=(scope.subject_id.int + number // _SESSION) % 2**128))
    finalized = TurnFinalized(
        turn_id=turn,
        session_id=session,
        status=TurnStatus.COMPLETED,
        messages=(MessageHead(message_id=message, role=Role.USER, origin=Origin.USER),),
    )
    words = Part(message_part(message), MessageBody(content="\n".join(said)), key)
    kept = tuple(
        _kept(keyring, next(keys), turn, message, text, vector, model, at)
        for text, vector in zip(said, vectors, strict=True)
    )
    considered = TurnConsidered(turn_id=turn, counts={"accepted": len(kept)}, extractor="bench", policy_digest="bench")
    return (
        Command(
            finalized_command(turn),
            scope,
            turns_stream(scope.subject_id),
            None,
            "agent",
            (NewEvent(finalized, at, (words,)),),
        ),
        Command(
            considered_command(turn),
            scope,
            memory_stream(scope.subject_id),
            None,
            "worker:bench",
            (*kept, NewEvent(considered, at)),
        ),
    )


def _kept(  # noqa: PLR0917 - the fields of one event
    keyring: Keyring,
    key: DataKey,
    turn: TurnId,
    message: MessageId,
    text: str,
    vector: Vector,
    model: str,
    at: datetime,
) -> NewEvent:
    memory = MemoryId(uuid4())
    kind = _KINDS[memory.int % len(_KINDS)]
    evidence = (Evidence(message_id=message, start=0, end=len(text)),)
    body = MemoryBody(kind=kind, key=None, value=text[:20], content=text, evidence=evidence, assertion=Assertion.STATED)
    event = Accepted(
        candidate_id=memory,
        memory_id=memory,
        version=1,
        turn_id=turn,
        kind=kind,
        confidence=900,
        importance=300 + memory.int % 600,
        cites=(message,),
    )
    parts = (Part(MEMORY_PART, body, key), Part(INDEX, index_of(keyring, body, vector, model), key))
    return NewEvent(event, at, parts)
