"""Stage 2b: sentences and their clauses, over the person's own words."""

import re
from dataclasses import dataclass, replace

from services.extraction.cues import has, lexicon, starts
from services.extraction.material import BLANK

_END = re.compile(rf"[。！？!?；;\n]+|…+|{BLANK}+(?![」』”\"'])|\.+(?=\s|$)")
_CLAUSE = re.compile(
    r"(?<!\d)[,，]|[,，](?!\d)|[：]|(?<!\d):|:(?!\d)|\s[–—-]\s|——|\s(?=but(?![a-z]))|"
    r"\s(?=and (?:i|i'm|i've|my|we|please)(?![a-z]))|(?=但是|不过|可是)"
)
_PARTICLE = re.compile(r"(?:吗|呢|么)[~～\s]*$")
_ADDRESS = re.compile(  # how one wants to be called is wanted for good, also as a question
    r"(?:call|address) me (?!an? |when|back|later|at|on|if|tomorrow|today|tonight|in )|"
    r"(?:叫|喊|称呼)我(?!起床|一声|的|什么)"
)
_TO_KEEP = re.compile(
    r"(?:(?:hey|hi|and|also|so|oh|please),? )*(?:can|could|would|will) you (?:please |just )*"
    r"(?:remember|keep in mind|bear in mind|make a note|keep a note|note down|save|store) "
    r"(?:of |down |this: |that |for me )*(?!to |when |what |who |how |where |which |why |if |whether |me |us |"
    r"our (?!\w+ is )|the (?:time|day) (?:we|i|you) |it$|this$|that$)|"
    r"(?:能|可以|麻烦你?)(?:不能)?(?:帮我|给我|替我)(?:记|存)(?:一?下|住|着)[,，:：].{4,}"
)
_LONGEST = 600


@dataclass(frozen=True, slots=True)
class Clause:
    """`start:end` of the text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the person: where it stands, its folded text, its clauses, and whether it asks."""

    start: int
    end: int
    text: str
    clauses: tuple[Clause, ...]
    asks: bool
    opens: bool = False  # what was stated before a question in the same sentence
    useful: bool = False  # the person says what it is for

    def clause_at(self, position: int) -> int:
        """Return the index of the clause that holds a position of the text."""
        return max((i for i, clause in enumerate(self.clauses) if clause.start <= position), default=0)

    def without(self, spans: list[tuple[int, int]]) -> "Sentence | None":
        """Return the sentence without the clauses that spans of the text have taken; None where none is left."""
        left = tuple(c for c in self.clauses if not any(start < c.end and c.start < end for start, end in spans))
        if len(left) == len(self.clauses):
            return self
        whole = " ".join(clause.text for clause in left)
        return replace(self, start=left[0].start, end=left[-1].end, text=whole, clauses=left) if left else None


def sentences(own: str) -> list[Sentence]:
    """Split the person's own words; a run too long to be a statement is left out."""
    found: list[Sentence] = []
    position = 0
    for mark in [*_END.finditer(own), None]:
        stop = mark.start() if mark else len(own)
        sentence = _sentence(own, position, stop, mark.group() if mark else "")
        if sentence:
            found += _divided(sentence)
        position = mark.end() if mark else len(own)
    return found


def _sentence(own: str, start: int, end: int, mark: str) -> Sentence | None:
    while start < end and own[start] in f" \t{BLANK}」』”\"'":
        start += 1
    while end > start and own[end - 1] in " \t":
        end -= 1
    if not 1 < end - start <= _LONGEST:
        return None
    text = own[start:end]
    return Sentence(start, end, text, tuple(_clauses(text, start)), asks=_asks(text, mark))


def _divided(sentence: Sentence) -> list[Sentence]:
    """Return what a sentence states before its question, and the question: "I row at dawn, what should I eat?"."""
    clauses = sentence.clauses
    if not sentence.asks or len(clauses) == 1:
        return [sentence]
    tag = clauses[-1].text.strip()
    if lexicon()["request_tag"].fullmatch(tag):
        return [_part(sentence, clauses[:-1], asks=False, opens=False)]
    if lexicon()["doubt_tag"].fullmatch(tag):
        return [sentence]
    first = next(
        (i for i, c in enumerate(clauses) if _asks(c.text, "") or has("question_word", c.text)), len(clauses) - 1
    )
    stated = clauses[:first]
    if not stated or any(starts("condition", clause.text.strip()) for clause in stated):
        return [sentence]
    return [
        _part(sentence, stated, asks=False, opens=True),
        _part(sentence, clauses[first:], asks=True, opens=False),
    ]


def _part(sentence: Sentence, clauses: tuple[Clause, ...], *, asks: bool, opens: bool) -> Sentence:
    start, end = clauses[0].start, clauses[-1].end
    text = sentence.text[start - sentence.start : end - sentence.start]
    return Sentence(start, end, text, clauses, asks, opens)


def _clauses(text: str, offset: int) -> list[Clause]:
    found: list[Clause] = []
    position = 0
    for mark in [*_CLAUSE.finditer(text), None]:
        stop = mark.start() if mark else len(text)
        if text[position:stop].strip():
            found.append(Clause(offset + position, offset + stop, text[position:stop]))
        position = mark.end() if mark else len(text)
    return found


def _asks(text: str, mark: str) -> bool:
    if has("polite", text) and (has("standing", text) or _ADDRESS.search(text)):
        return False  # a polite request for good is a wish, not a question
    if _TO_KEEP.match(text.strip()):
        return False  # "can you remember that …?" asks for nothing but that
    if any(char in "?？" for char in mark) or _PARTICLE.search(text):
        return True
    return starts("interrogative_start", text.strip())
