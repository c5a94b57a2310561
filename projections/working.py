"""The texts of working memory: which rest on what, and opening them (R51, R52)."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from events.bodies import Lost, Shredded, open_bodies
from events.envelope import StoredEvent, stored
from events.keyring import Keyring
from events.log import read_events
from events.model import (
    ItemBody,
    ItemHead,
    ItemId,
    KeyId,
    MemoryId,
    MessageId,
    Scope,
    SummaryLine,
    SummaryWritten,
    TaskConstraintChanged,
    TaskErred,
    TaskObserved,
    TaskStarted,
    TaskStep,
)
from events.postgres import Connection
from projections.follower import position_of
from projections.task_state import Item, item_part
from projections.tasks import Tasks

_FOLLOWED = """
select key_id from tasks.item where tenant_id = $1 and subject_id = $2 and not gone
  and (memories && $3::uuid[] or messages && $4::uuid[])
union all
select key_id from sessions.summary_item where tenant_id = $1 and subject_id = $2 and not gone
  and (memories && $3::uuid[] or messages && $4::uuid[])
"""
_UNFOLLOWED = """
select e.envelope, s.position from log.event e left join log.sealed s using (seq)
where e.tenant_id = $1 and e.subject_id = $2 and (s.position is null or s.position > $3)
  and e.type in ('task_started', 'task_step', 'task_observed', 'task_error', 'task_constraint_changed',
    'summary_written')
"""


async def keys_resting_on(
    connection: Connection, scope: Scope, memories: Collection[MemoryId], messages: Collection[MessageId]
) -> tuple[KeyId, ...]:
    """Name the keys of texts that rest on one of these memories or messages: in the read model, or newer than it."""
    asked = scope.tenant_id, scope.subject_id
    # first: what is read afterwards is at least as new
    position = min([await position_of(connection, name) for name in (Tasks.name, "sessions")])
    rows = await connection.fetch(_FOLLOWED, *asked, list(memories), list(messages))
    newer = await connection.fetch(_UNFOLLOWED, *asked, position)
    found = [KeyId(row["key_id"]) for row in rows]
    wanted = {*memories, *messages}
    for head, key in _sealed(stored(row["envelope"], row["position"]) for row in newer):
        if wanted.intersection((*head.memories, *head.messages)):
            found.append(key)
    return tuple(dict.fromkeys(found))


def _sealed(events: Iterable[StoredEvent]) -> Iterator[tuple[ItemHead | SummaryLine, KeyId]]:
    for each in events:
        event = each.event
        if isinstance(
            event, TaskStarted | TaskStep | TaskObserved | TaskErred | TaskConstraintChanged | SummaryWritten
        ):
            keys = {part.name: part.key_id for part in each.parts}
            yield from ((head, keys[item_part(head.item_id)]) for head in event.items)


async def open_items(connection: Connection, keyring: Keyring, items: Collection[Item]) -> Mapping[ItemId, str]:
    """Open texts of working memory; what was forgotten, has expired or is lost is not in the answer."""
    events = await read_events(connection, {item.event_id for item in items})
    wanted = [(events[item.event_id], item_part(item.item_id)) for item in items]
    opened = await open_bodies(connection, keyring, wanted)
    texts = {}
    for item in items:
        body = opened[item.event_id, item_part(item.item_id)]
        if not isinstance(body, Shredded | Lost):
            texts[item.item_id] = ItemBody.model_validate_json(body).text
    return texts
