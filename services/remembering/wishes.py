"""What becomes of a person's wishes about what to remember from now on, said in a turn: asked for, or lifted again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from events.envelope import NewEvent, Part, StoredEvent
from events.keyring import Keyring
from events.model import MemoryId, MessageId, StandingWish, SuppressionAsked, SuppressionBody, Tombstoned
from projections.choices import SUPPRESSION_PART, Choices
from services.extraction.subjects import meant_kinds, meant_subjects
from services.governance.aboutness import describe
from services.governance.folding import plain


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a turn asks for anew, what it lifts, and the descriptions that stand behind it."""

    asked: tuple[StandingWish, ...]
    lifted: tuple[StoredEvent, ...]
    standing: tuple[str, ...]


def settle_wishes(wishes: Sequence[StandingWish], choices: Choices, said_at: datetime) -> Wishes:
    """Say what the wishes of a turn change, one after the other.

    What stands already is not asked for again, but what was said in another message only is: it stands as long as any
    message that says it. Only what was said in a conversation is lifted by saying so, and only by what is not older;
    what a person asked for by a call is lifted by a call.
    """
    asked: list[StandingWish] = []
    standing = dict(choices.suppressions)
    lifted: list[StoredEvent] = []
    for wish in wishes:
        if not wish.lifts:
            message = wish.evidence.message_id
            stays = [each for name, each in standing.items() if said_in(choices.asked[name]) in {(), (message,)}]
            known = [*stays, *(each.description for each in asked if each.evidence.message_id == message)]
            if not any(same_topic(wish.description, each) for each in known):
                asked.append(wish)
            continue
        asked = [each for each in asked if not same_topic(wish.description, each.description)]
        for suppression, description in choices.suppressions.items():
            stored = choices.asked[suppression]
            if suppression in standing and _may_go(stored, said_at) and same_topic(wish.description, description):
                del standing[suppression]
                lifted.append(stored)
    return Wishes(tuple(asked), tuple(lifted), (*standing.values(), *(each.description for each in asked)))


def same_topic(one: str, other: str) -> bool:
    """Say whether two descriptions name the same: in the same words, or, in two languages, the same topics or kinds."""
    if plain(one) == plain(other):
        return True
    left, right = (describe(each, meant_subjects(each)) for each in (one, other))
    if left.names != right.names or meant_kinds(one) != meant_kinds(other):
        return False
    if left.chinese == right.chinese:
        return bool(left.words) and left.words == right.words
    return left.topics == right.topics and bool(left.topics or meant_kinds(one))


async def events_of_wishes(wishes: Wishes, keyring: Keyring, said_at: datetime) -> list[NewEvent]:
    """Make the events that ask and lift; each new wish lies sealed under a key of its own and cites its message."""
    keys = await keyring.lease(len(wishes.asked)) if wishes.asked else []
    events = []
    for wish, key in zip(wishes.asked, keys, strict=True):
        event = SuppressionAsked(suppression_id=MemoryId(uuid4()), cites=(wish.evidence.message_id,))
        part = Part(SUPPRESSION_PART, SuppressionBody(description=wish.description), key)
        events.append(NewEvent(event, said_at, (part,)))
    return events + [NewEvent(each, said_at) for each in lifts_of(wishes.lifted)]


def lifts_of(lifted: Iterable[StoredEvent]) -> list[Tombstoned]:
    """Make the tombstones that lift suppressions: none of them ever was a memory."""
    return [
        Tombstoned(
            memories=(stored.event.suppression_id,),
            messages=(),
            keys=tuple(part.key_id for part in stored.parts),
            topics=(),
        )
        for stored in lifted
        if isinstance(stored.event, SuppressionAsked)
    ]


def said_in(stored: StoredEvent) -> tuple[MessageId, ...]:
    """Name the message in which a suppression was asked for; none where a call did."""
    return stored.event.cites if isinstance(stored.event, SuppressionAsked) else ()


def _may_go(stored: StoredEvent, said_at: datetime) -> bool:
    return bool(said_in(stored)) and stored.said_at <= said_at
