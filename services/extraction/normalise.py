"""Stage 1: one form to look at, with a way back to what was written."""

import unicodedata
from array import array
from dataclasses import dataclass

import opencc

from services.extraction.abbreviations import inner_dots
from services.extraction.wrapping import soft_breaks

INNER_DOT = "\u2024"
"""Stands in the folded text for a dot that ends no sentence."""

_SIMPLIFY = opencc.OpenCC("t2s")
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)


@dataclass(frozen=True, slots=True)
class Text:
    """A message in two forms of one length: `folded` to match on, `shown` to quote.

    `at[i]` is where `shown[i]` stood in the message.
    """

    folded: str
    shown: str
    at: "array[int]"

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the message that `shown[start:end]` covers."""
        return self.at[start], self.at[end - 1] + 1


def normalise(content: str) -> Text:
    """Apply NFKC, drop invisible characters and breaks of wrapped lines.

    For matching also simplify Chinese, lower the case and let no dot stand that ends no sentence.
    """
    shown: list[str] = []
    at = array("L")
    breaks = soft_breaks(content)
    resumes = 0
    for position, char in enumerate(content):
        if position in breaks:
            resumes, pieces = breaks[position]
        elif position < resumes:
            continue
        elif not char.isascii():
            if unicodedata.category(char) in {"Cf", "Cc"}:
                continue
            pieces = unicodedata.normalize("NFKC", char)
        elif char < " " and char not in "\n\t":
            continue
        else:
            pieces = char
        for piece in pieces:
            shown.append(piece)
            at.append(position)
    text = "".join(shown)
    return Text(folded=_without_dots(_folded(text), text), shown=text, at=at)


def _without_dots(folded: str, shown: str) -> str:
    dots = [*inner_dots(shown)]
    if not dots:
        return folded
    chars = list(folded)
    for dot in dots:
        chars[dot] = INNER_DOT
    return "".join(chars)


def _folded(text: str) -> str:
    clean = text.translate(_SURROGATES).replace("’", "'").replace("‘", "'")
    simple = str(_SIMPLIFY.convert(clean))
    if len(simple) != len(clean):  # a phrase rule changed the length: go character by character
        simple = "".join(_same_length(char, str(_SIMPLIFY.convert(char))) for char in clean)
    return "".join(_same_length(char, char.lower()) for char in simple)


def _same_length(char: str, folded: str) -> str:
    return folded if len(folded) == 1 else char
