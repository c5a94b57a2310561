"""Fold a text for comparison and keep, for every folded character, the place it came from."""

import unicodedata
from array import array
from dataclasses import dataclass

import opencc

_SIMPLIFY = opencc.OpenCC("t2s")
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)
_KEPT_CONTROLS = "\n\t\r"


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; `at[i]` is the offset in the original of the character behind `text[i]`."""

    text: str
    at: "array[int]"

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the original offsets that `text[start:end]` covers."""
        return self.at[start], self.at[end - 1] + 1


def fold(text: str) -> Folded:
    """Apply NFKC character by character and drop what cannot be seen (R10: it must not hide a secret)."""
    out: list[str] = []
    at = array("L")
    for position, char in enumerate(text):
        if char.isascii():
            if char >= " " or char in _KEPT_CONTROLS:
                out.append(char)
                at.append(position)
            continue
        if unicodedata.category(char) in {"Cf", "Cc"}:
            continue
        for piece in unicodedata.normalize("NFKC", char):
            out.append(piece)
            at.append(position)
    return Folded("".join(out), at)


def simplify(text: str) -> str:
    """Turn traditional Chinese characters into simplified ones."""
    return str(_SIMPLIFY.convert(text.translate(_SURROGATES)))


def plain(text: str) -> str:
    """Return the form in which two texts are compared: NFKC, visible, simplified, caseless."""
    return simplify(fold(text).text).casefold()
