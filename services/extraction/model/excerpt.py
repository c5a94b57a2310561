"""What a model is shown: the person's own words of a turn, and no more of them than it may read."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from events.model import Candidate, Evidence, Message, Origin, Suppression, Turn
from services.extraction.material import BLANK, own_words
from services.extraction.normalise import Text, normalise
from services.extraction.segment import Sentence, sentences

_BLANKS = re.compile(f"{BLANK}+")

Count = Callable[[str], int]
"""How many tokens a text costs."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the person; `own` is its folded text with what is not to be read blanked out, offsets unchanged."""

    message: Message
    text: Text
    own: str
    read: tuple[Sentence, ...]

    @property
    def shown(self) -> str:
        """The words that are to be read, as written; what was left out is an ellipsis."""
        parts: list[str] = []
        for char, own in zip(self.text.shown, self.own, strict=True):
            if own != BLANK:
                parts.append(char)
            elif parts and parts[-1] != "…":
                parts.append("…")
        return "".join(parts).strip("… \n\t")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The messages to be read; `unread` are the stretches that were too much, `cut` says of how many messages."""

    said: tuple[Said, ...]
    unread: tuple[Evidence, ...] = ()

    @property
    def cut(self) -> int:
        """How many messages are shown in part, or not at all."""
        return len(self.unread)

    def missed(self, candidate: Candidate) -> bool:
        """Say whether a candidate rests on words that are not shown because they were too much."""
        return any(_overlap(pointer, stretch) for pointer in candidate.evidence for stretch in self.unread)


def excerpt(turn: Turn, wishes: Iterable[Suppression], tokens: int, count: Count) -> Excerpt:
    """Choose what of a turn is shown: messages of the person, without material, secrets and what is not to be kept.

    Args:
        turn: the turn.
        wishes: what the person said not to remember; it is not shown.
        tokens: how many may be shown; the last messages come first, each from its beginning, cut between sentences.
        count: how many a text costs.
    """
    hidden = [pointer for wish in wishes for pointer in (wish.evidence, *wish.covers)]
    said: list[Said] = []
    unread: list[Evidence] = []
    for message in reversed(turn.messages):
        if message.origin is not Origin.USER:
            continue
        text = normalise(message.content)
        own = _without(own_words(text), text, [each for each in hidden if each.message_id == message.message_id])
        end, cost = _fitting(own, tokens, count)
        tokens -= cost
        if any(char != BLANK and not char.isspace() for char in own[end:]):
            first, last = text.span(end, len(own))
            unread.append(Evidence(message_id=message.message_id, start=first, end=last))
            own = own[:end] + BLANK * (len(own) - end)
        one = Said(message, text, own, tuple(sentences(own)))
        if one.shown:
            said.append(one)
    return Excerpt(tuple(reversed(said)), tuple(unread))


def _without(own: str, text: Text, hidden: list[Evidence]) -> str:
    if not hidden:
        return own
    return "".join(
        BLANK if any(pointer.start <= at < pointer.end for pointer in hidden) else char
        for char, at in zip(own, text.at, strict=True)
    )


def _fitting(own: str, tokens: int, count: Count) -> tuple[int, int]:
    """Return how far a text can be shown for so many tokens, and what that costs."""
    if (cost := count(_joined(own))) <= tokens:
        return len(own), cost
    end = spent = 0
    for sentence in sentences(own):
        cost = count(_joined(own[end : sentence.end]))
        if spent + cost > tokens:
            break
        end, spent = sentence.end, spent + cost
    return end, spent


def _joined(own: str) -> str:
    """Write each stretch that is left out as one character, as it is shown."""
    return _BLANKS.sub("…", own)


def _overlap(one: Evidence, other: Evidence) -> bool:
    return one.message_id == other.message_id and one.start < other.end and other.start < one.end
