"""What to look for of a deletion: its receipt's tombstone names ids only, and the log still says where they stood."""

from collections.abc import Iterator

from events.envelope import StoredEvent, stored
from events.errors import BadInputError
from events.log import read_events
from events.model import Accepted, EventId, Tombstoned
from events.postgres import Connection
from services.residue.needle import Needle, sealed_body, vector_row, wrapped_key

_OF_PERSON = "select envelope from log.event where tenant_id = $1 and subject_id = $2"
_OF_TENANT = "select envelope from log.event where tenant_id = $1"


async def needles_of(connection: Connection, receipt: EventId) -> list[Needle]:
    """Return every ciphertext, wrapped key and vector that a deletion was to remove.

    Args:
        connection: one that may read the log of every person.
        receipt: its id, which is the tombstone's.

    Raises:
        BadInputError: there is no such deletion.
    """
    tombstone = (await read_events(connection, [receipt])).get(receipt)
    if tombstone is None or not isinstance(tombstone.event, Tombstoned):
        raise BadInputError(f"there is no receipt {receipt}; `cenotaph receipts` lists them")
    scope, event = tombstone.scope, tombstone.event
    if event.scope == "tenant":
        rows = await connection.fetch(_OF_TENANT, scope.tenant_id)
    else:
        rows = await connection.fetch(_OF_PERSON, scope.tenant_id, scope.subject_id)
    events = [stored(row["envelope"], None) for row in rows]
    return list(_needles(events, event))


def _needles(events: list[StoredEvent], stone: Tombstoned) -> Iterator[Needle]:
    whole, keys = stone.whole, set(stone.keys)
    for each in events:
        for part in each.parts:
            if whole or part.key_id in keys:
                yield sealed_body(each.scope, part.key_id, part.digest)
                yield wrapped_key(each.scope, part.key_id)
    accepted = {each.document["memory_id"] for each in events if each.type == Accepted.type} if whole else set()
    yield from (vector_row(memory) for memory in sorted({*map(str, stone.memories), *accepted}))
