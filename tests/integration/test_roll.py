"""Rolling keys: copies taken before open nothing that was forgotten, and nobody else loses anything (R4, R42, R44)."""

import asyncio
import gc
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from events.envelope import DataKey
from events.errors import EpochGoneError, SecretError, TamperError
from events.keyring import Keyring
from events.model import Scope
from events.rewrap import Counts
from events.schedule import Schedule
from tests.dice import dice
from tests.vaults import Keys, ids, keys_at, living, loot, served, table_copy, vaulted
from workers.roll import roll


@pytest.fixture(scope="module")
async def keys(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Keys]:
    """Run a vault of our own: a roll touches everything in it."""
    async with vaulted(tmp_path_factory.mktemp("vault")) as keys:
        yield keys


async def rolled(keys: Keys) -> Counts:
    counts = await keys.roller.roll()
    assert counts is not None
    return counts


# ── keys_die_by ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_copy_of_the_cluster_opens_nothing_forgotten_after_a_roll(tmp_path: Path) -> None:
    """Data directory and WAL copied before the forget: until the roll they open it, after it no living key does."""
    data, stolen = tmp_path / "live", tmp_path / "copy"
    async with vaulted(data) as keys:
        scope = await keys.person()
        neighbour = await keys.person(scope.tenant_id)
        (forgotten, kept), theirs = await keys.lease(scope, 2), await keys.lease(neighbour, 2)
    stolen.mkdir(mode=0o700)
    shutil.copytree(data / "vault", stolen / "vault", symlinks=True)  # with pg_wal; the key folder lies elsewhere
    _own_like(data / "vault", stolen / "vault")
    assert any((stolen / "vault" / "pg_wal").iterdir())
    assert not list(stolen.rglob("epoch-*.key"))

    async with vaulted(data) as keys:
        await keys.destroy(scope, forgotten)
        with served(stolen) as url:
            copy = keys_at(url, keys.folder)
            assert await copy.opens(scope, [forgotten, kept]), "control: with today's provider the copy opens it"
            await copy.close()
        await rolled(keys)
        assert await keys.opens(scope, [kept])
        assert await keys.opens(neighbour, theirs)
        with served(stolen) as url:
            copy = keys_at(url, keys.folder)
            with pytest.raises(EpochGoneError):
                await copy.vault.keyring(scope)
            out = loot(await table_copy(copy), await living(keys))
            await copy.close()
        assert forgotten.key_id not in out
        assert out.keys() <= ids([kept, *theirs])


async def test_copies_at_any_time_open_nothing_forgotten(keys: Keys) -> None:
    """Whatever was copied, whenever: with every key that lives tonight, nothing forgotten comes out of it."""
    random = dice(11)
    people = [await keys.person() for _ in range(2)]
    people += [await keys.person(people[0].tenant_id) for _ in range(3)]
    alive: dict[Scope, list[DataKey]] = {scope: await keys.lease(scope, 3) for scope in people}
    gone: list[DataKey] = []
    copies = []
    for _ in range(5):
        for scope in random.sample(people, 2):
            copies.append(await table_copy(keys))
            alive[scope] += await keys.lease(scope, 1)
            victim = alive[scope].pop(random.randrange(len(alive[scope])))
            copies.append(await table_copy(keys))
            await keys.destroy(scope, victim)
            gone.append(victim)
        now = await living(keys)
        assert ids(gone[-2:]) <= {key for copy in copies for key in loot(copy, now)}, "control: until the roll they do"
        await rolled(keys)
        now = await living(keys)
        for copy in copies:
            assert not ids(gone) & loot(copy, now).keys()
        for scope in people:
            assert await keys.opens(scope, alive[scope])


@pytest.mark.parametrize("kept", ["person", "tenant"])
async def test_a_roll_that_keeps_one_key_would_be_found_out(keys: Keys, kept: str) -> None:
    """Control: if only the epoch changed, or all but the person's key, today's keys open the copy."""
    scope = await keys.person()
    (forgotten,) = await keys.lease(scope, 1)
    copy = await table_copy(keys)
    await keys.destroy(scope, forgotten)
    async with keys.owner.connection() as connection:
        if kept == "tenant":
            await connection.execute("delete from vault.due")
        else:  # another person of the tenant is due instead
            other = await keys.person(scope.tenant_id)
            await keys.destroy(other, *await keys.lease(other, 1))
            await connection.execute("delete from vault.due where subject_id = $1", scope.subject_id)
    await rolled(keys)
    assert forgotten.key_id in loot(copy, await living(keys))


async def test_a_person_who_is_gone_takes_the_copies_along(keys: Keys) -> None:
    """When the last row of a person's key is deleted, the tenant's key changes; later rolls leave it alone."""
    scope = await keys.person()
    leased = await keys.lease(scope, 2)
    copy = await table_copy(keys)
    async with keys.owner.transaction() as connection:
        for table in ("data_key", "person"):
            await connection.execute(f"delete from vault.{table} where subject_id = $1", scope.subject_id)  # noqa: S608 - ours
    assert (await rolled(keys)).new_tenant_keys == 1
    assert not ids(leased) & loot(copy, await living(keys)).keys()
    assert (await rolled(keys)).new_tenant_keys == 0


# ── only what changed, and nothing lost ──────────────────────────────────────────────────────────────────────────────


async def test_a_roll_does_what_is_needed_and_no_more(keys: Keys) -> None:
    """Who forgot gets a new key; the tenant's others are rewrapped; other tenants change their epoch only."""
    await rolled(keys)
    quiet, scope = await keys.person(), await keys.person()
    others = [await keys.person(scope.tenant_id) for _ in range(3)]
    for person in (quiet, *others):
        await keys.lease(person, 2)
    first, *rest = await keys.lease(scope, 5)
    tenants = len({row["tenant_id"] for row in await keys.rows("tenant")})
    before = {row["key_id"]: row["wrapped"] for row in await keys.rows("data_key")}
    await keys.destroy(scope, first)
    assert await rolled(keys) == Counts(
        tenants=tenants, new_tenant_keys=1, people=4, new_person_keys=1, data_keys=4, epochs_destroyed=1
    )
    after = {row["key_id"]: row["wrapped"] for row in await keys.rows("data_key")}
    assert {key for key, wrapped in after.items() if before[key] != wrapped} == ids(rest)
    assert await rolled(keys) == Counts(tenants=tenants, epochs_destroyed=1)
    assert await keys.rows("due") == []
    assert len(await keys.rows("epoch")) == len(list(keys.folder.glob("epoch-*.key"))) == 1


async def test_memory_survives_any_number_of_rolls(keys: Keys) -> None:
    """Twenty rolls on, a person who forgot every night and one who never did open what is left; outside ids hold."""
    restless = await keys.person()
    calm = await keys.person(restless.tenant_id)
    kept, theirs = await keys.lease(restless, 3), await keys.lease(calm, 3)
    names = await (await keys.vault.keyring(calm)).intern([("turn", "第一回 t-1")])
    outside = await keys.vault.subject(calm.tenant_id, "沈")
    terms = (await keys.vault.keyring(restless)).secret("terms")
    for _ in range(20):
        await keys.destroy(restless, *await keys.lease(restless, 1))
        await rolled(keys)
    assert await keys.opens(restless, kept)
    assert await keys.opens(calm, theirs)
    ring = await keys.vault.keyring(calm)
    assert await ring.outside(names.values()) == {internal: name[1] for name, internal in names.items()}
    assert await keys.vault.subject(calm.tenant_id, "沈") == outside
    assert (await keys.vault.keyring(restless)).secret("terms") == terms


async def test_a_keyring_from_before_a_roll_still_opens_and_leases(keys: Keys) -> None:
    """A request that began before two rolls reads the changed key again; what it leases can be opened."""
    scope = await keys.person()
    ring = await keys.vault.keyring(scope)
    first, second, third = await ring.lease(3)
    for victim in (first, second):
        await keys.destroy(scope, victim)
        await rolled(keys)
    assert await ring.load([third.key_id]) == {third.key_id: third.secret}
    assert await keys.opens(scope, [third, *await ring.lease(2)])
    assert await keys.opens(scope, await ring.lease(1))


async def test_what_a_process_kept_wrapped_is_no_use_after_a_roll_and_no_harm(keys: Keys) -> None:
    """A process that leased ahead before a roll reads the key again; all it leased, before and after, opens."""
    scope, vault = await keys.person(), keys.vault

    async def lease() -> list[DataKey]:
        return await (await vault.keyring(scope)).lease(1)

    leased = [key for _ in range(12) for key in await lease()]
    assert len(await keys.rows("data_key")) > len(leased), "it leased ahead"
    victim, *leased = leased
    copy = await table_copy(keys)
    copied = {row["key_id"] for row in copy["data_key"] if row["subject_id"] == scope.subject_id}
    await keys.destroy(scope, victim)
    await rolled(keys)
    leased += [key for _ in range(9) for key in await lease()]
    assert await keys.opens(scope, leased)
    assert await (await vault.keyring(scope)).load(ids(leased)) == {key.key_id: key.secret for key in leased}
    assert not copied & loot(copy, await living(keys)).keys(), "all that the process kept is in this copy"


async def test_a_roll_beside_everything_else(keys: Keys) -> None:
    """While keys roll ten times, people are made, lease, open and forget: no error, nothing lost, nothing left over."""
    tenant = await keys.vault.create_tenant()
    stop = asyncio.Event()
    random = dice(5)

    async def live(random: Random) -> tuple[Scope, list[DataKey], int]:
        scope = await keys.person(tenant)
        ring = await keys.vault.keyring(scope)
        kept: list[DataKey] = []
        gone = 0
        while not stop.is_set():
            if random.random() < 0.3:
                ring = await keys.vault.keyring(scope)
            kept += await ring.lease(random.randrange(1, 6))
            assert await ring.load(ids(kept)) == {key.key_id: key.secret for key in kept}
            victims = [kept.pop(random.randrange(len(kept))) for _ in range(random.randrange(len(kept)))]
            await keys.destroy(scope, *victims)
            gone += len(victims)
            if random.random() < 0.1:
                await keys.vault.create_tenant()
        return scope, kept, gone

    async def roll_often() -> None:
        for _ in range(10):
            await rolled(keys)
        stop.set()

    with capture_logs() as logs:
        *lives, _ = await asyncio.gather(*(live(dice(random.randrange(1000))) for _ in range(6)), roll_often())
    await rolled(keys)
    for scope, kept, gone in lives:  # type: ignore[misc]
        assert await keys.opens(scope, kept)
        assert gone
    assert [line for line in logs if line["log_level"] != "info"] == []
    assert len(await keys.rows("epoch")) == 1


async def test_of_two_rollers_one_rolls(keys: Keys) -> None:
    """Rollers that start together do not meet: one works, the others say so and change nothing."""
    other = keys_at(keys.url, keys.folder)
    answers = await asyncio.gather(*(roller.roll() for roller in (keys.roller, other.roller, keys.roller)))
    assert any(answer is not None for answer in answers)
    await other.close()
    assert not (await keys.roller.state()).interrupted


async def test_a_roll_that_is_not_due_does_nothing(keys: Keys) -> None:
    """With epochs born after the time at which keys were to roll, nothing happens; with older ones a roll does."""
    await rolled(keys)
    oldest = (await keys.roller.state()).oldest
    assert oldest is not None
    assert await keys.roller.roll(oldest) == Counts()
    assert await keys.roller.roll(oldest + timedelta(microseconds=1)) != Counts()


# ── trouble ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_roll_without_the_key_folder_changes_nothing(keys: Keys, tmp_path: Path) -> None:
    """A missing file, an open mode, a short file, a folder elsewhere: a clear error, no new epoch, nothing lost."""
    scope = await keys.person()
    kept, victim = await keys.lease(scope, 2)
    await keys.destroy(scope, victim)
    (path,) = keys.folder.glob("epoch-*.key")
    content, before = path.read_bytes(), await table_copy(keys)

    async def refused(said: str, other: Path = keys.folder) -> None:
        elsewhere = keys_at(keys.url, other)
        with pytest.raises(SecretError, match=said):
            await elsewhere.roller.roll()
        await elsewhere.close()

    await refused("restore the key folder", tmp_path / "nowhere")
    path.chmod(0o644)
    await refused("chmod 600")
    path.chmod(0o600)
    path.write_bytes(content[:31])
    await refused("does not hold 32 bytes")
    path.unlink()
    await refused("restore the key folder")
    path.mkdir()
    await refused("cannot be read")
    path.rmdir()
    assert await table_copy(keys) == before
    assert len(await keys.rows("epoch")) == 1
    path.write_bytes(content)
    path.chmod(0o600)
    await rolled(keys)
    assert await keys.opens(scope, [kept])


async def test_another_secret_under_the_epochs_name_destroys_nothing(keys: Keys) -> None:
    """A file that holds other bytes opens no tenant: the roll stops, and goes on once the right one is back."""
    scope = await keys.person()
    kept = await keys.lease(scope, 1)
    (path,) = keys.folder.glob("epoch-*.key")
    content = path.read_bytes()
    path.write_bytes(bytes(31) + b"x")
    with pytest.raises(TamperError):
        await keys.roller.roll()
    assert (await keys.roller.state()).interrupted
    path.write_bytes(content)
    await rolled(keys)
    assert await keys.opens(scope, kept)


async def test_keys_that_were_unreadable_hold_up_nobody(keys: Keys) -> None:
    """Wrapped bytes that were damaged stay damaged and are reported; the roll ends and the others open."""
    scope = await keys.person()
    broken, victim, kept = await keys.lease(scope, 3)
    lost = await keys.person(scope.tenant_id)
    await keys.destroy(lost, *await keys.lease(lost, 1))
    async with keys.owner.connection() as connection:
        damage = "wrapped = substr(wrapped, 1, 20) || '\\x00'::bytea"
        await connection.execute(f"update vault.data_key set {damage} where key_id = $1", broken.key_id)  # noqa: S608 - ours
        await connection.execute(f"update vault.person set {damage} where subject_id = $1", lost.subject_id)  # noqa: S608 - ours
    await keys.destroy(scope, victim)
    with capture_logs() as logs:
        assert (await rolled(keys)).unreadable == 2
    assert [(line["event"], line["count"]) for line in logs if line["log_level"] == "error"] == [
        ("wrapped_keys_unreadable", 2)
    ]
    ring = await keys.vault.keyring(scope)
    assert await ring.load([kept.key_id]) == {kept.key_id: kept.secret}
    with pytest.raises(TamperError):
        await ring.load([broken.key_id])


async def test_the_state_names_what_is_wrong(keys: Keys) -> None:
    """Who waits is counted; a secret that should be with the provider and one of another vault are named."""
    await rolled(keys)
    scope = await keys.person()
    await keys.destroy(scope, *await keys.lease(scope, 2))
    stranger = UUID(int=7)
    await keys.provider.new_epoch(stranger)
    state = await keys.roller.state()
    assert (state.due, state.interrupted, state.missing, state.unknown) == (
        1,
        False,
        frozenset(),
        frozenset({stranger}),
    )
    await rolled(keys)
    assert stranger in await keys.provider.list_epochs(), "the epoch of another vault is left alone"
    await keys.provider.destroy_epoch(stranger)
    elsewhere = keys_at(keys.url, keys.folder / "elsewhere")
    assert len((await elsewhere.roller.state()).missing) == 1
    await elsewhere.close()


async def test_the_worker_rolls_what_was_missed_and_says_what_stops_it(keys: Keys) -> None:
    """A worker that starts after a missed time rolls at once; without the key file it says so and changes nothing."""
    await keys.vault.create_tenant()
    state = await keys.roller.state()
    assert state.oldest is not None
    minute = datetime.now(UTC) + timedelta(minutes=1)  # yesterday's time is long past, today's is to come
    nightly = Schedule(minute.time().replace(second=0, microsecond=0), timedelta(days=1))
    async with keys.owner.connection() as connection:
        await connection.execute("update vault.epoch set created_at = created_at - interval '2 days'")
    (path,) = keys.folder.glob("epoch-*.key")
    hidden = path.rename(path.with_suffix(".away"))
    with capture_logs() as logs:
        async with running(keys, nightly):
            await until(lambda: bool(logs))
        assert {line["event"] for line in logs} == {"keys_not_rolled"}
        assert "restore the key folder" in logs[0]["reason"]
        hidden.rename(path)
        async with running(keys, nightly):
            await until(lambda: logs[-1]["event"] == "keys_rolled")
    assert not path.exists()
    newer = await keys.roller.state()
    assert newer.oldest is not None
    assert newer.oldest >= nightly.latest(datetime.now(UTC))


@asynccontextmanager
async def running(keys: Keys, schedule: Schedule) -> AsyncIterator[None]:
    task = asyncio.create_task(roll(keys.roller, schedule))
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def until(seen: Callable[[], bool]) -> None:
    async with asyncio.timeout(90):
        while not seen():  # noqa: ASYNC110 - another task's doing
            await asyncio.sleep(0.01)


async def test_no_key_outlives_its_request(keys: Keys) -> None:
    """When a request is over nothing in the process holds its keyring."""
    gc.collect()
    before = {id(each) for each in gc.get_objects() if isinstance(each, Keyring)}
    vault = keys.vault
    scope = await keys.person()
    leased = await (await vault.keyring(scope)).lease(3)
    assert await keys.opens(scope, leased)
    await rolled(keys)
    gc.collect()
    assert [each for each in gc.get_objects() if isinstance(each, Keyring) and id(each) not in before] == []


def _own_like(original: Path, copy: Path) -> None:
    """Give a copied cluster to whom the original belongs, where this user may."""
    for path in (copy, *copy.rglob("*")):
        found = (original / path.relative_to(copy)).lstat()
        with suppress(PermissionError):
            os.chown(path, found.st_uid, found.st_gid, follow_symlinks=False)
