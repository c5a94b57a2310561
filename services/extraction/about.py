"""Stage 4d, last half: what a wish is about, and the semantic key under which it is compared with others."""

import re

from services.extraction.naming import subject_name
from services.extraction.vocabulary import Respect, Subject, taste_of
from services.extraction.wording import is_chinese

_OF_REPLIES = frozenset(
    {
        "language",
        "length",
        "tone",
        "layout",
        "file",
        "order",
        "clock",
        "tense",
        "spelling",
        "limit",
        "sections",
        "currency",
    }
)
_ABOUT_ZH = re.compile(
    r"(?:以后|今后|往后|从今天起|从现在起|有|凡是|请|帮我|给我|替我|把|我们?的?|公司的?|所有的?|每次的?|[,，])*+"
    r"(?P<t>(?![定排安改放用要])[\u4e00-\u9fffa-z0-9 ]{2,8}?)(?:以后|今后)?"
    r"(?:都|就|一律|统一|固定|默认|全部|改|定|安排|放|排|挪|移|用|要|在|请|得|应该|最好|从)"
)
_ABOUT_EN = re.compile(
    r"(?:^|(?<=[ ,]))(?:my|our|the|all my|all our|every|all) "
    r"(?P<t>(?!own )[a-z][a-z-]{1,20}(?: (?!go )[a-z-]{2,16}){0,2}?) "
    r"(?:is|are|should|must|go(?:es)?|has|have|needs?|to|in|on|at|with|by|as|for)(?![a-z])"
)
# Respects that only one thing has, whatever the sentence names; and what a respect is of where nothing is named.
_TASTE_TOPIC = {
    "taste.music": "playlist",
    "taste.film": "film",
    "taste.reading": "book",
    "taste.drink": "drink",
    "taste.food": "food",
}
_OF_ITSELF = {"timezone": "schedule", "seat": "travel", "spice": "food", "sugar": "drink"}
_USUAL_TOPIC = {
    "theme": "ui",
    "timezone": "schedule",
    "duration": "meeting",
    "budget": "restaurant",
    "units": "reply",
    "indent": "code",
}


def topic_of(named: list[Subject], ruled: Respect | None, folded: str) -> str | None:
    """Return the topic nearest before the aspect, as Chinese puts it; else the nearest after."""
    if ruled is not None and ruled.name == "choice":  # 默认 tea: what is chosen is not what the wish is about
        named = [topic for topic in named if topic.end <= ruled.start or ruled.end <= topic.start] or named
    if not named:
        return None
    if ruled is None:
        return named[-1].name if is_chinese(folded) else named[0].name
    at = ruled.start
    before = [topic for topic in named if topic.end <= at]
    return before[-1].name if before else named[0].name


def key_of(topic: str | None, ruled: Respect | None, folded: str, *, negative: bool) -> str | None:
    """Return the key `<topic>.<respect>` of a wish; None where it rules nothing that could be compared."""
    if ruled is not None and ruled.name in _OF_ITSELF:
        return f"{_OF_ITSELF[ruled.name]}.{ruled.name}"
    if topic is None and ruled is not None and ruled.name == "choice":
        topic = _TASTE_TOPIC.get(taste_of(ruled.value))
    if ruled is not None and (topic or ruled.name != "choice"):
        about = topic or _USUAL_TOPIC.get(ruled.name) or _phrase(folded)
        if about is None and ruled.name in _OF_REPLIES:
            about = "reply"
        return f"{about}.{ruled.name}" if about else None
    return f"{topic}.content" if topic and negative else None


def _phrase(folded: str) -> str | None:
    """Return the name of what a wish is about where the vocabulary has no topic for it: "the bins go …"."""
    match = _ABOUT_ZH.match(folded) if is_chinese(folded) else _ABOUT_EN.search(folded)
    return subject_name(match.group("t").strip()) if match else None
