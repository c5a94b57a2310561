"""The chain of keys that sign checkpoints: each is introduced by a note that its predecessor and itself signed (R5).

The text of such a note is origin, `signing key N`, the public key, and the tree size after which it signs; a checkpoint
has a bare number in its second line, so neither can be taken for the other. A key is in force for checkpoints larger
than its own size, up to the size of its successor: a key that was retired cannot sign what came later.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from events.errors import BadInputError, TamperError
from events.note import Note, NoteSigner, VerifierKey

_WORDS = "signing key "


@dataclass(frozen=True, slots=True)
class Introduction:
    """A key of the chain: the how-manieth it is, and the tree size after which it signs."""

    number: int
    key: VerifierKey
    after: int

    @property
    def text(self) -> str:
        """The text to sign."""
        return f"{self.key.name}\n{_WORDS}{self.number}\n{self.key}\n{self.after}\n"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text of a note.

        Raises:
            TamperError: it introduces no key.
        """
        try:
            origin, words, key, after, end = text.split("\n")
            found = cls(int(words.removeprefix(_WORDS)), VerifierKey.parse(key), int(after))
        except (ValueError, BadInputError):
            raise TamperError("the note introduces no signing key") from None
        if found.text != text or end or origin != found.key.name:
            raise TamperError("the note introduces no signing key")
        return found


@dataclass(frozen=True, slots=True)
class KeyChain:
    """Keys that hold together, from the first one on."""

    keys: tuple[Introduction, ...]

    @classmethod
    def follow(cls, notes: Iterable[str], pinned: VerifierKey | None = None) -> tuple[Self, str | None]:
        """Follow introductions from the first key; return the chain as far as it holds, and why it does not go on."""
        keys: tuple[Introduction, ...] = ()
        for raw in notes:
            if problem := _problem(keys, raw, pinned):
                return cls(keys), problem
            keys = (*keys, Introduction.parse(Note.parse(raw).text))
        return cls(keys), None if keys else "there is no signing key"

    @property
    def first(self) -> VerifierKey | None:
        """The key that trust starts from."""
        return self.keys[0].key if self.keys else None

    def at(self, size: int) -> Introduction | None:
        """Return the key that is in force for a checkpoint of that size."""
        return max((each for each in self.keys if each.after < size), key=lambda each: each.number, default=None)


def introduce(signer: NoteSigner, number: int, after: int, predecessor: NoteSigner | None) -> str:
    """Write the note that introduces a key, signed by its predecessor, if any, and itself."""
    text = Introduction(number, signer.key, after).text
    return str(Note(text, tuple(each.sign(text) for each in (predecessor, signer) if each is not None)))


def _problem(before: Sequence[Introduction], raw: str, pinned: VerifierKey | None) -> str | None:
    number = len(before)
    try:
        note = Note.parse(raw)
        new = Introduction.parse(note.text)
    except TamperError as error:
        return f"key {number}: {error}"
    last, origin = (before[-1], before[0].key.name) if before else (None, new.key.name)
    wrong = {
        f"key {number} is {new.key}, not the pinned one": not before and pinned not in {None, new.key},
        f"key {number} is missing": new.number != number,
        f"key {number} did not sign its own introduction": not note.signed_by(new.key),
        f"key {number} is not signed by its predecessor": last is not None and not note.signed_by(last.key),
        f"key {number} is of another log": new.key.name != origin,
        f"key {number} claims to be older than its predecessor": new.after < (last.after if last else 0),
    }
    return next((what for what, holds in wrong.items() if holds), None)
