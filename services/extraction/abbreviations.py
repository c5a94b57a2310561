"""Dots that end no sentence: of "Prof. Lindqvist", "St. Ives", "No. 7", "Acme Inc. in Delft", "J. K. Rowling"."""

import re
from collections.abc import Iterator
from functools import lru_cache

from services.extraction.lexicon import compiled, load

_DOTTED = r"[A-Za-z](?:\.[A-Za-z])+|[Pp]h\.[Dd]|[BbMm]\.[Ss]c"
_WORD = re.compile(rf"(?<![A-Za-z0-9_.@/])(?:{_DOTTED}|[A-Za-z]+)(?=\.)")
_NEXT = re.compile(r"\.(?:[ \t]+|(?=[\u3400-\u9fff]))[\"'“‘(]?(?P<word>[^\W\d_][\w'’]*|\d)|\.(?P<mark>[,;:)])")
_BEFORE = re.compile(r"([A-Za-z]+)[ \t]+$")
_BEHIND_A_WORD = re.compile(r"[^\W_][ \t]+$")
_INITIAL_NEXT = re.compile(r"\.[ \t]*[A-Za-z]\.")
_LETTER = 1


def inner_dots(shown: str) -> Iterator[int]:
    """Yield where the dots of a text stand that end no sentence; numbers and addresses are left alone."""
    if "." not in shown:
        return
    for word in _WORD.finditer(shown):
        yield from (word.start() + at for at, char in enumerate(word.group()) if char == ".")
        if _goes_on(shown, word.group(), word.start(), word.end()):
            yield word.end()


def awaits_a_name(line: str) -> bool:
    """Say whether a line ends in the short form of a title, whose name the next line brings."""
    last = line.rpartition(" ")[2]
    return last.endswith(".") and _listed("before_name", last[:-1].lower())


def _goes_on(shown: str, word: str, start: int, end: int) -> bool:
    """Say whether a sentence goes on behind the dot at `end` of an abbreviation."""
    following = _NEXT.match(shown, end)
    if following is None:
        return False
    lower = word.lower()
    if following["mark"]:
        return "." in word or _listed("behind_name", lower) or _listed("before_name", lower)
    first = following["word"]
    if first.isdigit():
        return _listed("before_number", lower) and (lower != "no" or _BEHIND_A_WORD.search(shown, 0, start) is not None)
    if len(word) == _LETTER:
        return _is_initial(shown, word, start, end, first)
    return _listed("before_name", lower) or (not _opens(first) and _belongs(word, first))


def _belongs(word: str, first: str) -> bool:
    """Say whether the word behind an abbreviation, which may begin a sentence, belongs to it."""
    closes = _listed("behind_name", word.lower())
    titled = _listed("before_capital", word.lower()) and word[0].isupper() and first[0].isupper()
    return titled or (closes and not first[0].isupper()) or ("." in word and not closes)


def _is_initial(shown: str, letter: str, start: int, end: int, following: str) -> bool:
    """Say whether a letter with a dot is the initial of a name: of one that follows it, or with another initial."""
    if _INITIAL_NEXT.match(shown, end):
        return True
    before = _BEFORE.search(shown, 0, start)
    if letter.islower():  # only as the last of several
        return re.search(r"(?<![A-Za-z])[a-z]\.[ \t]*$", shown[:start]) is not None and not _opens(following)
    named = before is not None and _listed("plain_letter", before.group(1).lower())
    return letter != "I" and following[0].isupper() and not named and not _opens(following)


def _opens(word: str) -> bool:
    return _openings().fullmatch(word.lower().replace("’", "'")) is not None


def _listed(name: str, word: str) -> bool:
    return word in _lists()[name]


@lru_cache(maxsize=1)
def _lists() -> dict[str, frozenset[str]]:
    return {name: frozenset(words) for name, words in load("abbreviations.yaml").items() if name != "opens"}


@lru_cache(maxsize=1)
def _openings() -> re.Pattern[str]:
    return compiled(load("abbreviations.yaml")["opens"])
