"""A log in a database of its own, to grow, to check, and to tamper with as a superuser who switches triggers off."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from sqlalchemy.engine import make_url

from events.checkpointer import Checkpointer
from events.envelope import Command, DataKey, NewEvent, Part, memory_stream
from events.log import append
from events.model import CommandId, Event, KeyId, MemoryId, MessageBody, Reinforced, Scope, SubjectId, TenantId, TurnId
from events.place import Folder
from events.postgres import Database
from events.sealer import Sealer
from ops.migrations import migrate

AT = datetime(2026, 8, 1, 9, tzinfo=UTC)


@dataclass
class LogLab:
    """One person's log, pools of its owner, sealer and prober, a second place and a key folder."""

    url: str
    folder: Path
    owner: Database
    sealer: Database
    prober: Database
    scope: Scope = field(default_factory=lambda: Scope(tenant_id=TenantId(uuid4()), subject_id=SubjectId(uuid4())))
    version: int = 0

    @property
    def place(self) -> Folder:
        """The second place."""
        return Folder(self.folder / "second")

    @property
    def checkpointer(self) -> Checkpointer:
        """Signs the head, as a process that has just started."""
        return Checkpointer(self.sealer, self.place, self.folder / "keys")

    async def grow(self, count: int) -> None:
        """Append and seal events that each have a body."""
        await self.add(*(reinforced() for _ in range(count)))

    async def add(self, *events: NewEvent) -> None:
        """Append and seal events of one stream."""
        command = Command(
            CommandId(uuid4()), self.scope, memory_stream(self.scope.subject_id), self.version, "worker:test", events
        )
        async with self.owner.connection() as connection:
            await append(connection, [command])
        self.version += len(events)
        while await Sealer(self.sealer, batch=7).seal():
            pass

    async def tamper(self, *statements: str) -> None:
        """Change the database behind the triggers, for good."""
        async with self.owner.transaction() as connection:
            await connection.execute("set local session_replication_role = replica")
            for statement in statements:
                await connection.execute(statement)


def reinforced() -> NewEvent:
    """Make an event with a sealed body."""
    event: Event = Reinforced(
        candidate_id=MemoryId(uuid4()), memory_id=MemoryId(uuid4()), version=1, turn_id=TurnId(uuid4())
    )
    body = MessageBody(content="喜欢北京烤鸭 likes Peking duck")
    return NewEvent(event, AT, (Part("memory", body, DataKey(KeyId(uuid4()), bytes(32))),))


@asynccontextmanager
async def lab_of(database_url: str, folder: Path) -> AsyncIterator[LogLab]:
    """Make a database with an empty log beside others, and drop it in the end."""
    name = f"lab_{uuid4().hex[:8]}"
    admin = Database(database_url, None, size=1)
    async with admin.connection() as connection:
        await connection.execute(f"create database {name}")
    url = make_url(database_url).set(database=name).render_as_string(hide_password=False)
    await migrate(url, "log")
    lab = LogLab(
        url,
        folder,
        owner=Database(url, None),
        sealer=Database(url, "cenotaph_sealer"),
        prober=Database(url, "cenotaph_prober"),
    )
    try:
        yield lab
    finally:
        await lab.owner.close()
        await lab.sealer.close()
        await lab.prober.close()
        async with admin.connection() as connection:
            await connection.execute(f"drop database {name}")
        await admin.close()
