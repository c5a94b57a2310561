"""The moment of forgetting: one transaction holds the tombstone and the fence (R41)."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal
from uuid import uuid5

import structlog

from events.bodies import open_bodies
from events.envelope import Command, NewEvent, StoredEvent, event_id_of, memory_stream
from events.errors import CenotaphError, ErasedError, PreviewChangedError
from events.log import append, read_command, read_stream
from events.model import MEMORY_PART, CommandId, Counted, EventId, MemoryBody, MemoryId, Scope, Tombstoned
from events.postgres import Database
from events.vault import Vault
from services.forgetting.selection import Wanted, digest_of, reached
from services.forgetting.selector import Selector
from services.forgetting.whole import count_whole
from services.governance.topic import topic_of

_TOPICS_S = 1.0
_COUNT_S = 1.0
log = structlog.get_logger(__name__)


class Forgetter:
    """Appends tombstones. Erasing and proving is the finisher's job.

    Args:
        appender: a pool under `cenotaph_appender`.
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys, for what the memory was about.
    """

    def __init__(self, appender: Database, reader: Database, vault: Vault) -> None:
        self._appender = appender
        self._reader = reader
        self._vault = vault
        self._selector = Selector(reader, vault)

    async def forget(self, scope: Scope, memory_id: MemoryId, actor: str) -> EventId | None:
        """Fence a memory and name all that goes with it; see `forget_wanted`."""
        return await self.forget_wanted(scope, Wanted("memory", memory_id), actor)

    async def forget_wanted(
        self, scope: Scope, wanted: Wanted, actor: str, digest: str | None = None
    ) -> EventId | None:
        """Fence what is wanted; return the tombstone's id, None where there is nothing such.

        The person's memory stream is held meanwhile, so no version can be added behind the plan's back. Forgetting
        again returns the first tombstone, unless there is more of it by now (a session that went on).

        Only what the scope reaches is found; all that goes with it is named, whoever it is for.

        Raises:
            PreviewChangedError: a digest is given, and the preview would show something else; nothing was forgotten.
        """
        asked, scope = scope, scope.person
        stream_name = memory_stream(scope.subject_id)
        async with self._appender.transaction() as writing:
            held = await writing.fetchval("select log.lock_stream_v1($1, $2)", scope.tenant_id, stream_name)
            if not held and wanted.scope in {"memory", "kind"}:
                return None
            async with self._reader.transaction(scope) as reading:
                stream = await read_stream(reading, scope, stream_name)
                before = [each for each in stream if isinstance(each.event, Tombstoned) and wanted.names(each.event)]
                if wanted.scope == "memory" and wanted.target not in reached(stream, asked):
                    return None
            if before and wanted.scope == "memory":
                return before[-1].event_id
            selected = await self._selector.select(asked, stream, wanted)
            if selected is None or not selected.anew:
                return before[-1].event_id if before else None
            if digest is not None and digest != digest_of(selected.event):
                raise PreviewChangedError("the preview is out of date; nothing was forgotten")
            versions = [version for each in selected.going.found.values() for version in each.versions]
            event = selected.event.model_copy(update={"topics": await self._topics(scope, versions)})
            expected = None if held else 0  # a stream that is not there cannot be held
            new = (NewEvent(event, datetime.now(UTC)),)
            command = Command(_command_id(wanted, event), scope, stream_name, expected, actor, new)
            (answer,) = await append(writing, [command])
        if answer.outcome == "erased":
            raise ErasedError(scope.subject_id)
        if answer.outcome == "conflict":  # somebody began the stream meanwhile, with what this must name too
            return await self.forget_wanted(asked, wanted, actor, digest)
        async with self._reader.transaction(scope) as reading:
            (tombstone,) = await read_command(reading, command.command_id)
        return tombstone.event_id

    async def forget_whole(self, scope: Scope, what: Literal["person", "tenant"], actor: str) -> EventId:
        """Fence a whole person or tenant in one small transaction; return the tombstone's id, always the same.

        Args:
            scope: whose; of a tenant with the nil subject.
            what: which of both.
            actor: who asks.

        Raises:
            ErasedError: the person's tenant was forgotten before.
        """
        target = scope.subject_id if what == "person" else scope.tenant_id
        stream = memory_stream(scope.subject_id) if what == "person" else what
        counted = await self._counted(scope, what)
        event = Tombstoned(scope=what, target=target, memories=(), messages=(), keys=(), topics=(), counted=counted)
        new = (NewEvent(event, datetime.now(UTC)),)
        command = Command(CommandId(uuid5(target, f"forget {what}")), scope, stream, None, actor, new)
        async with self._appender.transaction() as connection:
            (answer,) = await append(connection, [command])
        if answer.outcome == "erased":
            raise ErasedError(scope.subject_id)
        return event_id_of(command.command_id, 0)

    async def _counted(self, scope: Scope, what: Literal["person", "tenant"]) -> Counted | None:
        """Count what goes, None where that takes too long: the fence never waits for the read models."""
        try:
            async with asyncio.timeout(_COUNT_S):
                counts = await count_whole(self._reader, scope, what)
        except (CenotaphError, OSError, TimeoutError) as error:
            log.warning("whole_uncounted", error=type(error).__name__)
            return None
        return Counted(memories=counts["memories"], messages=counts["messages"])

    async def _topics(self, scope: Scope, versions: Sequence[StoredEvent]) -> tuple[str, ...] | None:
        """Digest what the versions are about, None where one cannot be read: the fence never waits for the vault."""
        try:
            async with asyncio.timeout(_TOPICS_S), self._reader.transaction(scope) as connection:
                keyring = await self._vault.keyring(scope)
                opened = await open_bodies(connection, keyring, ((version, MEMORY_PART) for version in versions))
        except (CenotaphError, OSError, TimeoutError) as error:
            log.warning("topics_unread", error=type(error).__name__)
            return None
        topics = {
            topic_of(keyring, MemoryBody.model_validate_json(body))
            for body in opened.values()
            if isinstance(body, bytes)
        }
        return tuple(sorted(topics)) if all(isinstance(body, bytes) for body in opened.values()) else None


def _command_id(wanted: Wanted, event: Tombstoned) -> CommandId:
    """Derive the command of a wish: of a memory there is one for ever, of anything else one for what goes this time."""
    if wanted.scope == "memory" and wanted.target is not None:
        return CommandId(uuid5(wanted.target, "forget"))
    return CommandId(uuid5((*event.memories, *event.messages)[0], f"{wanted.scope}|{digest_of(event)}"))
