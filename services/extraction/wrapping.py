"""Stage 1a: where a line was only wrapped, as e-mail and terminals do it: a break inside a sentence is none.

Lists, headings, quotes, code, tables, chat lines and short statements below each other stay lines of their own.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from services.extraction.abbreviations import awaits_a_name
from services.extraction.lexicon import alternatives, load
from services.extraction.tables import rows

FOREIGN_LINE = (
    r"[ \t]*(?:>|[$%#] |\d{4}[-/]\d\d?[-/]\d\d?[ T]\d\d?:\d\d|\[?\d\d:\d\d:\d\d|[{}\[\]<]|"
    r"(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE)\b|HTTP[ /]\d|Traceback \(|File \"|at [\w.$]+\()"
)
"""How a line begins that the person did not say: quoted, logged, code."""

_ALONE = re.compile(rf"{FOREIGN_LINE}|[ \t]*(?:\||#{{1,6}}|[-=*_~]{{3,}}[ \t]*$)|(?: {{4}}|\t)|.*(?:\t|\S {{3,}}\S)")
_ITEM = re.compile(
    r"[ \t]*(?:[-*+•·●○◦▪■□✓✔–—➤→][ \t]?\S|"
    r"[(（]?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4}|[一二三四五六七八九十]{1,3})[.)）、．](?=[ \t]|[\u4e00-\u9fff])|"
    r"[①-⑳]|第?[一二三四五六七八九十]{1,3}(?:[是、：:,，]|来))"
)
_SPEAKER = re.compile(r"[ \t]*\w[\w. -]{0,19}(?::[ \t]|：)")
_FENCE = re.compile(r"```|~~~")
_END = re.compile(r"(?:[。！？!?；;…:：.~～]|[\U0001f000-\U0001faff\u2600-\u27bf]\ufe0f?)[\"'”’」』）)\]*_]*$")
_STOP = re.compile(r"[。！？!?；;，]|[,.](?:\s|$)")
_WIDE = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
_FIRST = re.compile(
    r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]|[^\s\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]+"
)
_TAIL_ZH = re.compile(r"([\u3400-\u9fff]{1,2})[。！!]")
_ONE = re.compile(r"[\u4e00-\u9fff][。！!]?")
_TAIL_EN = re.compile(r"([A-Z][\w'’-]*(?: [A-Z][\w'’-]*)?)[.!](?:\s|$)")
_NAME_ENDS = re.compile(r"(?:^|[^.])\s[A-Z][\w'’-]*$")
_SHORT = 8  # columns from which on a line may be a statement
_SMALL = 24  # columns of a wrapped line before a small letter
_MARKED, _UNMARKED = 28, 56  # … before any other word, where sentences have their marks, and where they have none


@dataclass(frozen=True, slots=True)
class _Line:
    """A line without the blanks around it: where it stands, and whether nothing may be joined to it."""

    start: int
    end: int
    text: str
    alone: bool
    item: bool
    speaker: bool

    @property
    def chinese(self) -> bool:
        return _WIDE.search(self.text) is not None

    @property
    def width(self) -> int:
        return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in self.text)


def soft_breaks(content: str) -> dict[int, tuple[int, str]]:
    """Return the breaks inside sentences: where each begins, where it ends, and what stands in its place."""
    if "\n" not in content:
        return {}
    found: dict[int, tuple[int, str]] = {}
    for paragraph in _paragraphs(_lines(content)):
        widest = max(line.width for line in paragraph)
        stops = any(_STOP.search(line.text) for line in paragraph)
        joined = False
        for line, following in pairwise(paragraph):
            joined = _goes_on(line, following, widest, joined=joined, stops=stops)
            if joined:
                found[line.end] = (following.start, _joint(line.text[-1], following.text[0]))
    return found


def _lines(content: str) -> Iterator[_Line]:
    fenced = False
    start = 0
    tables = list(rows(content))
    for piece in content.split("\n"):
        text = piece.strip()
        at = start + len(piece) - len(piece.lstrip())
        marks = len(_FENCE.findall(piece))
        alone = fenced or marks > 0 or not text or _ALONE.match(piece.rstrip()) is not None
        alone |= any(first <= start < last for first, last in tables)
        fenced ^= marks % 2 == 1
        item, speaker = (pattern.match(piece) is not None for pattern in (_ITEM, _SPEAKER))
        yield _Line(at, at + len(text), text, alone, item, speaker)
        start += len(piece) + 1


def _paragraphs(lines: Iterator[_Line]) -> Iterator[Sequence[_Line]]:
    paragraph: list[_Line] = []
    for line in lines:
        if not line.alone:
            paragraph.append(line)
        elif paragraph:
            yield paragraph
            paragraph = []
    if paragraph:
        yield paragraph


def _goes_on(line: _Line, following: _Line, widest: int, *, joined: bool, stops: bool) -> bool:
    """Say whether a sentence of one line goes on in the next.

    Args:
        line: the one.
        following: the next.
        widest: columns of the widest line of the paragraph.
        joined: whether the one line goes on with the line before it.
        stops: whether sentences of the paragraph have their marks.
    """
    comma = line.text[-1] in ",，、"
    if following.item or (following.speaker and not (comma and not line.speaker)):
        return False
    if _END.search(line.text):
        return awaits_a_name(line.text)
    folded, after = line.text.lower(), following.text.lower()
    own = _begins("begins", after)
    rest = _begins("bound", after) or (line.chinese and line.width >= _SHORT and _is_rest(after))
    if comma or rest or _ends("open", folded) or (_ends("likely", folded) and not own):
        return True
    if line.width + 1 + _first_width(following.text) <= widest:  # the next word had room, so that nobody wrapped there
        return False
    wide = line.width >= (_MARKED if stops else _UNMARKED)
    if following.text[0].isascii() and following.text[0].islower():
        begun = joined or line.chinese or line.text[:1].isupper() or (stops and line.width >= _SMALL)
        return (begun or wide) and not (own and line.width < _MARKED)
    return not own and (wide or (stops and _ends_there(line.text, following.text)))


def _is_rest(following: str) -> bool:
    """Say whether a line is one Chinese character, which no statement is."""
    return _ONE.fullmatch(following) is not None and not _begins("answers", following)


def _ends_there(text: str, following: str) -> bool:
    """Say whether the next line begins with the last word or two of a sentence that this one leaves open."""
    chinese = _TAIL_ZH.match(following)
    if chinese and _WIDE.match(text[-1]):
        return not _begins("answers", chinese.group(1))
    return _TAIL_EN.match(following) is not None and _NAME_ENDS.search(text) is not None


def _first_width(text: str) -> int:
    first = _FIRST.match(text)
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in first.group()) if first else 0


def _joint(last: str, first: str) -> str:
    return "" if last == "-" or (_WIDE.match(last) and _WIDE.match(first)) else " "


def _begins(name: str, folded: str) -> bool:
    return _words(name).match(folded) is not None


def _ends(name: str, folded: str) -> bool:
    return _words(name, "$").search(folded) is not None


@lru_cache(maxsize=8)
def _words(name: str, closing: str = "") -> re.Pattern[str]:
    return re.compile(alternatives(load("wrapping.yaml")[name]) + closing)
