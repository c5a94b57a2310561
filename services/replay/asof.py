"""Reading one person's memory as it was (R6, R21)."""

from datetime import datetime

from events.envelope import memory_stream
from events.errors import BadInputError
from events.log import expired, fenced, head, read_stream
from events.model import MemoryId, Scope
from events.postgres import Database
from events.vault import Vault
from projections.choices import read_consents
from projections.memories import open_memories
from services.replay.journal import within
from services.replay.state import Barred, Moment, Remembered, known, remembered


class History:
    """Reads one person at a time.

    Args:
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys.
    """

    def __init__(self, reader: Database, vault: Vault) -> None:
        self._reader = reader
        self._vault = vault

    async def at(self, scope: Scope, moment: Moment, valid_at: datetime | None = None) -> list[Remembered]:
        """Return what was known of a person by a moment, and of that, if asked, only what was true at a time.

        Raises:
            BadInputError: the moment is still to come.
            UnknownEventError: an event is of a newer build.
        """
        keyring = await self._vault.keyring(scope)
        async with self._reader.transaction(scope) as connection:
            now: datetime = await connection.fetchval("select clock_timestamp()")
            if moment.time is not None and moment.time > now:
                raise BadInputError(f"{moment.time.isoformat()} is still to come; nothing is recorded there")
            if moment.position is not None:
                within(moment.position, await head(connection))
            events = await read_stream(connection, scope, memory_stream(scope.subject_id))
            state = known(events, moment)
            bodies = await open_memories(connection, keyring, state.values())
            consents = await read_consents(connection, scope)
            # read last: whatever was opened above is not shown if it was forgotten meanwhile
            stones = {MemoryId(each) for each in await fenced(connection, scope, {memory for memory, _ in state})}
            ended = {MemoryId(each) for each in await expired(connection, scope, stones)}
        aside = {fact.memory_id for fact in known(events, Moment()).values() if fact.suspended}
        return remembered(state, bodies, Barred(stones - ended, ended, consents.withdrawn, aside), valid_at)
