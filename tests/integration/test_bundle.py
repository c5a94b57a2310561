"""Bundles: written from a real log, checked with nothing but the file, and against who changed the file (R5)."""

import json
import subprocess
import sys
import zipfile
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from events.errors import BadInputError
from events.merkle import leaf_hash
from events.note import VerifierKey
from services.audit.check import check
from services.audit.evidence import Trust
from services.audit.export import export
from services.audit.reading import copies, snapshot
from services.audit.report import Report
from tests.conftest import Stores
from tests.integration.loglab import LogLab, lab_of

ROOT = Path(__file__).parents[2]
SIZES = (5, 11, 16, 30)
SIZE, HIT, OTHER = 40, 21, 25
PART = (14, 26)
Lines = list[dict[str, str | int]]


@dataclass(frozen=True)
class Made:
    """A log with its bundles: the whole of it, and positions 14 to 26 proven under the checkpoint of 30 events."""

    lab: LogLab
    whole: Path
    part: Path
    pin: VerifierKey


@pytest.fixture(scope="module")
async def made(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Made]:
    """Forty events under four checkpoints, the last two by a second key."""
    folder = tmp_path_factory.mktemp("bundles")
    async with lab_of(stores.endpoints.database_url, folder) as lab:
        for before, size in zip((0, *SIZES), SIZES, strict=False):
            await lab.grow(size - before)
            await lab.checkpointer.write()
            if size == SIZES[1]:
                await lab.checkpointer.rotate()
        await lab.grow(SIZE - SIZES[-1])
        whole, part = folder / "whole.zip", folder / "part.zip"
        async with snapshot(lab.prober) as connection:
            await export(connection, copies(lab.place), whole)
            await export(connection, copies(lab.place), part, PART)
        yield Made(lab, whole, part, await lab.checkpointer.first_key())


def rewritten(path: Path, into: Path, **changes: Callable[[bytes], bytes]) -> Path:
    """Copy a bundle, changing members by name (dots and dashes as underscores)."""
    target = into / "changed.zip"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            change = changes.get(name.replace(".", "_").replace("-", "_"), bytes)
            new.writestr(name, change(old.read(name)))
    return target


def on_lines(change: Callable[[Lines], object]) -> Callable[[bytes], bytes]:
    def run(data: bytes) -> bytes:
        lines: Lines = [json.loads(line) for line in data.splitlines()]
        change(lines)
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    return run


def at(lines: Lines, position: int) -> int:
    return next(number for number, line in enumerate(lines) if line["position"] == position)


def flipped(text: str | int, byte: int = 20) -> str:
    data = bytearray(b64decode(str(text)))
    data[byte] ^= 1
    return b64encode(data).decode()


def flip(lines: Lines) -> None:
    line = lines[at(lines, HIT)]
    line["envelope"] = flipped(line["envelope"])


def remove(lines: Lines) -> None:
    del lines[at(lines, HIT)]


def insert(lines: Lines) -> None:
    lines.insert(at(lines, HIT), {**lines[at(lines, HIT)], "envelope": lines[at(lines, OTHER)]["envelope"]})


def swap(lines: Lines) -> None:
    one, two = lines[at(lines, HIT)], lines[at(lines, OTHER)]
    one["envelope"], two["envelope"] = two["envelope"], one["envelope"]


def duplicate(lines: Lines) -> None:
    lines[at(lines, HIT + 1)]["envelope"] = lines[at(lines, HIT)]["envelope"]


TAMPERED = (
    ("flipped-byte", flip, ("changed", HIT)),
    ("removed", remove, ("missing", HIT)),
    ("inserted", insert, ("inserted", HIT)),
    ("swapped", swap, ("moved", HIT)),
    ("duplicated", duplicate, ("repeated", HIT + 1)),
)


def first(report: Report) -> tuple[str, int | None]:
    assert not report.ok
    return report.faults[0].kind, report.faults[0].position


def test_a_whole_bundle_verifies(made: Made) -> None:
    """The file and the pinned key are enough, and what no checkpoint covers is said."""
    report = check(made.whole, Trust(made.pin))
    assert report.ok, report.lines()
    assert (report.first, report.end, report.independent, report.unsigned) == (0, SIZE, SIZES[-1], 10)
    assert (report.checkpoints, report.keys) == (len(SIZES), 2)
    assert report.lines()[1] == "verified to position 29 by checkpoint; 10 events since, which are the operator's word"


def test_a_part_verifies_by_two_inclusion_proofs(made: Made) -> None:
    """A part holds its own events only, all of them proven under a checkpoint, which the others extend."""
    report = check(made.part, Trust(made.pin))
    assert report.ok, report.lines()
    assert (report.first, report.end, report.unsigned) == (PART[0], PART[1] + 1, 0)
    with zipfile.ZipFile(made.part) as bundle:
        assert len(bundle.read("events.jsonl").splitlines()) == PART[1] - PART[0] + 1
        proofs = json.loads(bundle.read("proofs.json"))
    assert all(len(proofs[name]) <= SIZE.bit_length() for name in ("inclusion_of_first", "inclusion_of_last"))


async def test_every_part_of_a_log_can_be_proven(made: Made, tmp_path: Path) -> None:
    """Wherever it begins and ends within what is signed, a part verifies."""
    edges = (0, 1, 4, 5, 7, 10, 11, 15, 16, 29)
    async with snapshot(made.lab.prober) as connection:
        there = copies(made.lab.place)
        for begin, last in ((a, b) for a, b in product(edges, edges) if a <= b):
            path = tmp_path / f"{begin}-{last}.zip"
            await export(connection, there, path, (begin, last))
            report = check(path, Trust(made.pin))
            assert report.ok, (begin, last, report.lines())
            assert (report.first, report.end, report.unsigned) == (begin, last + 1, 0)


@pytest.mark.parametrize("name", ["whole", "part"])
@pytest.mark.parametrize(("tamper", "expected"), [case[1:] for case in TAMPERED], ids=[case[0] for case in TAMPERED])
def test_a_changed_bundle_is_named(
    made: Made, tmp_path: Path, name: str, tamper: Callable[[Lines], None], expected: tuple[str, int]
) -> None:
    """Whoever changes events in the file is found at the position, in the whole log and in a part."""
    path = rewritten(getattr(made, name), tmp_path, events_jsonl=on_lines(tamper))
    assert first(check(path, Trust(made.pin))) == expected


def test_leaves_that_were_changed_with_their_event_lead_to_no_signed_root(made: Made, tmp_path: Path) -> None:
    """Who mends the leaf hashes too meets the checkpoints, and in a part the proofs."""
    envelopes: dict[int, bytes] = {}

    def remember(lines: Lines) -> None:
        flip(lines)
        envelopes.update({int(line["position"]): b64decode(str(line["envelope"])) for line in lines})

    def mended(_leaves: bytes) -> bytes:
        return b"".join(leaf_hash(envelopes[position]) for position in sorted(envelopes))

    whole = rewritten(made.whole, tmp_path, events_jsonl=on_lines(remember), leaves_bin=mended)
    report = check(whole, Trust(made.pin))
    assert ("forked", SIZES[2]) in [(fault.kind, fault.position) for fault in report.faults]
    envelopes.clear()
    part = rewritten(made.part, tmp_path, events_jsonl=on_lines(remember), leaves_bin=mended)
    assert "proof" in {fault.kind for fault in check(part, Trust(made.pin)).faults}


def test_a_bundle_cut_short_is_found_by_its_checkpoints_or_by_the_one_that_was_held(made: Made, tmp_path: Path) -> None:
    """A cut tail contradicts the checkpoints; who cuts those too is found by the auditor's own copy."""

    def cut(lines: Lines) -> None:
        del lines[12:]

    def shorter(_manifest: bytes) -> bytes:
        return json.dumps({"format": "cenotaph.bundle/1", "first": 0, "end": 12, "proven_by": None}).encode()

    def leaves(data: bytes) -> bytes:
        return data[: 12 * 32]

    def old(lines: Lines) -> None:
        del lines[2:]

    changes = {"events_jsonl": on_lines(cut), "manifest_json": shorter, "leaves_bin": leaves}
    assert first(check(rewritten(made.whole, tmp_path, **changes), Trust(made.pin))) == ("truncated", 12)
    quiet = rewritten(made.whole, tmp_path, **changes, checkpoints_jsonl=on_lines(old))
    assert check(quiet, Trust(made.pin)).ok
    held = copies(made.lab.place).checkpoints[-1][1]
    assert first(check(quiet, Trust(made.pin), [held])) == ("truncated", 12)


def test_keys_and_notes_that_were_changed_are_named(made: Made, tmp_path: Path) -> None:
    """A key taken out of the chain, a checkpoint with another root, and a foreign pin are each named."""

    def no_second_key(lines: Lines) -> None:
        lines[:] = [line for line in lines if "signing key 1" not in str(line["note"])]

    path = rewritten(made.whole, tmp_path, signing_keys_jsonl=on_lines(no_second_key))
    assert first(check(path, Trust(made.pin))) == ("signature", SIZES[2] - 1)

    def other_root(lines: Lines) -> None:
        for line in lines:
            line["note"] = str(line["note"]).replace("\n30\n", "\n31\n")

    path = rewritten(made.whole, tmp_path, checkpoints_jsonl=on_lines(other_root))
    assert first(check(path, Trust(made.pin))) == ("signature", SIZES[3])
    foreign = VerifierKey(made.pin.name, bytes(32))
    assert first(check(made.whole, Trust(foreign))) == ("key_chain", None)
    assert check(made.whole, Trust()).ok


def with_proof(proofs: object) -> Callable[[bytes], bytes]:
    return lambda _old: json.dumps(proofs).encode()


def test_proofs_that_were_changed_do_not_hold(made: Made, tmp_path: Path) -> None:
    """No proof of a part can be left out or changed."""
    with zipfile.ZipFile(made.part) as bundle:
        proofs = json.loads(bundle.read("proofs.json"))
    for name in ("inclusion_of_first", "inclusion_of_last", "consistency"):
        for shorter in (proofs[name][1:], proofs[name][:-1]):
            changed = rewritten(made.part, tmp_path, proofs_json=with_proof({**proofs, name: shorter}))
            assert first(check(changed, Trust(made.pin)))[0] == "proof"


@pytest.mark.parametrize("wanted", [(20, 10), (0, 30), (0, 99), (40, None)])
async def test_a_part_that_no_checkpoint_covers_is_refused(
    made: Made, tmp_path: Path, wanted: tuple[int, int | None]
) -> None:
    """What is only the operator's word cannot be proven as a part, and the message says how far one can go."""
    async with snapshot(made.lab.prober) as connection:
        with pytest.raises(BadInputError, match="covers 30 events"):
            await export(connection, copies(made.lab.place), tmp_path / "no.zip", wanted)


async def test_a_bundle_is_not_overwritten(made: Made) -> None:
    """An export never replaces a file."""
    async with snapshot(made.lab.prober) as connection:
        with pytest.raises(BadInputError, match="exists already"):
            await export(connection, copies(made.lab.place), made.whole)


def test_what_is_no_bundle_is_refused(tmp_path: Path, made: Made) -> None:
    """A file of another kind, a damaged one and one of another format are refused with a reason."""
    junk = tmp_path / "junk.zip"
    junk.write_bytes(b"PK nothing")
    with pytest.raises(BadInputError, match="is no bundle"):
        check(junk, Trust())
    other = rewritten(made.whole, tmp_path, manifest_json=lambda data: data.replace(b"bundle/1", b"bundle/9"))
    with pytest.raises(BadInputError, match="another format"):
        check(other, Trust())
    bad = rewritten(made.whole, tmp_path, events_jsonl=lambda data: data.replace(b'"position"', b'"pos"', 1))
    assert first(check(bad, Trust(made.pin)))[0] == "bundle"


BLOCKED = "sqlalchemy asyncpg redis pymilvus milvus_lite typer rich structlog fastapi httpx alembic faststream numpy"
OFFLINE = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}.split():
            raise ModuleNotFoundError(name + " is blocked", name=name.partition(".")[0])
sys.meta_path.insert(0, Blocked())
sys.argv = ["cenotaph", "audit", "check", *sys.argv[1:]]
from cenotaph.boot import main
main()
"""


def offline(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process where the server's packages cannot be imported."""
    return subprocess.run(
        [sys.executable, "-c", OFFLINE.format(blocked=BLOCKED), *arguments],
        cwd=ROOT,
        env={"PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_bundle_is_checked_without_anything_of_the_server(made: Made, tmp_path: Path) -> None:
    """No database, no queue, no index and no command line library is needed; a fault ends with exit code 1."""
    done = offline(str(made.whole), "--key", str(made.pin))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verified to position 29 by checkpoint" in done.stdout
    bad = rewritten(made.part, tmp_path, events_jsonl=on_lines(flip))
    done = offline(str(bad), "--key", str(made.pin), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["first_fault"]["position"] == HIT
    done = offline(str(made.whole), "--key", "nonsense")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "copy the whole line" in done.stderr
