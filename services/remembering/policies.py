"""The policy in force, as an event: an old decision names a digest, and the log says what that was."""

from datetime import UTC, datetime
from typing import Final
from uuid import UUID, uuid4

from events.envelope import Command, NewEvent
from events.errors import ConcurrencyError
from events.log import EventLog, read_last
from events.model import CommandId, PolicyChanged, Scope, SubjectId, TenantId
from events.postgres import Database
from services.governance.policy import Policy

STREAM: Final = "system/policy"
SYSTEM: Final = Scope(tenant_id=TenantId(UUID(int=0)), subject_id=SubjectId(UUID(int=0)))
"""The scope of what belongs to no tenant."""


async def announce(events: EventLog, projector: Database, policy: Policy, actor: str) -> bool:
    """Append `policy_changed` unless this policy was the last one announced; say whether it was appended.

    Two processes that start at once append one: the second finds the stream moved on.
    """
    async with projector.connection() as connection:
        last = await read_last(connection, SYSTEM, STREAM)
    if last is not None and isinstance(last.event, PolicyChanged) and last.event.digest == policy.digest:
        return False
    changed = NewEvent(PolicyChanged(digest=policy.digest, policy=policy.canonical), datetime.now(UTC))
    expected = 0 if last is None else last.version
    try:
        await events.append(Command(CommandId(uuid4()), SYSTEM, STREAM, expected, actor, (changed,)))
    except ConcurrencyError:
        return False
    return True
