"""Which messages of a conversation go first when there is no room for all (R50): small talk, and never the question."""

import re
from collections.abc import Sequence
from typing import Final

from events.model import Role
from services.context.values import Said

_LAST: Final = 2
_LONGEST: Final = 60
_SMALL_TALK: Final = re.compile(
    r"\W*(?:(?:hi|hello|hey|thanks?(?: you)?(?: so much)?|thx|ok(?:ay)?|great|cool|nice|sure|"
    r"good (?:morning|night|evening)|"
    r"how are you|bye|see you|lol|(?:ha)+h?|you're welcome|no problem|got it|"
    r"你好|您好|谢谢(?:你|您|啦)?|多谢|好的?|嗯+|哦+|哈+|早(?:上好|安)?|晚(?:上好|安)|在吗|辛苦了|不客气|收到|明白了?|知道了|再见|拜拜|没事)"
    r"\s*(?:呀|啊|哦|啦|呢|there|then|again)?\W*)+",
    re.IGNORECASE,
)
_HOLDS: Final = re.compile(
    r"[?？]|必须|务必|不能|不要|不得|禁止|只能|最多|至少|不超过|目标|打算|下一步|接下来|帮我|我想|我要|"
    r"\bmust\b|\bnever\b|\bdon't\b|\bdo not\b|\bcannot\b|\bcan't\b|\bonly\b|\bat (?:most|least)\b|\bno more than\b|"
    r"\bgoal\b|\bnext\b|\bi want\b|\bi need\b|\bhelp me\b|\bplease\b",
    re.IGNORECASE,
)


def wanted(recent: Sequence[Said]) -> list[int]:
    """Return the places of messages in the order in which they want in.

    The question and what was said last; then what holds a goal, a constraint, an open step or a question; then
    results of tools, by reference; then the rest, the newest first; small talk last.
    """
    newest = len(recent) - _LAST
    return sorted(range(len(recent)), key=lambda place: (_rank(recent[place], last=place >= newest), -place))


def is_small_talk(text: str) -> bool:
    """Say whether nothing of a message is about anything."""
    return len(text) <= _LONGEST and _SMALL_TALK.fullmatch(text.strip()) is not None


def _rank(said: Said, *, last: bool) -> int:
    if is_small_talk(said.text):
        return 4
    if last:
        return 0
    if said.role is Role.TOOL:
        return 2
    return 1 if _HOLDS.search(said.text) else 3
