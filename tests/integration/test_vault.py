"""The vault: stable aliases, keys that open for one person only, and what a missing key means (R4)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from structlog.testing import capture_logs

from events.bodies import Lost, Opened, Shredded, Tampered, open_bodies
from events.envelope import Command, DataKey, NewEvent, Part, StoredEvent, memory_stream
from events.errors import CenotaphError, ScopeError, TamperError
from events.keyring import Keyring
from events.log import EventLog, read_stream
from events.model import (
    CommandId,
    KeyId,
    MemoryId,
    MessageBody,
    Reinforced,
    Scope,
    SubjectId,
    TenantId,
    Tombstoned,
    TurnId,
)
from events.postgres import Database
from events.provider import FileProvider
from events.vault import Vault
from tests.conftest import Stores

NOW = datetime(2026, 8, 1, 9, tzinfo=UTC)
OUTSIDE = ("用户-十七", "user-seventeen@example.org", "t" * 200, "句子\n带换行", "🦆")


@pytest.fixture
async def opener(stores: Stores) -> AsyncIterator[Vault]:
    """Open the vault with the right to read keys only."""
    database = Database(stores.endpoints.vault_url, "vault_opener")
    yield Vault(database, stores.provider)
    await database.close()


def sibling(scope: Scope) -> Scope:
    return Scope(tenant_id=scope.tenant_id, subject_id=SubjectId(uuid4()))


async def test_aliases_are_stable_under_concurrency(stores: Stores, scope: Scope) -> None:
    """Twenty requests meet the same new outside ids at once: each id gets one internal id."""
    keyrings = await asyncio.gather(*(stores.vault.keyring(scope) for _ in range(20)))
    names = [("turn", outside) for outside in OUTSIDE]
    answers = await asyncio.gather(
        *(keyring.intern(names[n % 3 :] + names[: n % 3]) for n, keyring in enumerate(keyrings))
    )
    assert all(answer == answers[0] for answer in answers)
    assert len(set(answers[0].values())) == len(OUTSIDE)
    assert await keyrings[3].outside(answers[0].values()) == {answers[0][name]: name[1] for name in names}
    assert await keyrings[4].find(names[0]) == answers[0][names[0]]
    assert await keyrings[4].find(("turn", "never seen")) is None


async def test_requests_that_name_the_same_ids_in_another_order_do_not_lock_each_other_out(
    stores: Stores, scope: Scope
) -> None:
    """Batches of new outside ids, each asked for from both ends at once, are all answered alike."""
    keyrings = await asyncio.gather(*(stores.vault.keyring(scope) for _ in range(20)))
    for batch in range(6):
        names = [("turn", f"{batch}-{n}") for n in range(500)]
        answers = await asyncio.gather(
            *(keyring.intern(names[:: 1 - 2 * (n % 2)]) for n, keyring in enumerate(keyrings))
        )
        assert all(answer == answers[0] for answer in answers)


async def test_subjects_are_stable_under_concurrency(stores: Stores, scope: Scope) -> None:
    """A person's outside id leads to one internal id, however many ask for it first."""
    found = await asyncio.gather(*(stores.vault.subject(scope.tenant_id, "沈-17") for _ in range(20)))
    assert len(set(found)) == 1


async def test_aliases_are_apart(stores: Stores, scope: Scope) -> None:
    """The same outside id is another one for another tenant, another person and another kind."""
    other = await stores.vault.create_tenant()
    rings = [
        await stores.vault.keyring(each)
        for each in (scope, sibling(scope), Scope(tenant_id=other, subject_id=scope.subject_id))
    ]
    found = [internal for ring in rings for internal in (await ring.intern([("turn", "a"), ("session", "a")])).values()]
    assert len(set(found)) == len(found) == 6
    subjects = {await stores.vault.subject(tenant, "a") for tenant in (scope.tenant_id, other)}
    assert len(subjects) == 2
    assert await rings[1].outside(found[:2]) == {}


async def test_one_outside_id_twice_in_a_request(stores: Stores, scope: Scope) -> None:
    """A name that is asked for twice at once is one name."""
    ring = await stores.vault.keyring(scope)
    assert len(await ring.intern([("turn", "x"), ("turn", "x")])) == 1
    assert await ring.intern([]) == {}


async def test_one_persons_keys_do_not_open_under_another(stores: Stores, scope: Scope) -> None:
    """Asked for through another person's keyring a key is not there, and a row moved by hand does not decrypt."""
    mine, theirs = await stores.vault.keyring(scope), await stores.vault.keyring(sibling(scope))
    (key,) = await mine.lease(1)
    assert await mine.load([key.key_id]) == {key.key_id: key.secret}
    assert await theirs.load([key.key_id]) == {}
    owner = Database(stores.endpoints.vault_url, None)
    async with owner.connection() as connection:
        await connection.execute(
            "update vault.data_key set subject_id = $1 where key_id = $2", theirs.scope.subject_id, key.key_id
        )
    await owner.close()
    with pytest.raises(TamperError):
        await theirs.load([key.key_id])


async def test_digests_and_secrets_differ_between_people(stores: Stores, scope: Scope) -> None:
    """A keyed digest is stable for one person and purpose, and tells nothing about another's."""
    mine, again = await stores.vault.keyring(scope), await stores.vault.keyring(scope)
    theirs = await stores.vault.keyring(sibling(scope))
    assert mine.digest("tag", "diet.likes") == again.digest("tag", "diet.likes")
    assert len({ring.digest(purpose, "x") for ring in (mine, theirs) for purpose in ("tag", "terms")}) == 4
    assert mine.secret("terms") == again.secret("terms") != theirs.secret("terms")


async def test_people_made_at_once_have_one_key(stores: Stores, scope: Scope) -> None:
    """Twenty processes make a person's keys at once: all hold the same, and read what each of them wrote."""
    rings = await asyncio.gather(*(stores.vault.keyring(scope) for _ in range(20)))
    keys = [key for ring in rings for key in await ring.lease(1)]
    assert await rings[0].load(key.key_id for key in keys) == {key.key_id: key.secret for key in keys}


async def test_destroying_is_idempotent_and_reaches_one_person(stores: Stores, scope: Scope) -> None:
    """Destroying twice is destroying once; with a wrong scope nothing goes."""
    ring = await stores.vault.keyring(scope)
    keys = {key.key_id for key in await ring.lease(5)}
    eraser = Vault(stores.eraser, stores.provider)
    assert await eraser.destroy(sibling(scope), keys) == 0
    assert await eraser.present(keys) == keys
    counts = await asyncio.gather(*(eraser.destroy(scope, keys) for _ in range(4)))
    assert sorted(counts) == [0, 0, 0, 5]
    assert await eraser.destroy(scope, keys) == 0
    assert (await eraser.present(keys), await ring.load(keys)) == (set(), {})


async def test_nothing_from_outside_stands_in_a_vault_row(stores: Stores, scope: Scope) -> None:
    """No outside id is in any column of any table of the vault, in any encoding; control: a planted one is found."""
    ring = await stores.vault.keyring(scope)
    await ring.intern([(kind, outside) for outside in OUTSIDE for kind in ("turn", "session", "message")])
    for outside in OUTSIDE:
        await stores.vault.subject(scope.tenant_id, outside)
    (key,) = await ring.lease(1)
    needles = [form for text in OUTSIDE for form in (text.encode(), text.encode().hex().encode())]
    needles += [key.secret, key.secret.hex().encode()]
    owner = Database(stores.endpoints.vault_url, None)
    async with owner.connection() as connection:
        rows = await _every_row(owner)
        assert not [needle for needle in needles for row in rows if needle in row]
        async with connection.transaction():
            await connection.execute("create table vault.planted as select $1::text as it", OUTSIDE[0])
        assert [row for row in await _every_row(owner) if OUTSIDE[0].encode() in row]
        await connection.execute("drop table vault.planted")
    await owner.close()


async def _every_row(database: Database) -> list[bytes]:
    """Read every row of every table of the vault as text, and every bytea as it is."""
    found: list[bytes] = []
    async with database.connection() as reading:
        for table in await reading.fetch("select tablename from pg_tables where schemaname = 'vault'"):
            for row in await reading.fetch(f"select t.* from vault.{table['tablename']} t"):  # noqa: S608 - names of ours
                found += [value if isinstance(value, bytes) else str(value).encode() for value in row.values()]
    assert found
    return found


async def test_an_opener_makes_nothing(stores: Stores, opener: Vault, scope: Scope) -> None:
    """A process that may only open keys opens a known person's, and cannot make or destroy any."""
    ring = await stores.vault.keyring(scope)
    (key,) = await ring.lease(1)
    opened = await opener.keyring(scope)
    assert await opened.load([key.key_id]) == {key.key_id: key.secret}
    for refused in (opened.lease(1), opened.intern([("turn", "new")]), opener.destroy(scope, [key.key_id])):
        with pytest.raises(Exception, match="permission denied"):
            await refused


async def test_a_stranger_is_a_scope_error(stores: Stores, opener: Vault, scope: Scope) -> None:
    """A tenant that does not exist is refused; so is a person where this process may not make one."""
    nobody = Scope(tenant_id=TenantId(uuid4()), subject_id=scope.subject_id)
    with pytest.raises(ScopeError):
        await stores.vault.keyring(nobody)
    with pytest.raises(ScopeError):
        await stores.vault.subject(nobody.tenant_id, "x")
    with pytest.raises(ScopeError):
        await opener.keyring(scope)


async def test_an_epoch_without_its_key_says_what_to_do(stores: Stores, scope: Scope) -> None:
    """Where the provider's folder is missing, the error names the epoch and the way out."""
    await stores.vault.keyring(scope)
    with pytest.raises(CenotaphError, match="restore the key folder"):
        await Vault(stores.keeper, FileProvider(stores.keys / "elsewhere")).keyring(scope)


# ── what a missing key or body means ─────────────────────────────────────────────────────────────────────────────────


async def _kept(stores: Stores, log: EventLog, scope: Scope) -> tuple[Keyring, DataKey, StoredEvent]:
    ring = await stores.vault.keyring(scope)
    (key,) = await ring.lease(1)
    event = Reinforced(candidate_id=MemoryId(uuid4()), memory_id=MemoryId(uuid4()), version=1, turn_id=TurnId(uuid4()))
    new = NewEvent(event, NOW, (Part("memory", MessageBody(content="喜欢北京烤鸭"), key),))
    await log.append(Command(CommandId(uuid4()), scope, memory_stream(scope.subject_id), 0, "worker:test", (new,)))
    async with stores.reader.transaction(scope) as connection:
        (stored,) = await read_stream(connection, scope, memory_stream(scope.subject_id))
    return ring, key, stored


async def _fence(log: EventLog, scope: Scope, *keys: KeyId) -> None:
    stone = Tombstoned(memories=(), messages=(), keys=keys)
    new = (NewEvent(stone, NOW),)
    await log.append(Command(CommandId(uuid4()), scope, memory_stream(scope.subject_id), None, "worker:test", new))


async def _open(stores: Stores, ring: Keyring, stored: StoredEvent) -> Opened:
    async with stores.reader.transaction(ring.scope) as connection:
        return (await open_bodies(connection, ring, [(stored, "memory")]))[stored.event_id, "memory"]


async def _remove_body(stores: Stores, event: UUID) -> None:
    """Take a body away behind the log's back, as only a superuser can."""
    async with stores.owner.transaction() as connection:
        await connection.execute("set local session_replication_role = replica")
        await connection.execute("delete from log.body where event_id = $1", event)


async def test_a_key_that_is_missing_without_a_stone_is_an_incident(
    stores: Stores, log: EventLog, scope: Scope
) -> None:
    """Nothing in the log says that the key was destroyed: it is lost, loudly, and never passes for forgotten."""
    ring, key, stored = await _kept(stores, log, scope)
    await Vault(stores.eraser, stores.provider).destroy(scope, [key.key_id])
    with capture_logs() as logs:
        assert await _open(stores, ring, stored) == Lost(key.key_id)
    assert [(line["event"], line["key_id"], line["log_level"]) for line in logs] == [
        ("key_lost", str(key.key_id), "error")
    ]
    assert "烤鸭" not in str(logs)


async def test_a_fenced_key_is_shredded_whether_it_is_still_there_or_not(
    stores: Stores, log: EventLog, scope: Scope
) -> None:
    """From the tombstone on the body reads as shredded: before the key goes, after it, and without the body."""
    ring, key, stored = await _kept(stores, log, scope)
    assert isinstance(await _open(stores, ring, stored), bytes)
    await _fence(log, scope, key.key_id)
    with capture_logs() as logs:
        assert await _open(stores, ring, stored) == Shredded(key.key_id)
        await Vault(stores.eraser, stores.provider).destroy(scope, [key.key_id])
        assert await _open(stores, ring, stored) == Shredded(key.key_id)
        await _remove_body(stores, stored.event_id)
        assert await _open(stores, ring, stored) == Shredded(key.key_id)
    assert logs == []


async def test_a_body_that_is_missing_without_a_stone_is_tampering(stores: Stores, log: EventLog, scope: Scope) -> None:
    """The key lives and no tombstone names it: somebody took the body away, which is an incident and no stone."""
    ring, key, stored = await _kept(stores, log, scope)
    await _remove_body(stores, stored.event_id)
    await _tampered(stores, ring, stored, key.key_id)


async def test_a_fence_of_another_person_does_not_shred(stores: Stores, log: EventLog, scope: Scope) -> None:
    """A tombstone in another tenant that names this key leaves the body readable."""
    ring, key, stored = await _kept(stores, log, scope)
    other = Scope(tenant_id=await stores.vault.create_tenant(), subject_id=SubjectId(uuid4()))
    await _fence(log, other, key.key_id)
    assert isinstance(await _open(stores, ring, stored), bytes)


async def test_a_changed_body_is_tampering(stores: Stores, log: EventLog, scope: Scope) -> None:
    """One flipped byte of a stored ciphertext is found when it is opened, and is an incident."""
    ring, key, stored = await _kept(stores, log, scope)
    async with stores.owner.transaction() as connection:
        await connection.execute("set local session_replication_role = replica")
        await connection.execute(
            "update log.body set ciphertext = set_byte(ciphertext, 20, get_byte(ciphertext, 20) # 1)"
            " where event_id = $1",
            stored.event_id,
        )
    await _tampered(stores, ring, stored, key.key_id)


async def _tampered(stores: Stores, ring: Keyring, stored: StoredEvent, key: KeyId) -> None:
    with capture_logs() as logs:
        assert await _open(stores, ring, stored) == Tampered(key)
    assert [(each["event"], each["event_id"], each["log_level"]) for each in logs] == [
        ("body_tampered", str(stored.event_id), "error")
    ]
    assert "烤鸭" not in str(logs)
