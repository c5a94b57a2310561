# ruff: noqa: S608 - every statement here is put together from constants
"""The tamper matrix: a log against a superuser whom no trigger stops, and keys and second places that lie (R5)."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from events.envelope import NewEvent
from events.keychain import introduce
from events.merkle import Range, leaf_hash
from events.model import KeyId, MemoryId, Tombstoned
from events.note import Checkpoint, Note, NoteSigner, VerifierKey
from events.postgres import Connection
from services.audit.evidence import Source, Trust
from services.audit.reading import Copies, copies, snapshot, verify
from services.audit.report import Report
from tests.conftest import Stores
from tests.integration.loglab import AT, LogLab, lab_of
from tests.unit.events.test_note import witness

ROTATED, LAST, SIZE = 16, 30, 40
GONE, STONE = 5, 10
HIT, OTHER = 21, 25
FORGOTTEN = MemoryId(uuid4())


@pytest.fixture(scope="module")
async def lab(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LogLab]:
    """Forty events: one body forgotten, checkpoints at 11, 16 and 30, a new key from 16 on, a tail of ten."""
    async with lab_of(stores.endpoints.database_url, tmp_path_factory.mktemp("audit")) as lab:
        await lab.grow(STONE)
        async with lab.owner.connection() as connection:
            key = await connection.fetchval(f"select key_id from log.body {BODY}".replace("$1", str(GONE)))
        await lab.add(NewEvent(Tombstoned(memories=(FORGOTTEN,), messages=(), keys=(KeyId(key),)), AT))
        async with lab.owner.connection() as connection:
            stone = await connection.fetchval("select event_id from log.event where type = 'tombstoned'")
            assert await connection.fetchval("select log.remove_bodies_v1($1)", stone) == 1
        await lab.checkpointer.write()
        await lab.grow(ROTATED - STONE - 1)
        await lab.checkpointer.rotate()
        await lab.grow(LAST - ROTATED)
        await lab.checkpointer.write()
        await lab.grow(SIZE - LAST)
        yield lab


EVENT = "where seq = (select seq from log.sealed where position = $1)"
BODY = f"where event_id = (select event_id from log.event {EVENT})"
FLIP = f"update log.event set envelope = set_byte(envelope, 20, get_byte(envelope, 20) # 1) {EVENT}"
MEND = f"update log.event set leaf = sha256('\\x00'::bytea || envelope) {EVENT}"
MEND_NODE = f"update log.node set hash = (select leaf from log.event {EVENT}) where level = 0 and index = $1"
RENAME = f"update log.event set type = 'accepted' {EVENT}"
DELETE = f"delete from log.event {EVENT}"
EXCHANGE = f"update log.body set ciphertext = set_byte(ciphertext, 3, get_byte(ciphertext, 3) # 1) {BODY}"
LOSE = f"delete from log.body {BODY}"
FORGE_FENCE = (
    "insert into log.fence (tenant_id, target, subject_id, event_id) select b.tenant_id, b.key_id, b.subject_id,"
    f" (select event_id from log.event where type = 'tombstoned') from log.body b {BODY}"
)
UNFENCE = f"delete from log.fence where target = '{FORGOTTEN}'"
REHASH = "update log.node set hash = sha256('x') where level = {} and index = {}"
SWAP = (
    "update log.sealed s set seq = t.seq from log.sealed t where (s.position, t.position) in"
    f" (($1, {OTHER}), ({OTHER}, $1))"
)
UNLIMITED = (
    "alter table log.sealed drop constraint sealed_seq_key",
    "alter table log.sealed drop constraint sealed_pkey",
    "alter table log.event drop constraint event_pkey, drop constraint event_event_id_key",
    "alter table log.event drop constraint event_command_id_ordinal_key",
)
CLOSE_UP = (
    "delete from log.sealed where position = $1",
    "update log.sealed set position = position - 1 where position > $1",
)
COLUMNS = (
    "tenant_id, subject_id, stream, version, event_id, command_id, ordinal, type, schema_version, occurred_at,"
    " recorded_at, envelope, leaf"
)
COPY = f"insert into log.event ({COLUMNS}) select {COLUMNS} from log.event {EVENT}"
MAKE_ROOM = "update log.sealed set position = position + 1 where position > $1"
PLACE_COPY = "insert into log.sealed (position, seq) select $1 + 1, max(seq) from log.event"
# an envelope nobody ever sealed: the copy says to be another event
NEWEST = "where seq = (select max(seq) from log.event)"
JSON_HALF = "convert_from(substring(envelope from 1 for octet_length(envelope) - 16), 'UTF8')"
FORGED = (
    f"convert_to(replace({JSON_HALF}, 'worker:test', 'worker:evil'), 'UTF8') || int8send(version + 100)"
    " || substring(envelope from octet_length(envelope) - 7)"
)
INVENT = (
    COPY,
    f"update log.event set envelope = {FORGED}, version = version + 100 {NEWEST}",
    f"update log.event set leaf = sha256('\\x00'::bytea || envelope) {NEWEST}",
)

Hand = Callable[[Connection, LogLab], Awaitable[None]]


def sql(*statements: str) -> Hand:
    async def run(connection: Connection, _lab: LogLab) -> None:
        for statement in statements:
            await connection.execute(statement.replace("$1", str(HIT)))

    return run


async def reseal(connection: Connection, _lab: LogLab) -> None:
    """Make leaves, nodes and head anew from what is there, as somebody who owns the database can."""
    await connection.execute("update log.event set leaf = sha256('\\x00'::bytea || envelope)")
    rows = await connection.fetch("select envelope from log.sealed join log.event using (seq) order by position")
    tree, nodes = Range().extend(leaf_hash(row["envelope"]) for row in rows)
    await connection.execute("delete from log.node")
    await connection.execute(
        "insert into log.node select * from unnest($1::smallint[], $2::bigint[], $3::bytea[])",
        [node.level for node in nodes],
        [node.index for node in nodes],
        [node.hash for node in nodes],
    )
    await connection.execute(
        "update log.head set size = $1, frontier = $2, root = $3", tree.size, list(tree.frontier), tree.root
    )


async def resign(connection: Connection, lab: LogLab) -> None:
    """Sign the log as it is now with the real key in force, as an operator can."""
    private = Ed25519PrivateKey.from_private_bytes((lab.folder / "keys" / "checkpoints-1.key").read_bytes())
    await sign_all(connection, NoteSigner((await lab.checkpointer.first_key()).name, private), ROTATED)


async def sign_all(connection: Connection, signer: NoteSigner, after: int) -> None:
    rows = await connection.fetch("select envelope from log.sealed join log.event using (seq) order by position")
    leaves = [leaf_hash(row["envelope"]) for row in rows]
    for row in await connection.fetch("select size from log.checkpoint where size > $1", after):
        text = Checkpoint(signer.name, row["size"], Range().extend(leaves[: row["size"]])[0].root).text
        note = str(Note(text, (signer.sign(text),)))
        await connection.execute("update log.checkpoint set note = $2 where size = $1", row["size"], note)


async def replace_key(connection: Connection, lab: LogLab) -> None:
    """Put a key of one's own at the beginning and sign everything with it."""
    thief = NoteSigner((await lab.checkpointer.first_key()).name, Ed25519PrivateKey.generate())
    await connection.execute("delete from log.signing_key where number > 0")
    await connection.execute("update log.signing_key set note = $1", introduce(thief, 0, 0, None))
    await sign_all(connection, thief, 0)


async def scratch(connection: Connection, _lab: LogLab) -> None:
    """Change one character of the last checkpoint's root."""
    note = await connection.fetchval("select note from log.checkpoint where size = $1", LAST)
    at = note.index(f"\n{LAST}\n") + 4
    changed = note[:at] + ("B" if note[at] == "A" else "A") + note[at + 1 :]
    await connection.execute("update log.checkpoint set note = $2 where size = $1", LAST, changed)


def hands(*steps: Hand) -> Hand:
    async def run(connection: Connection, lab: LogLab) -> None:
        for step in steps:
            await step(connection, lab)

    return run


CUT = sql(
    "delete from log.event where seq in (select seq from log.sealed where position >= 28)",
    "delete from log.sealed where position >= 28",
    "delete from log.checkpoint where size > 28",
    "delete from log.body b where not exists (select from log.event e where e.event_id = b.event_id)",
)
REMOVE = sql(*UNLIMITED, LOSE, DELETE, *CLOSE_UP)


@dataclass(frozen=True)
class Case:
    """What somebody does, and what the check must name first or at least."""

    name: str
    hand: Hand
    kind: str
    position: int | None
    words: str = ""
    place: Callable[[Copies], Copies] = field(default=lambda there: there)


def without(*sizes: int) -> Callable[[Copies], Copies]:
    def leave_out(there: Copies) -> Copies:
        kept = tuple(each for each in there.checkpoints if Checkpoint.parse(Note.parse(each[1]).text).size not in sizes)
        return replace(there, checkpoints=kept)

    return leave_out


def nothing_there(_there: Copies) -> Copies:
    return Copies()


NOTHING = sql()
MATRIX = (
    Case("flipped byte", sql(FLIP), "changed", HIT, "does not hash to its leaf"),
    Case("flipped byte, leaf mended", sql(FLIP, MEND), "changed", HIT, "not the bytes that were sealed"),
    Case("flipped byte, leaf and node mended", sql(FLIP, MEND, MEND_NODE), "node", HIT - 1, "over positions 20 to 21"),
    Case("flipped byte, tree and head made anew", hands(sql(FLIP), reseal), "forked", ROTATED, "positions 16 to 29"),
    Case("removed event", sql(DELETE), "missing", HIT),
    Case("removed event, gap closed", REMOVE, "removed", HIT),
    Case("removed event, gap closed, tree made anew", hands(REMOVE, reseal), "forked", ROTATED),
    Case("inserted event", sql(*UNLIMITED, *INVENT, MAKE_ROOM, PLACE_COPY), "inserted", HIT + 1),
    Case("event behind the head", sql(*UNLIMITED, *INVENT, PLACE_COPY.replace("$1", str(SIZE - 1))), "inserted", SIZE),
    Case("swapped events", sql(*UNLIMITED, SWAP), "moved", HIT, f"was sealed at position {OTHER}"),
    Case("duplicated event", sql(*UNLIMITED, COPY, MAKE_ROOM, PLACE_COPY), "repeated", HIT + 1),
    Case("column against canonical bytes", sql(RENAME), "column", HIT, "column type"),
    Case("missing body", sql(LOSE), "body_missing", HIT, "no tombstone or expiry names its key"),
    Case("missing body, fence forged", sql(FORGE_FENCE, LOSE), "body_missing", HIT),
    Case("flipped ciphertext byte", sql(EXCHANGE), "body_changed", HIT),
    Case("fence removed", sql(UNFENCE), "fence", STONE),
    Case("event that was never sealed", sql("update log.sealed set seq = -1 where position = $1"), "missing", HIT),
    Case("truncated log, head rewritten", hands(CUT, reseal), "truncated", 28, "checkpoint of 30 events"),
    Case("fork, both heads signed", hands(sql(FLIP), reseal, resign), "forked", ROTATED, "another history"),
    Case("signing key replaced", replace_key, "key_chain", None, "was replaced"),
    Case(
        "signing key replaced in both places, first one pinned", replace_key, "key_chain", None, "pinned", nothing_there
    ),
    Case("rewritten node", sql(REHASH.format(2, 5)), "node", 20),
    Case(
        "rewritten leaf node", sql("update log.node set hash = sha256('x') where level = 0 and index = $1"), "node", 20
    ),
    Case("rewritten head", sql("update log.head set root = sha256('x')"), "head", None),
    Case("flipped byte in a checkpoint", scratch, "signature", LAST - 1, "not signed by key 1"),
    Case("checkpoint removed from the log", sql(f"delete from log.checkpoint where size = {LAST}"), "copy", LAST - 1),
    Case("checkpoint removed from the second place", NOTHING, "copy", 15, "second place lacks", without(16)),
)


async def audited(lab: LogLab, case: Case, trust: Trust | None = None) -> Report:
    """Tamper as a superuser whom no trigger stops, verify, and take the tampering back."""
    trust = trust or Trust(await lab.checkpointer.first_key())
    there = case.place(copies(lab.place))
    async with lab.owner.connection() as connection:
        await connection.execute("begin")
        try:
            await connection.execute("set local session_replication_role = replica")
            await case.hand(connection, lab)
            return await verify(connection, there, trust, batch=7)
        finally:
            await connection.execute("rollback")


def named(report: Report) -> list[tuple[str, int | None]]:
    return [(fault.kind, fault.position) for fault in report.faults]


async def test_an_untouched_log_verifies(lab: LogLab) -> None:
    """Nothing is found where nothing was done, and the report says up to where somebody else vouches for it."""
    seen: list[int] = []
    trust = Trust(await lab.checkpointer.first_key())
    async with snapshot(lab.prober) as connection:
        report = await verify(connection, copies(lab.place), trust, lambda done, _of: seen.append(done), batch=16)
    assert report.lines()[0] == f"verified {SIZE} events, {SIZE - 2} bodies; 1 are gone, fenced"
    assert report.lines()[1] == "verified to position 29 by checkpoint; 10 events since, which are the operator's word"
    assert (report.checkpoints, report.keys, report.pinned, report.unsigned) == (3, 2, True, 10)
    assert seen == [16, 32, 40]
    assert json.loads(json.dumps(report.as_json()))["ok"]


@pytest.mark.parametrize("case", MATRIX, ids=lambda case: case.name.replace(" ", "-"))
async def test_tampering_is_found_and_named(lab: LogLab, case: Case) -> None:
    """Whatever was done behind the triggers is named by its kind and position, and nothing before it is blamed."""
    report = await audited(lab, case)
    assert not report.ok
    assert named(report)[0] == (case.kind, case.position), report.lines()
    assert case.words in report.faults[0].what
    assert report.lines()[0] == str(report.faults[0])


async def test_without_the_second_place_a_truncation_is_the_operators_word(lab: LogLab) -> None:
    """The database alone cannot show a cut tail or a signed fork, and the report then claims nothing."""
    for hand in (hands(CUT, reseal), hands(sql(FLIP), reseal, resign)):
        report = await audited(lab, Case("", hand, "", None, "", nothing_there))
        assert report.ok, report.lines()
        assert report.independent == 0
        assert "all of them are the operator's word" in report.lines()[1]


async def test_a_replaced_key_is_believed_only_by_who_pinned_nothing(lab: LogLab) -> None:
    """Who owns both places can replace the whole chain; the pin is what finds it, and its absence is said."""
    case = Case("", replace_key, "", None, "", nothing_there)
    unpinned = await audited(lab, case, Trust())
    assert unpinned.ok
    assert "not pinned" in unpinned.lines()[2]
    assert not (await audited(lab, case)).ok


async def test_a_checkpoint_that_was_held_must_agree(lab: LogLab) -> None:
    """An auditor's own copy finds a cut log even where the second place was cleared."""
    held = [raw for _, raw in copies(lab.place).checkpoints]
    kept = Case("", hands(CUT, reseal), "", None, "", lambda _there: Copies(checkpoints=((Source.HELD, held[-1]),)))
    report = await audited(lab, kept)
    assert named(report)[0] == ("truncated", 28)


async def test_a_witness_counts_if_its_line_holds(lab: LogLab) -> None:
    """A cosigned checkpoint vouches like a second place; a line that does not hold is named."""
    note = Note.parse(copies(lab.place).checkpoints[-1][1])
    cosigned, key = witness(note, Ed25519PrivateKey.from_private_bytes(bytes([9]) * 32))
    first = await lab.checkpointer.first_key()

    def only(raw: str) -> Callable[[Copies], Copies]:
        return lambda _there: Copies(checkpoints=((Source.WITNESS, raw),))

    report = await audited(lab, Case("", NOTHING, "", None, "", only(str(cosigned))), Trust(first, (key,)))
    assert report.ok
    assert report.independent == LAST
    assert report.cosigned["witness.example/w"][0] == LAST
    other = VerifierKey(key.name, key.public, key.algorithm)
    stranger, _ = witness(note, Ed25519PrivateKey.generate())
    report = await audited(lab, Case("", NOTHING, "", None, "", only(str(stranger))), Trust(first, (other,)))
    assert named(report) == [("cosignature", LAST - 1)]


async def test_an_event_nobody_seals_is_found(lab: LogLab) -> None:
    """Taking an event out of the order, and the head with it, leaves an event without a position."""
    hand = hands(sql("delete from log.sealed where position = 39"), reseal)
    report = await audited(lab, Case("", hand, "", None))
    assert named(report) == [("unsealed", None)]
