"""What happened in a session that is over: what was wanted and how it ended, and what was agreed (R15, R53). Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from events.model import Kind, MessageId, Origin
from services.extraction.cues import has
from services.governance.folding import plain
from services.summaries.draft import Heard, Known
from services.summaries.wording import ASKS, BINDS, GUESSES, WANTS, about, sentences

WRITER: Final = "rules/1"
Outcome = Literal["decided", "solved", "given up"]

_DECIDES: Final = re.compile(
    r"就定|那就(?:选|用|订|买|去|按|改|走)|就(?:选|用|订|买|去)(?:这|那|它)|最后(?:选|定|决定)|敲定|定下来|决定(?:用|选|去|买|订|改|不)|"
    r"\b(?:let's|we'll|i'll|we will|i will) go with\b|\bgoing with\b|\bi'll take\b|\bwe(?:'ve| have)? decided\b|"
    r"\bi(?:'ve| have)? decided\b|\bsettled on\b|\bsettle on\b|\bfinal choice\b"
)
_SOLVED: Final = re.compile(
    r"搞定了|解决了|修好了|跑通了|(?:现在|终于)(?:可以|好|行|正常)了|办好了|发出去了|"
    r"\bthat (?:fixed|solved|did) it\b|\bworks now\b|\ball (?:done|sorted|set)\b|\bit's (?:fixed|done|sorted)\b"
)
_GIVEN_UP: Final = re.compile(
    r"算了|放弃了?|不弄了|不做了|还是不行|没(?:成功|办成|解决)|"
    r"\bnever mind\b|\bgave up\b|\bgive up\b|\bgiving up\b|\bstill (?:fails|broken|doesn't work)\b|\bforget about it\b"
)
_AGREED: Final = re.compile(
    r"(?:我们|咱们|团队|大家)(?:已经|刚刚|今天)?(?:决定|约定|商定|说好|定了)|"
    r"\bwe(?:'ve| have)? (?:agreed|decided)\b|\bthe team (?:has )?(?:agreed|decided)\b"
)
_ENDS: Final[tuple[tuple[re.Pattern[str], Outcome], ...]] = (
    (_GIVEN_UP, "given up"),
    (_SOLVED, "solved"),
    (_DECIDES, "decided"),
)
_LONGEST: Final = 200
_SAME: Final = 0.6
_EPISODE: Final = 0.6
_CONCLUSION: Final = 0.7


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something to remember of a session: in the person's own words, with the messages they stand in.

    `value` is a sentence of one of them, so that the gates find it stated.
    """

    kind: Kind
    key: str | None
    value: str
    content: str
    importance: float
    messages: tuple[MessageId, ...]


@dataclass(frozen=True, slots=True)
class _Said:
    heard: Heard
    text: str


def proposals(heard: Sequence[Heard], known: Iterable[Known]) -> tuple[Proposal, ...]:
    """Say what a session leaves behind: an episode for each wish that came to an end, and what was agreed beside it.

    What is remembered already, was meant for this once, asked, guessed or supposed is no part of it; nor is what says
    how things are to be done, which every turn was read for.

    Args:
        heard: what was said, oldest first.
        known: the memories that were said in it.
    """
    told = [each.content for each in known]
    said = [each for each in _own(heard) if not any(about(each.text, content) >= _SAME for content in told)]
    found: dict[str, Proposal] = {}
    wish: _Said | None = None
    for each in said:
        end = _end_of(each.text)
        if end is not None and wish is not None and wish.heard.number < each.heard.number:
            episode = _episode(wish, each, end)
            found[plain(episode.content)] = episode
            wish = None
        elif _AGREED.search(plain(each.text)):
            conclusion = Proposal(Kind.FACT, None, each.text, each.text, _CONCLUSION, (each.heard.message_id,))
            found[plain(each.text)] = conclusion
        elif WANTS.search(plain(each.text)) and not BINDS.search(plain(each.text)):
            wish = each
    return tuple(found.values())


def _own(heard: Iterable[Heard]) -> Iterator[_Said]:
    for each in heard:
        if each.origin is not Origin.USER:
            continue
        for text in sentences(each.text):
            folded = plain(text)
            doubtful = ASKS.search(text) or GUESSES.search(folded) or has("hypothetical", folded)
            if len(text) <= _LONGEST and not doubtful and not has("once", folded):
                yield _Said(each, text)


def _end_of(text: str) -> Outcome | None:
    return next((outcome for cue, outcome in _ENDS if cue.search(plain(text))), None)


def _episode(wish: _Said, end: _Said, outcome: Outcome) -> Proposal:
    content = f"{wish.text} → {end.text} ({outcome})"
    messages = (wish.heard.message_id, end.heard.message_id)
    return Proposal(Kind.EPISODE, "episode", end.text, content, _EPISODE, messages)
