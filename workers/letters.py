"""Dead letters in the hands of an operator: put back through the handler they failed in, or dropped for good (R70)."""

from collections.abc import Callable, Mapping
from typing import Protocol

from services.forgetting.letters import DeadLetters, Parked


class Handler(Protocol):
    """What a stream's handler does with its own dead letters."""

    async def replay(self, letter: Parked, text: str | None) -> None:
        """Do what the message asked for; repeating it is harmless."""

    async def drop(self, letter: Parked) -> None:
        """Settle that it will never be done."""


class LetterBox:
    """Replays and drops dead letters. Each stays until its handler has succeeded.

    Args:
        letters: where they lie; with the right to open and destroy their keys.
        handlers: makes the one of a stream.
    """

    def __init__(self, letters: DeadLetters, handlers: Mapping[str, Callable[[], Handler]]) -> None:
        self._letters = letters
        self._handlers = handlers

    async def parked(self, stream: str | None = None) -> list[Parked]:
        """List what is parked, oldest first."""
        return await self._letters.parked(stream)

    async def replay(self, letter: Parked) -> None:
        """Handle a message once more, then remove its letter; whatever the handler raises keeps it."""
        await self._handlers[letter.stream]().replay(letter, await self._letters.text(letter))
        await self._letters.remove(letter)

    async def drop(self, letter: Parked) -> None:
        """Give a message up and remove its letter."""
        await self._handlers[letter.stream]().drop(letter)
        await self._letters.remove(letter)
