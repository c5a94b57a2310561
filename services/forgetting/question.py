"""What the probes ask: prepared while the memory can still be read, sealed, and gone with the receipt (R42)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from random import Random

from events.envelope import StoredEvent
from events.model import (
    Claim,
    EventId,
    ForgetScope,
    Frozen,
    KeyId,
    MemoryId,
    MessageId,
    Scope,
    SubjectId,
    Tombstoned,
    TurnId,
)


class Target(Frozen):
    """One version of the forgotten memory: what it said and how it could be found; see `IndexBody`."""

    claim: Claim
    subject_id: SubjectId | None = None
    vector: tuple[float, ...] = ()
    model: str | None = None
    tag: str | None = None
    terms: tuple[int, ...] = ()


class Question(Frozen):
    """Everything one erasure asks its layers. Ids are always there; `targets` and `messages_said` only if prepared.

    What the person said after `forgotten_at` is said anew: it is no trace of what was forgotten, but a neighbour of it.
    So is what lived on in its own right then and was not named (`spared`, see `plan.in_their_own_right`).
    `messages_said` are the words of the person, and those answers that name what is forgotten.
    `prepared` says whether every version could be read: without it the semantic probes cannot prove anything. Of a
    whole person or tenant (`asked`) no ids are named, and `targets` are a sample.
    """

    scope: Scope
    asked: ForgetScope = "memory"
    tombstone: EventId | None = None
    forgotten_at: datetime
    memories: tuple[MemoryId, ...]
    messages: tuple[MessageId, ...]
    keys: tuple[KeyId, ...]
    turns: tuple[TurnId, ...]
    targets: tuple[Target, ...] = ()
    messages_said: tuple[str, ...] = ()
    spared: frozenset[MemoryId] = frozenset()
    prepared: bool = False

    @property
    def whole(self) -> bool:
        """Tell whether a whole person or tenant was forgotten."""
        return self.asked in {"person", "tenant"}

    @property
    def person(self) -> SubjectId | None:
        """Whose all was forgotten; None for everybody's of the tenant."""
        return None if self.asked == "tenant" else self.scope.subject_id

    @property
    def texts(self) -> tuple[str, ...]:
        """The exact texts that must not be found anywhere."""
        return tuple(dict.fromkeys([*(target.claim.content for target in self.targets), *self.messages_said]))

    def sampled(self, most: int) -> Sequence[Target]:
        """Return what was forgotten, or so many of it that anybody who knows the ids can choose again."""
        if len(self.targets) <= most:
            return self.targets
        return Random(f"{self.scope.subject_id}|{self.forgotten_at.isoformat()}").sample(self.targets, most)  # noqa: S311 - to be repeatable


def paraphrases(claims: Iterable[Claim]) -> tuple[str, ...]:
    """Ask for some claims in other words, in Chinese and English."""
    return tuple(dict.fromkeys(text for claim in claims for text in _paraphrases(claim)))


def _paraphrases(claim: Claim) -> tuple[str, ...]:
    topic = (claim.key or claim.kind.value).replace(".", " ").replace("_", " ")
    return (
        claim.value,
        f"关于{claim.value}，你知道什么？",
        f"What do you know about {claim.value}?",
        f"{topic}: {claim.value}",
        f"请回忆一下我的{topic}",
        f"Remind me about my {topic}",
    )


def bare_question(tombstone: StoredEvent) -> Question:
    """Ask by the ids a tombstone names."""
    event = tombstone.event
    assert isinstance(event, Tombstoned), "erasures are for tombstones"  # noqa: S101 - narrows the type
    return by_ids(tombstone.scope, tombstone.recorded_at, event).model_copy(update={"tombstone": tombstone.event_id})


def by_ids(scope: Scope, moment: datetime, event: Tombstoned) -> Question:
    """Ask by ids only, for what a tombstone names or would name."""
    return Question(
        scope=scope,
        asked=event.scope,
        forgotten_at=moment,
        memories=event.memories,
        messages=event.messages,
        keys=event.keys,
        turns=event.turns,
    )
