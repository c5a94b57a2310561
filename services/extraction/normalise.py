"""Stage 1: one form to look at, with a way back to what was written."""

import unicodedata
from array import array
from dataclasses import dataclass

import opencc

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
    """Apply NFKC, drop invisible characters; for matching also simplify Chinese and lower the case."""
    shown: list[str] = []
    at = array("L")
    for position, char in enumerate(content):
        if not char.isascii():
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
    return Text(folded=_folded(text), shown=text, at=at)


def _folded(text: str) -> str:
    clean = text.translate(_SURROGATES).replace("’", "'").replace("‘", "'")
    simple = str(_SIMPLIFY.convert(clean))
    if len(simple) != len(clean):  # a phrase rule changed the length: go character by character
        simple = "".join(_same_length(char, str(_SIMPLIFY.convert(char))) for char in clean)
    return "".join(_same_length(char, char.lower()) for char in simple)


def _same_length(char: str, folded: str) -> str:
    return folded if len(folded) == 1 else char
