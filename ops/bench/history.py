"""Histories made in bulk: what turns and their decisions look like in the log, without the work of deciding."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

import numpy as np

from events.envelope import (
    Command,
    DataKey,
    NewEvent,
    Part,
    memory_stream,
)
from events.keyring import Keyring
from events.log import EventLog
from events.model import (
    MEMORY_PART,
    Accepted,
    Assertion,
    CandidateProposed,
    CommandId,
    Evidence,
    IndexBody,
    Kind,
    MemoryBody,
    MemoryId,
    MessageBody,
    MessageId,
    Origin,
    Scope,
    SessionId,
    SubjectId,
    TurnId,
)
from events.postgres import Database
from events.provider import FileProvider
from events.sealer import Sealer
from events.vault import Vault
from ops.bench.places import Places
from ops.bench.turns import Message, Turn, commands_of
from projections.index import PART as INDEX
from projections.vectors import DIMENSION

WORDS = (
    "下周三去上海见客户，住在静安寺附近的酒店 / to Shanghai next Wednesday to meet a client, "
    "in a hotel near Jing'an Temple, back on Friday evening."
)
_ANSWER = "好的，我记住了：上海，下周三，静安寺附近。/ Noted: Shanghai, next Wednesday, near Jing'an Temple."
_TERMS = 24
EVENTS_A_TURN = 4
KEYS_A_TURN = 3


def accepted(key: DataKey) -> NewEvent:
    """Make an accepted memory with a body of some 200 bytes under a key of its own."""
    return NewEvent(_accepted(TurnId(uuid4()), MessageId(uuid4())), datetime.now(UTC), (_words(key),))


def _accepted(turn: TurnId, said: MessageId) -> Accepted:
    memory = MemoryId(uuid4())
    return Accepted(
        candidate_id=memory,
        memory_id=memory,
        version=1,
        turn_id=turn,
        kind=Kind.PLAN,
        confidence=900,
        importance=500,
        cites=(said,),
    )


def _words(key: DataKey) -> Part:
    return Part(MEMORY_PART, MessageBody(content=WORDS), key)


def turn(scope: Scope, keys: Sequence[DataKey]) -> tuple[Command, Command]:
    """Make a turn of two messages and the decision that keeps one memory of it: four events, four sealed parts.

    Args:
        scope: whose.
        keys: three data keys, one for each message and one for the memory.
    """
    turn_id, messages = TurnId(uuid4()), (MessageId(uuid4()), MessageId(uuid4()))
    now = datetime.now(UTC)
    evidence = (Evidence(message_id=messages[0], start=0, end=20),)
    kept = _accepted(turn_id, messages[0])
    candidate = CandidateProposed(
        candidate_id=kept.candidate_id,
        turn_id=turn_id,
        kind=Kind.PLAN,
        assertion=Assertion.PLANNED,
        confidence=900,
        importance=500,
        pointers=evidence,
    )
    memory = MemoryBody(
        kind=Kind.PLAN, key=None, value="上海", content=WORDS[:60], evidence=evidence, assertion=Assertion.PLANNED
    )
    parts = (Part(MEMORY_PART, memory, keys[2]), Part(INDEX, _index(), keys[2]))
    said = (
        Message(messages[0], Origin.USER, WORDS, keys[0]),
        Message(messages[1], Origin.ASSISTANT, _ANSWER, keys[1]),
    )
    decided = (NewEvent(candidate, now), NewEvent(kept, now, parts))
    return commands_of(Turn(scope, turn_id, SessionId(uuid4()), now, said), decided)


def _index() -> IndexBody:
    vector = np.random.default_rng().standard_normal(DIMENSION, dtype=np.float32)
    terms = tuple(int(term) for term in np.random.default_rng().integers(0, 2**62, _TERMS))
    return IndexBody(tag=None, terms=terms, length=_TERMS, model="bench", vector=b64encode(vector.tobytes()).decode())


@dataclass(frozen=True)
class House:
    """A log and a vault of their own, with people in them."""

    log_url: str
    vault_url: str
    log: EventLog
    vault: Vault
    sealer: Sealer
    projector: Database
    rings: tuple[Keyring, ...]


@asynccontextmanager
async def house(places: Places, name: str, people: int) -> AsyncIterator[House]:
    """Make a log and a vault and hold them for the length of a block."""
    log_url, vault_url = await places.log(name), await places.vault(name)
    keeper = places.pool(vault_url, "vault_keeper")
    appender, sealer = places.pool(log_url, "cenotaph_appender"), places.pool(log_url, "cenotaph_sealer")
    projector = places.pool(log_url, "cenotaph_projector")
    vault, log = Vault(keeper, FileProvider(places.clusters.keys)), EventLog(appender)
    try:
        tenant = await vault.create_tenant()
        scopes = [Scope(tenant_id=tenant, subject_id=SubjectId(uuid4())) for _ in range(people)]
        rings = tuple([await vault.keyring(scope) for scope in scopes])
        yield House(log_url, vault_url, log, vault, Sealer(sealer), projector, rings)
    finally:
        await log.close()
        for pool in (keeper, appender, sealer, projector):
            await pool.close()


async def bulk(log: EventLog, ring: Keyring, count: int, *, turns: bool) -> int:
    """Append `count` events of one person at once, as an import does; return how many were appended.

    Keys are leased in one block, durable before the one transaction that uses them. With `turns` the events are whole
    turns, else single accepted memories.
    """
    if turns:
        keys = await ring.lease(count // EVENTS_A_TURN * KEYS_A_TURN)
        blocks = (keys[start : start + KEYS_A_TURN] for start in range(0, len(keys), KEYS_A_TURN))
        commands = [command for block in blocks for command in turn(ring.scope, block)]
    else:
        stream = memory_stream(ring.scope.subject_id)
        events = tuple(accepted(key) for key in await ring.lease(count))
        commands = [Command(CommandId(uuid4()), ring.scope, stream, None, "worker:bench", events)]
    answers = await log.append_many(commands)
    return sum(len(command.events) for command, answer in zip(commands, answers, strict=True) if answer.versions)


async def fill(
    house: House, events: int, *, turns: bool, block: int = 1000, at_once: int = 2
) -> tuple[int, asyncio.Task[int]]:
    """Append events block by block, a few at once; return how many, and the sealer's task, which ends with them."""
    blocks = iter([min(block, events - start) for start in range(0, events, block)])
    written = asyncio.Event()
    sealing = asyncio.create_task(_seal(house.sealer, written))

    async def work(number: int) -> int:
        total = 0
        for count in blocks:
            ring = house.rings[(number + total // block) % len(house.rings)]
            total += await bulk(house.log, ring, count, turns=turns)
        return total

    totals = await asyncio.gather(*(work(number) for number in range(at_once)))
    written.set()
    return sum(totals), sealing


async def _seal(sealer: Sealer, written: asyncio.Event) -> int:
    total = 0
    while (count := await sealer.seal()) or not written.is_set():
        total += count
        if not count:
            await asyncio.sleep(0.005)
    return total
