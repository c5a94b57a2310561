"""What goes with a wish, for preview and forget alike: what the log names, and what says it too (R40, R41)."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import structlog

from events.envelope import StoredEvent
from events.errors import CenotaphError
from events.model import MessageId, Scope, TurnId
from events.postgres import Database
from events.vault import Vault
from services.forgetting.echoes import Heard, echoes_of, newest_heard
from services.forgetting.plan import Going
from services.forgetting.selection import Selected, Wanted, select

_ECHOES_S: Final = 1.0
log = structlog.get_logger(__name__)


class Selector:
    """Says what goes.

    Args:
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys, for what says it too.
    """

    def __init__(self, reader: Database, vault: Vault) -> None:
        self._reader = reader
        self._vault = vault

    async def select(
        self, scope: Scope, stream: Sequence[StoredEvent], wanted: Wanted, heard: Heard | None = None
    ) -> Selected | None:
        """Name all that goes; None where there is nothing such, and never was.

        Args:
            scope: whose, and how far the asker reaches.
            stream: the person's whole memory stream.
            wanted: what is asked for.
            heard: the person's messages, where they were opened before.
        """
        async with self._reader.transaction(scope.person) as connection:
            selected = await select(connection, scope, stream, wanted)
        if selected is None or not selected.anew or not selected.going.found:
            return selected
        found = await self._echoes(scope.person, stream, selected.going, heard)
        if echoes := {message: turn for message, turn in found.items() if message not in selected.event.messages}:
            async with self._reader.transaction(scope.person) as connection:
                return await select(connection, scope, stream, wanted, echoes) or selected
        return selected

    async def heard(self, scope: Scope) -> Heard:
        """Open the person's messages, none where they cannot be read in time: the fence never waits for the vault."""
        try:
            async with asyncio.timeout(_ECHOES_S), self._reader.transaction(scope.person) as connection:
                return await newest_heard(connection, await self._vault.keyring(scope.person))
        except (CenotaphError, OSError, TimeoutError) as error:
            log.warning("echoes_unread", error=type(error).__name__)
            return Heard({}, {})

    async def _echoes(
        self, scope: Scope, stream: Sequence[StoredEvent], going: Going, heard: Heard | None
    ) -> Mapping[MessageId, TurnId]:
        heard = await self.heard(scope) if heard is None else heard
        if not heard.texts:
            return {}
        try:
            async with asyncio.timeout(_ECHOES_S), self._reader.transaction(scope) as connection:
                return await echoes_of(connection, await self._vault.keyring(scope), stream, going, heard)
        except (CenotaphError, OSError, TimeoutError) as error:
            log.warning("echoes_unread", error=type(error).__name__)
            return {}
