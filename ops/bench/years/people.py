"""Who is remembered: what is planted at the start, what they say later, and the events that keep it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Final, Literal
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from events.envelope import (
    Command,
    DataKey,
    NewEvent,
    Part,
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
    MessageId,
    Origin,
    SessionId,
    TurnId,
)
from ops.bench.turns import Message, Turn, commands_of
from projections.embedding import Embedder
from projections.index import PART as INDEX
from projections.vectors import DIMENSION
from services.remembering.indexing import index_of

Sort = Literal["asked", "used", "unused"]
SORTS: Final[tuple[Sort, ...]] = ("asked", "used", "unused")
KEYS_A_TURN: Final = 3
_WORDS = [f"词{a}{b}" for a in "山水木火土金风云雨雪" for b in "春夏秋冬东南西北"] + [
    f"word{number}" for number in range(400)
]
_MIX = {Kind.EPISODE: 5, Kind.FACT: 3, Kind.PREFERENCE: 3, Kind.PLAN: 1}
FACTS: Final[tuple[tuple[str, str], ...]] = (
    ("备用钥匙放在门口蓝色花盆下面", "备用钥匙在哪里？"),
    ("对青霉素过敏", "有什么药不能吃？"),
    ("女儿在杭州读大学", "女儿在哪里上学？"),
    ("周报先写结论再写细节", "周报应该怎么写？"),
    ("车停在地下二层的B37车位", "车停在哪里？"),
    ("每周三晚上去打羽毛球", "星期三晚上一般做什么？"),
    ("家里的路由器放在书房", "路由器放哪儿了？"),
    ("不吃香菜", "做菜有什么要避开的？"),
    ("the violin teacher is called Mrs Okafor", "who teaches the violin?"),
    ("the boat is moored at pier seven", "where is the boat?"),
    ("takes oat milk in coffee", "what goes into the coffee?"),
    ("the spare bicycle has a puncture in the rear tyre", "what is wrong with the spare bicycle?"),
    ("grandfather kept bees in Vermont", "who in the family had bees?"),
    ("the greenhouse heater trips at minus five", "when does the greenhouse heater trip?"),
    ("reads crime novels on trains", "what is read on trains?"),
    ("the printer only takes thick paper", "which paper does the printer need?"),
)
"""What is planted, and what is asked of it: own sentences, fake persons."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A memory that must be found again: what it says, what is asked, and why it should still be there."""

    memory_id: MemoryId
    fact: int
    sort: Sort


@dataclass
class Person:
    """One person: keys, dice, what was planted."""

    keyring: Keyring
    random: Random
    planted: list[Planted] = field(default_factory=list)

    def vector(self) -> NDArray[np.float32]:
        """Make up a direction nobody asks for."""
        drawn = np.array([self.random.gauss(0, 1) for _ in range(DIMENSION)], dtype=np.float32)
        return np.asarray(drawn / np.linalg.norm(drawn), dtype=np.float32)


class Scribe:
    """Writes what people say, as the gates would have decided.

    Args:
        embedder: makes the vectors of what is planted, once each.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._model = embedder.model_id
        self._vectors = embedder.passages([content for content, _ in FACTS])

    async def plant(self, person: Person, at: datetime, each: int) -> list[Command]:
        """Plant `each` facts of every sort."""
        chosen = person.random.sample(range(len(FACTS)), each * len(SORTS))
        keys = await person.keyring.lease(KEYS_A_TURN * len(chosen))
        commands: list[Command] = []
        for number, fact in enumerate(chosen):
            sort = SORTS[number % len(SORTS)]
            body = _body(Kind.FACT, FACTS[fact][0], explicit=sort == "asked")
            own = keys[KEYS_A_TURN * number : KEYS_A_TURN * (number + 1)]
            memory, written = self._turn(person, body, self._vectors[fact], own, at, 700)
            person.planted.append(Planted(memory, fact, sort))
            commands += written
        return commands

    async def chatter(self, person: Person, at: datetime, turns: int) -> list[Command]:
        """Say things that are kept for a while."""
        keys = await person.keyring.lease(KEYS_A_TURN * turns)
        commands: list[Command] = []
        for number in range(turns):
            (kind,) = person.random.choices(list(_MIX), list(_MIX.values()))
            content = " ".join(person.random.sample(_WORDS, 6))
            own = keys[KEYS_A_TURN * number : KEYS_A_TURN * (number + 1)]
            importance = person.random.randint(200, 800)
            commands += self._turn(person, _body(kind, content), person.vector(), own, at, importance)[1]
        return commands

    def _turn(  # noqa: PLR0917 - everything a turn is made of
        self,
        person: Person,
        body: MemoryBody,
        vector: NDArray[np.float32],
        keys: Sequence[DataKey],
        at: datetime,
        importance: int,
    ) -> tuple[MemoryId, list[Command]]:
        scope = person.keyring.scope
        turn, memory = TurnId(uuid4()), MemoryId(uuid4())
        said, answered = MessageId(uuid4()), MessageId(uuid4())
        mine, theirs, own = keys
        kept = body.model_copy(update={"evidence": (Evidence(message_id=said, start=0, end=len(body.content)),)})
        accepted = Accepted(
            candidate_id=memory,
            memory_id=memory,
            version=1,
            turn_id=turn,
            kind=body.kind,
            confidence=850,
            importance=importance,
            cites=(said,),
            explicit=body.explicit,
        )
        sealed = (
            Part(MEMORY_PART, kept, own),
            Part(INDEX, index_of(person.keyring, kept, vector, self._model), own),
        )
        messages = (
            Message(said, Origin.USER, body.content, mine),
            Message(answered, Origin.ASSISTANT, "好的 / noted", theirs),
        )
        spoken = Turn(scope, turn, SessionId(uuid4()), at, messages)
        return memory, list(commands_of(spoken, (NewEvent(accepted, at, sealed),)))


def _body(kind: Kind, content: str, *, explicit: bool = False) -> MemoryBody:
    return MemoryBody(
        kind=kind,
        key=None,
        value=content,
        content=content,
        evidence=(),
        assertion=Assertion.STATED,
        explicit=explicit,
    )


def batches(commands: Sequence[Command], size: int) -> Iterator[Sequence[Command]]:
    """Cut commands into appends."""
    for start in range(0, len(commands), size):
        yield commands[start : start + size]
