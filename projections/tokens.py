"""Keyword tokens of Chinese and English text, and their keyed hashes.

Chinese, Japanese and Korean runs become single characters and bigrams (which beat a dictionary segmenter on both public
sets we measured and need no user words). Words become Snowball stems without English stop words. Identifiers such as
CN-A10293, getUserById or 3.2.2 are kept whole and in parts. Text and query are folded alike: width and case, marks over
Latin letters, traditional to simplified characters, invisible characters removed.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from typing import Protocol

from opencc import OpenCC
from snowballstemmer import stemmer

_CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
_ALNUM = rf"[^\W_{_CJK}]+"
_SCAN = re.compile(rf"(?P<cjk>[{_CJK}]+)|(?P<word>{_ALNUM}(?:(?:[-./:@&']|_+){_ALNUM})*(?:\+\+|#(?!\w))?)")
_LETTERS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_PIECE = re.compile(_ALNUM)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-") | {0x2019: "'"}
MIN_SECRET = 16
_MARKS = re.compile(r"[\u0300-\u036f]")

# The usual English function words. Negations go too: no keyword score can tell "likes" from "does not like".
STOP_WORDS = frozenset(
    """a about after again all also am an and any are as at be because been before being between both but by can
    could did do does doing don't down during each few for from further had has have having he her here hers
    herself him himself his how i i'm i've if in into is it it's its itself just let's me more most my myself no
    nor not now of off on once only or other our ours ourselves out over own same she should so some such than
    that that's the their theirs them themselves then there these they this those through to too under until up
    very was we were what what's when where which while who whom why will with would you your yours yourself
    yourselves""".split()  # noqa: SIM905 - 160 quoted words are harder to read
)


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - Snowball's own name


@cache
def _simplified() -> dict[int, str]:
    """Map each traditional character to its simplified form, one by one: a fold must not depend on the neighbours."""
    characters = [chr(code) for low, high in ((0x3400, 0x4DC0), (0x4E00, 0xA000)) for code in range(low, high)]
    folded = OpenCC("t2s").convert("\n".join(characters)).split("\n")
    table = {ord(before): after for before, after in zip(characters, folded, strict=True) if before != after}
    return table | {ord("著"): "着", ord("妳"): "你"}  # OpenCC leaves these two to their neighbours


def fold(text: str) -> str:
    """Fold everything but case: width, Latin marks, dashes, traditional characters; remove what cannot be seen."""
    visible = "".join(character for character in text if unicodedata.category(character) != "Cf")
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", visible))
    return unicodedata.normalize("NFKC", bare).translate(_DASHES).translate(_simplified())


def tokenize(text: str) -> list[str]:
    """Split text into the tokens a keyword search compares, in order, repeated as often as they occur."""
    # Snowball's object keeps state while it works, so threads must not share one.
    english: _Stemmer = stemmer("english")
    tokens: list[str] = []
    for match in _SCAN.finditer(fold(text)):
        if (run := match["cjk"]) is not None:
            tokens += run
            tokens += (run[at : at + 2] for at in range(len(run) - 1))
        else:
            tokens += dict.fromkeys(_word(match["word"], english))
    return tokens


def _word(word: str, english: _Stemmer) -> Iterator[str]:
    """Yield a word as a whole, its pieces between joining marks, and their parts at a change of case or to digits."""
    if _LETTERS.fullmatch(word):
        yield from _stem(word, english)
    else:
        yield word.casefold()
        for piece in _PIECE.findall(word):
            yield from _stem(piece, english)
    for piece in _PIECE.findall(word):
        parts = _PART.findall(piece)
        if len(parts) > 1:
            for part in parts:
                yield from _stem(part, english)


def _stem(word: str, english: _Stemmer) -> Iterator[str]:
    lower = word.casefold()
    if lower not in STOP_WORDS:
        yield english.stemWord(lower) if _LETTERS.fullmatch(lower) else lower


def terms(text: str, secret: bytes) -> tuple[int, ...]:
    """Return the tokens as keyed 63-bit hashes, sorted so that the order of the words does not show.

    A token that occurs n times is there n times; the length of the text in tokens is the length of the tuple.

    Args:
        text: what is indexed or asked.
        secret: the person's index secret, 16 to 64 bytes: without it a hash says nothing about its word.

    Raises:
        ValueError: The secret is too short or too long.
    """
    return keyed(tokenize(text), secret)


def keyed(tokens: Iterable[str], secret: bytes) -> tuple[int, ...]:
    """Return the keyed hashes of tokens, as `terms` returns those of a text."""
    if not MIN_SECRET <= len(secret) <= blake2b.MAX_KEY_SIZE:
        raise ValueError(f"an index secret has {MIN_SECRET} to {blake2b.MAX_KEY_SIZE} bytes, not {len(secret)}")
    return tuple(sorted(_keyed(token, secret) for token in tokens))


def _keyed(token: str, secret: bytes) -> int:
    digest = blake2b(token.encode(), digest_size=8, key=secret, person=b"cenotaph-term").digest()
    return int.from_bytes(digest) >> 1
