"""Seeded histories of one person, as the deciders could have written them, with sealed bodies."""

from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from random import Random
from typing import ClassVar
from uuid import UUID, uuid4

import numpy as np

from events.envelope import (
    Command,
    NewEvent,
    Part,
    event_id_of,
    memory_stream,
    summary_stream,
    task_stream,
    turns_stream,
)
from events.keyring import Keyring
from events.log import EventLog
from events.model import (
    MEMORY_PART,
    Accepted,
    Assertion,
    Audience,
    CommandId,
    EventId,
    Expired,
    IndexBody,
    KeyId,
    Kind,
    LeaseEnded,
    MemoryBody,
    MemoryId,
    Merged,
    MessageBody,
    MessageHead,
    MessageId,
    NotWritten,
    Origin,
    Outcome,
    Position,
    Reinforced,
    Role,
    Scope,
    Separated,
    SessionConsolidated,
    SessionId,
    Superseded,
    Tiered,
    Tombstoned,
    TurnConsidered,
    TurnFinalized,
    TurnId,
    TurnStatus,
    Used,
)
from events.vault import Vault
from projections.model_names import default_model
from projections.sessions import message_part
from projections.vectors import DIMENSION
from tests.conftest import Stores
from tests.dice import dice
from tests.replay.tasking import Desk

NOW = datetime(2026, 8, 1, 9, tzinfo=UTC)


@dataclass
class Person:
    """A person whose life is made of dice; `living` and `held` are what a decider would see."""

    scope: Scope
    keyring: Keyring
    log: EventLog
    random: Random
    living: dict[MemoryId, int] = field(default_factory=dict)
    held: list[MemoryId] = field(default_factory=list)
    keys: dict[MemoryId, list[KeyId]] = field(default_factory=dict)
    said: dict[TurnId, tuple[MessageId, ...]] = field(default_factory=dict)
    sessions: dict[TurnId, SessionId] = field(default_factory=dict)
    spoken: dict[MessageId, KeyId] = field(default_factory=dict)
    index: dict[tuple[MemoryId, int], IndexBody] = field(default_factory=dict)
    fenced: list[tuple[EventId, tuple[KeyId, ...]]] = field(default_factory=list)
    stones: dict[MemoryId, int] = field(default_factory=dict)
    born: dict[MemoryId, EventId] = field(default_factory=dict)
    merged: dict[MemoryId, int] = field(default_factory=dict)

    STEPS: ClassVar[dict[str, int]] = {
        "accept": 6,
        "supersede": 4,
        "reinforce": 5,
        "hold": 2,
        "reject": 1,
        "forget": 3,
        "resurrect": 2,
        "expire": 2,
        "fade": 1,
        "use": 1,
        "tier": 4,
        "merge": 2,
        "separate": 2,
        "task": 3,
        "sum_up": 2,
    }

    @cached_property
    def desk(self) -> Desk:
        """The tasks that workflows carry out for the person."""
        return Desk(self.keyring, self.random)

    async def live(self, steps: int) -> None:
        """Say and decide so many things, each appended to the real log; a task is under way from the beginning."""
        if not self.desk.every:
            await self.begin()
        for _ in range(steps):
            await self.say()
            (step,) = self.random.choices(list(self.STEPS), list(self.STEPS.values()))
            turn = self.random.choice(list(self.said))
            await getattr(self, step)(turn)

    async def say(self) -> None:
        """Finish a turn of two messages."""
        turn, messages = TurnId(uuid4()), (MessageId(uuid4()), MessageId(uuid4()))
        heads = (
            MessageHead(message_id=messages[0], role=Role.USER, origin=Origin.USER),
            MessageHead(message_id=messages[1], role=Role.ASSISTANT, origin=Origin.ASSISTANT),
        )
        keys = dict(zip(messages, await self.keyring.lease(2), strict=True))
        parts = tuple(
            Part(message_part(message), MessageBody(content="我喜欢北京烤鸭 / duck"), key)
            for message, key in keys.items()
        )
        self.spoken |= {message: key.key_id for message, key in keys.items()}
        session = self.sessions[turn] = SessionId(uuid4())
        event = TurnFinalized(turn_id=turn, session_id=session, status=TurnStatus.COMPLETED, messages=heads)
        await self.append(turns_stream(self.scope.subject_id), NewEvent(event, NOW, parts))
        self.said[turn] = messages

    async def accept(self, turn: TurnId) -> None:
        """Keep a new memory."""
        memory = MemoryId(uuid4())
        await self._decide(await self._accepted(memory, 1, turn), turn=turn)

    async def supersede(self, turn: TurnId) -> None:
        """Give a memory a new version."""
        if self.living:
            memory, version = self.random.choice(list(self.living.items()))
            old = NewEvent(Superseded(memory_id=memory, version=version, by_version=version + 1), NOW)
            await self._decide(old, await self._accepted(memory, version + 1, turn), turn=turn)

    async def reinforce(self, turn: TurnId) -> None:
        """Hear the same again."""
        if self.living:
            memory, version = self.random.choice(list(self.living.items()))
            event = Reinforced(
                candidate_id=MemoryId(uuid4()),
                memory_id=memory,
                version=version,
                turn_id=turn,
                explicit=self.random.random() < 0.3,
            )
            await self._decide(NewEvent(event, NOW), turn=turn)

    async def hold(self, turn: TurnId) -> None:
        """Hold a candidate for consent."""
        event, (key,) = self._not_written(turn, Outcome.HELD), await self.keyring.lease(1)
        self.held.append(event.candidate_id)
        self.keys[event.candidate_id] = [key.key_id]
        await self._decide(NewEvent(event, NOW, (Part(MEMORY_PART, self._memory(), key),)), turn=turn)

    async def resurrect(self, turn: TurnId) -> None:
        """Write a version of a forgotten memory, as no decider would, and hear it again."""
        if self.stones:
            memory = self.random.choice(list(self.stones))
            self.stones[memory] += 1
            accepted = await self._accepted(memory, self.stones[memory], turn)
            del self.living[memory]
            again = Reinforced(
                candidate_id=MemoryId(uuid4()), memory_id=memory, version=self.stones[memory], turn_id=turn
            )
            await self._decide(accepted, NewEvent(again, NOW), turn=turn)

    async def expire(self, turn: TurnId) -> None:
        """Let a held candidate run out of time, or one that was forgotten before."""
        if pool := [*self.held, *self.stones]:
            memory = self.random.choice(pool)
            messages = self.said[turn][1:]
            keys = self.keys[memory] if memory in self.held else []
            self.held = [held for held in self.held if held != memory]
            every = (*keys, *(self.spoken[each] for each in messages))
            event = Expired(memories=(memory,), messages=messages, keys=every)
            command = await self.append(memory_stream(self.scope.subject_id), NewEvent(event, NOW))
            self.fenced.append((event_id_of(command, 0), every))

    async def fade(self, turn: TurnId) -> None:
        """Let upkeep end a living memory."""
        del turn
        if self.living:
            memory = self.random.choice(list(self.living))
            keys = tuple(self.keys[memory])
            event = Expired(reason="decayed", memories=(memory,), messages=(), keys=keys)
            command = await self.append(memory_stream(self.scope.subject_id), NewEvent(event, NOW))
            self.fenced.append((event_id_of(command, 0), keys))
            del self.living[memory]

    async def use(self, turn: TurnId) -> None:
        """Note that some memories were used."""
        del turn
        if used := [memory for memory in self.living if self.random.random() < 0.5]:
            at = NOW + timedelta(seconds=self.random.randint(0, 9))
            await self.append(memory_stream(self.scope.subject_id), NewEvent(Used(memories=tuple(used)), at))
            over = LeaseEnded(memories=tuple(used), freshness="stale", reason="lease_over")
            await self.append(memory_stream(self.scope.subject_id), NewEvent(over, at))

    async def tier(self, turn: TurnId) -> None:
        """Let some memories cool, or bring some back that may never have been cold."""
        del turn
        if moved := [memory for memory in self.living if self.random.random() < 0.5]:
            event = Tiered(
                tier=self.random.choice(("hot", "cold")),
                reason="unused",
                memories=tuple(moved),
                sources=tuple(self.born[memory] for memory in moved),
            )
            await self.append(memory_stream(self.scope.subject_id), NewEvent(event, NOW))

    async def merge(self, turn: TurnId) -> None:
        """Let one living memory stand for another."""
        del turn
        if len(self.living) > 1:
            kept, gone = self.random.sample(list(self.living), 2)
            event = Merged(memory_id=kept, version=self.living[kept], memories=(gone,), closeness=990)
            await self.append(memory_stream(self.scope.subject_id), NewEvent(event, NOW))
            self.merged[gone] = self.living.pop(gone)

    async def separate(self, turn: TurnId) -> None:
        """Let a merged memory stand for itself again."""
        del turn
        if self.merged:
            memory, version = self.merged.popitem()
            event = Separated(memories=(memory,), sources=(self.born[memory],))
            await self.append(memory_stream(self.scope.subject_id), NewEvent(event, NOW))
            self.living[memory] = version

    async def begin(self) -> None:
        """Begin a task."""
        task, events = await self.desk.start()
        await self.append(task_stream(task), *events)

    async def task(self, turn: TurnId) -> None:
        """Begin a task, let it go on or end it; what it notes may rest on a memory and a message."""
        what = self.random.choice(("start", "work", "work", "work", "end"))
        if what == "start" or not self.desk.tasks:
            await self.begin()
        elif what == "end":
            task, events, keys = await self.desk.end()
            command = await self.append(task_stream(task), *events)
            self.fenced.append((event_id_of(command, 1), keys))
        else:
            living = [self.random.choice(list(self.living))] if self.living else []
            task, events = await self.desk.work(tuple(living), self.said[turn][:1])
            await self.append(task_stream(task), *events)

    async def sum_up(self, turn: TurnId) -> None:
        """Write a summary that may rest on a memory and a message, and consolidate the session of a turn."""
        living = [self.random.choice(list(self.living))] if self.living else []
        session, events, keys = await self.desk.sum_up(self.sessions[turn], tuple(living), self.said[turn][:1])
        command = await self.append(summary_stream(session), *events)
        if keys:
            self.fenced.append((event_id_of(command, 1), keys))
        made, message, (key,) = TurnId(uuid4()), MessageId(uuid4()), await self.keyring.lease(1)
        event = TurnFinalized(
            turn_id=made,
            session_id=SessionId(made),
            status=TurnStatus.COMPLETED,
            messages=(MessageHead(message_id=message, role=Role.ASSISTANT, origin=Origin.ASSISTANT),),
            rests_on=self.said[turn][:1],
        )
        part = Part(message_part(message), MessageBody(content="订高铁 → 定了 G7"), key)
        await self.append(turns_stream(self.scope.subject_id), NewEvent(event, NOW, (part,)))
        done = SessionConsolidated(
            session_id=self.sessions[turn], through=Position(10**9), reason="quiet", proposed=(made,), writer="rules/1"
        )
        await self.append(summary_stream(self.sessions[turn]), NewEvent(done, NOW))

    async def reject(self, turn: TurnId) -> None:
        """Refuse a candidate."""
        await self._decide(NewEvent(self._not_written(turn, Outcome.REJECTED), NOW), turn=turn)

    async def forget(self, turn: TurnId) -> None:
        """Forget one or two things, with a turn they came from; others that cited it are orphaned."""
        pool = [*self.living, *self.held, *self.merged]
        gone = self.random.sample(pool, min(len(pool), self.random.randint(1, 2)))
        orphaned = [memory for memory in self.living if memory not in gone and self.random.random() < 0.3]
        keys = [key for memory in gone for key in self.keys[memory]] + [self.spoken[each] for each in self.said[turn]]
        keys += self.desk.resting_on((*gone, *self.said[turn]))
        event = Tombstoned(
            memories=tuple(gone),
            messages=self.said[turn],
            keys=tuple(keys),
            turns=(turn,),
            orphaned=tuple(orphaned),
        )
        command = await self.append(memory_stream(self.scope.subject_id), NewEvent(event, NOW))
        self.fenced.append((event_id_of(command, 0), event.keys))
        for memory in gone:
            self.stones[memory] = self.living.pop(memory, 0) or self.merged.pop(memory, 1)
            self.held = [held for held in self.held if held != memory]

    async def shred(self, stores: Stores) -> None:
        """Carry out every erasure that waits: destroy the keys, remove the bodies."""
        gone, self.fenced = self.fenced, []
        await Vault(stores.eraser, stores.provider).destroy(self.scope, [key for _, keys in gone for key in keys])
        async with stores.owner.connection() as connection:
            for tombstone, _ in gone:
                await connection.execute("select log.remove_bodies_v1($1)", tombstone)

    def vector(self, memory: MemoryId, version: int) -> bytes:
        """Return the bytes of the vector a version was written with."""
        return b64decode(self.index[memory, version].vector)

    async def append(self, stream: str, *events: NewEvent) -> CommandId:
        """Append a command of several events."""
        command = CommandId(uuid4())
        await self.log.append(Command(command, self.scope, stream, None, "worker:test", events))
        return command

    async def _decide(self, *events: NewEvent, turn: TurnId) -> None:
        considered = TurnConsidered(turn_id=turn, counts={"any": 1}, extractor="dice", policy_digest="none")
        command = await self.append(memory_stream(self.scope.subject_id), *events, NewEvent(considered, NOW))
        for ordinal, each in enumerate(events):
            if isinstance(each.event, Accepted):
                self.born[each.event.memory_id] = event_id_of(command, ordinal)

    async def _accepted(self, memory: MemoryId, version: int, turn: TurnId) -> NewEvent:
        (key,) = await self.keyring.lease(1)
        self.living[memory] = version
        self.keys.setdefault(memory, []).append(key.key_id)
        event = Accepted(
            candidate_id=MemoryId(uuid4()),
            memory_id=memory,
            version=version,
            turn_id=turn,
            kind=Kind.PREFERENCE,
            confidence=self.random.randint(0, 1000),
            importance=self.random.randint(0, 1000),
            cites=self.said[turn][: self.random.randint(0, 2)],
            explicit=self.random.random() < 0.3,
            audience=self._audience(),
        )
        body = self.index[memory, version] = self._index()
        parts = (Part(MEMORY_PART, self._memory(), key), Part("index", body, key))
        return NewEvent(event, NOW + timedelta(seconds=self.random.randint(0, 9)), parts)

    @cached_property
    def _apart(self) -> Random:
        """Dice of their own, so that a history of a seed is otherwise what it was."""
        return dice(0)

    def _audience(self) -> Audience:
        """Draw whom something is for: each half the time everybody, else one of two."""
        ids = (None, None, UUID(int=1), UUID(int=2))
        return Audience.model_validate({name: self._apart.choice(ids) for name in Audience.model_fields})

    def _memory(self) -> MemoryBody:
        return MemoryBody(
            kind=Kind.PREFERENCE,
            key="diet.likes",
            value="烤鸭 duck",
            content="对花生过敏，喜欢烤鸭 / likes duck",
            evidence=(),
            assertion=Assertion.STATED,
        )

    def _index(self) -> IndexBody:
        terms = tuple(self.random.getrandbits(62) for _ in range(self.random.randint(1, 6)))
        tag = self.random.choice((None, self.random.randbytes(32).hex()))
        vector = np.array([self.random.gauss(0, 1) for _ in range(DIMENSION)])
        unit = (vector / np.linalg.norm(vector)).astype("<f4")
        return IndexBody(
            tag=tag, terms=terms, length=len(terms), model=default_model(), vector=b64encode(unit.tobytes()).decode()
        )

    def _not_written(self, turn: TurnId, outcome: Outcome) -> NotWritten:
        held = outcome is Outcome.HELD
        return NotWritten(
            candidate_id=MemoryId(uuid4()),
            turn_id=turn,
            outcome=outcome,
            gate="sensitivity",
            reason="sensitive_unconsented",
            kind=Kind.FACT,
            confidence=self._apart.randint(0, 1000),
            importance=self._apart.randint(0, 1000),
            cites=self.said[turn][:1],
            held_until=NOW + timedelta(days=7) if held else None,
            audience=self._audience(),
        )


async def born(stores: Stores, log: EventLog, random: Random, tenant: UUID | None = None) -> Person:
    """Make a person with keys of their own."""
    vault: Vault = stores.vault
    scope = Scope.model_validate({"tenant_id": tenant or await vault.create_tenant(), "subject_id": uuid4()})
    return Person(scope, await vault.keyring(scope), log, random)
