from typing import ClassVar
from uuid import uuid4

import pytest

from events import envelope
from events.envelope import Command, NewEvent, memory_stream
from events.errors import UnknownEventError
from events.lift import STEPS, Step, Vocabulary
from events.log import EventLog
from events.model import EVENT_TYPES, CommandId, Event, Position
from events.sealer import Sealer
from events.vault import Vault
from projections.facts import Facts, newer_events
from projections.follower import Follower, position_of
from projections.index import IndexReader
from projections.keywords import Keywords
from projections.model import Projection
from projections.sessions import Sessions
from projections.unreadable import Skipped, skipped
from tests.conftest import Stores
from tests.dice import dice
from tests.replay.histories import NOW, Person, born


class Dreamt(Event):
    """What a later cenotaph may write."""

    type = "dreamt"
    schema_version: ClassVar[int] = 3


DREAMS = {("dreamt", version): Step() for version in (1, 2)}


def models(stores: Stores) -> list[Projection]:
    index = IndexReader(Vault(stores.keeper, stores.provider))
    return [Facts(index), Keywords(index), Sessions()]


async def dreaming(stores: Stores) -> Person:
    """Let a person live, dream twice, and live on; seal it all."""
    log = EventLog(stores.appender)
    person = await born(stores, log, dice(5))
    await person.live(3)
    for _ in range(2):
        stream, dream = memory_stream(person.scope.subject_id), NewEvent(Dreamt(), NOW)
        await log.append(Command(CommandId(uuid4()), person.scope, stream, None, "worker:test", (dream,)))
    await person.live(2)
    await log.close()
    while await Sealer(stores.sealer).seal():
        pass
    return person


async def first_dream(stores: Stores) -> Position:
    async with stores.owner.connection() as connection:
        position: Position = await connection.fetchval(
            "select min(position) from log.sealed join log.event using (seq) where type = 'dreamt'"
        )
    return position


async def test_a_live_model_passes_over_what_it_does_not_know_and_says_so(apart: Stores) -> None:
    """Every follower goes on behind an event of a newer build, and type, version, count and positions are noted."""
    await dreaming(apart)
    first = await first_dream(apart)
    for model in models(apart):
        await Follower(model, apart.projector, batch=3).catch_up()
    async with apart.owner.connection() as connection:
        assert await skipped(connection) == [
            Skipped(name, "dreamt", 3, 2, first, Position(first + 1)) for name in ("facts", "keywords", "sessions")
        ]
        assert {await position_of(connection, name) for name in ("facts", "keywords", "sessions")} == {
            await connection.fetchval("select size - 1 from log.head")
        }


async def test_reading_a_person_goes_on_too(apart: Stores) -> None:
    """Facts ⊕ newer events leaves out what the table leaves out, and still answers with the version of the stream."""
    person = await dreaming(apart)
    async with apart.reader.transaction(person.scope) as connection:
        newer, version = await newer_events(connection, person.scope)
    assert "dreamt" not in {event.type for event in newer}
    assert version == 2 + len(newer)


async def test_a_rebuild_stops_and_names_what_it_does_not_know(apart: Stores) -> None:
    """A rebuild leaves nothing out: it ends with type, version and position, and the old one goes on serving."""
    await dreaming(apart)
    first = await first_dream(apart)
    for model in models(apart):
        await Follower(model, apart.projector).catch_up()
        with pytest.raises(UnknownEventError, match=f"position {first}: unknown event dreamt v3"):
            await Follower(model, apart.owner).rebuild()
        async with apart.owner.connection() as connection:
            assert await connection.fetchval("select count(*) from read_model.skipped where name = $1", model.name)


async def test_a_rebuild_that_took_everything_in_clears_the_note(
    apart: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the build knows the type, a rebuild is whole, and nothing is said to be skipped any more."""
    await dreaming(apart)
    for model in models(apart):
        await Follower(model, apart.projector).catch_up()
    monkeypatch.setattr(envelope, "TODAY", Vocabulary([*EVENT_TYPES.values(), Dreamt], {**STEPS, **DREAMS}))
    for model in models(apart):
        await Follower(model, apart.owner).rebuild()
    async with apart.owner.connection() as connection:
        assert await skipped(connection) == []
