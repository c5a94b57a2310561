"""Replaying the log for one tenant: order, walls, stones, and what was tampered with."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from events.errors import BadInputError
from events.log import EventLog, head
from events.model import Position, TenantId
from events.postgres import Database
from events.sealer import Sealer
from events.vault import Vault
from services.replay.asof import History
from services.replay.journal import Entry, Journal, Window
from services.replay.state import Moment
from tests.conftest import Stores
from tests.dice import dice
from tests.replay.histories import Person, born


@dataclass(frozen=True)
class Lab:
    """Two people of one tenant and one of another, sealed, and what reads them."""

    journal: Journal
    history: History
    one: Person
    two: Person
    stranger: Person
    first: Position

    async def entries(self, tenant: TenantId, **window: object) -> list[Entry]:
        """Replay a tenant from where these people begin."""
        asked = Window(**({"first": self.first} | window))  # type: ignore[arg-type] # fields of Window
        return [entry async for _, entries in self.journal.replay(tenant, asked) for entry in entries]


@pytest.fixture
async def lab(stores: Stores, log: EventLog) -> AsyncIterator[Lab]:
    """Let them live."""
    random = dice(17)
    while await Sealer(stores.sealer).seal():
        pass
    async with stores.projector.connection() as connection:
        first = Position(await head(connection) + 1)
    one = await born(stores, log, random)
    two, stranger = await born(stores, log, random, one.scope.tenant_id), await born(stores, log, random)
    for _ in range(3):
        for person in (one, two, stranger):
            await person.live(3)
    while await Sealer(stores.sealer).seal():
        pass
    prober = Database(stores.endpoints.database_url, "cenotaph_prober")
    opener = Database(stores.endpoints.vault_url, "vault_opener")
    vault = Vault(opener, stores.provider)
    yield Lab(Journal(prober, stores.reader, vault), History(stores.reader, vault), one, two, stranger, first)
    await prober.close()
    await opener.close()


async def test_a_tenant_sees_its_own_events_in_order_and_no_others(lab: Lab) -> None:
    """Every event of the tenant once, by position; none of another tenant; one person's, one type's where asked."""
    tenant, other = lab.one.scope.tenant_id, lab.stranger.scope.tenant_id
    mine, theirs = await lab.entries(tenant), await lab.entries(other)
    positions = [entry.event.position or 0 for entry in mine]
    assert positions == sorted(set(positions))
    assert {entry.event.scope for entry in mine} == {lab.one.scope, lab.two.scope}
    assert {entry.event.scope for entry in theirs} == {lab.stranger.scope}
    together = sorted(positions + [entry.event.position or 0 for entry in theirs])
    assert together == list(range(lab.first, lab.first + len(together)))
    assert await lab.entries(tenant, subject=lab.two.scope.subject_id) == [
        entry for entry in mine if entry.event.scope == lab.two.scope
    ]
    assert await lab.entries(tenant, subject=lab.stranger.scope.subject_id) == []
    assert await lab.entries(tenant, kind="turn_finalized") == [
        entry for entry in mine if entry.event.type == "turn_finalized"
    ]
    a, b = Position(positions[3]), Position(positions[6])
    assert await lab.entries(tenant, first=a, last=b) == mine[3:7]


async def test_bodies_open_and_what_was_forgotten_is_a_stone(lab: Lab, stores: Stores) -> None:
    """Words are shown until a tombstone names them, whether their keys and bodies are still there or not."""
    tenant = lab.one.scope.tenant_id
    before = await lab.entries(tenant, subject=lab.one.scope.subject_id)
    spoken = [part for entry in before for part in entry.parts if part.state == "open"]
    words = {part.body["content"] for part in spoken if part.body is not None and "content" in part.body}
    assert words >= {"我喜欢北京烤鸭 / duck", "对花生过敏，喜欢烤鸭 / likes duck"}
    turn = next(turn for turn in lab.one.said if f"message:{lab.one.said[turn][0]}" in {part.name for part in spoken})
    names = {f"message:{message}" for message in lab.one.said[turn]}

    async def states() -> set[str]:
        after = await lab.entries(tenant, subject=lab.one.scope.subject_id)
        told = [part for entry in after for part in entry.parts if part.name in names]
        assert len(told) == len(names)
        assert all(part.body is None for part in told)
        return {part.state for part in told}

    await lab.one.forget(turn)
    assert await states() == {"forgotten"}
    await lab.one.shred(stores)
    assert await states() == {"forgotten"}


async def test_a_fault_of_one_body_does_not_end_the_replay(lab: Lab, stores: Stores) -> None:
    """A key that is missing without a tombstone is lost, a changed body tampered with; every other body still opens."""
    tenant, subject = lab.two.scope.tenant_id, lab.two.scope.subject_id
    before = [part for entry in await lab.entries(tenant, subject=subject) for part in entry.parts]
    lost, changed = [part for part in before if part.state == "open"][:2]
    await Vault(stores.eraser, stores.provider).destroy(lab.two.scope, [lost.key_id])
    async with stores.owner.transaction() as connection:
        await connection.execute("set local session_replication_role = replica")
        await connection.execute(
            "update log.body set ciphertext = set_byte(ciphertext, 20, get_byte(ciphertext, 20) # 1) where key_id = $1",
            changed.key_id,
        )
    after = [part for entry in await lab.entries(tenant, subject=subject) for part in entry.parts]
    states = {part.name: part.state for part in after if part.key_id in {lost.key_id, changed.key_id}}
    assert (states[lost.name], states[changed.name]) == ("lost", "tampered")
    others = {lost.key_id, changed.key_id}
    assert [part for part in after if part.key_id not in others] == [
        part for part in before if part.key_id not in others
    ]


@pytest.mark.parametrize(("first", "last", "words"), [(5, 2, "lies behind"), (10**9, None, "the log ends at position")])
async def test_positions_that_are_none_are_refused(lab: Lab, first: int, last: int | None, words: str) -> None:
    """A window the wrong way round or beyond the end is an error that says where the log ends."""
    with pytest.raises(BadInputError, match=words):
        await lab.entries(lab.one.scope.tenant_id, first=Position(first), last=None if last is None else Position(last))


async def test_a_state_is_what_was_current_under_todays_fence(lab: Lab, stores: Stores) -> None:
    """As of a position: each memory that was current or held then, as a stone where it is fenced now."""
    (turn, *_) = lab.one.said
    await lab.one.accept(turn)
    kept = set(lab.one.living) | set(lab.one.held)
    while await Sealer(stores.sealer).seal():
        pass
    async with stores.projector.connection() as connection:
        then = await head(connection)
    assert {each.fact.memory_id for each in await lab.history.at(lab.one.scope, Moment(position=then))} == kept
    await lab.one.forget(turn)
    gone = kept - set(lab.one.living) - set(lab.one.held)
    as_of = await lab.history.at(lab.one.scope, Moment(position=then))
    assert {each.fact.memory_id for each in as_of} == kept
    assert {each.fact.memory_id for each in as_of if each.today == "forgotten"} == gone
    assert {each.fact.memory_id for each in await lab.history.at(lab.one.scope, Moment())} == kept - gone
    with pytest.raises(BadInputError, match="the log ends at position"):
        await lab.history.at(lab.one.scope, Moment(position=Position(10**9)))
