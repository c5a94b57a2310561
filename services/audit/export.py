"""Writing a bundle from a log (R5): the whole of it, or the positions a checkpoint covers, with proofs."""

import zipfile
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO

import orjson

from events.errors import BadInputError
from events.note import Checkpoint, Note
from events.postgres import Connection
from events.proof import Place, Span, consistency_spans, cover, inclusion_spans, prove
from events.sealer import read_nodes
from services.audit.bundle import (
    CHECKPOINTS,
    EVENTS,
    KEYS,
    LEAVES,
    MANIFEST,
    PROOFS,
    FoundNote,
    Growth,
    Manifest,
    Proofs,
)
from services.audit.evidence import Source
from services.audit.reading import Copies, head_of

_ROWS = """
select s.position, e.envelope, n.hash from log.sealed s join log.event e using (seq)
left join log.node n on n.level = 0 and n.index = s.position
where s.position >= $1 and s.position < $2 order by s.position
"""
_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Exported:
    """What a bundle holds: its manifest, and how many checkpoints."""

    manifest: Manifest
    checkpoints: int


async def export(
    connection: Connection,
    there: Copies,
    path: Path,
    wanted: tuple[int | None, int | None] = (None, None),
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Exported:
    """Write a bundle; a file of that name must not exist.

    Args:
        connection: one that may read log, tree and checkpoints, in a snapshot.
        there: what lies in the second place.
        path: the file to write.
        wanted: first and last position; the whole log where neither is given.
        progress: called with positions done and positions to do.

    Raises:
        BadInputError: no checkpoint covers these positions, or the file exists.
    """
    head = await head_of(connection)
    notes = await _checkpoints(connection, there)
    manifest = _manifest(wanted, head.size, sorted({size for size, _, _ in notes}))
    kept = _kept(manifest, notes)
    try:
        with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED) as bundle:
            bundle.writestr(MANIFEST, manifest.model_dump_json())
            bundle.writestr(KEYS, _lines(await _keys(connection, there)))
            bundle.writestr(CHECKPOINTS, _lines([(source, note) for _, source, note in kept]))
            sizes = sorted({size for size, _, _ in kept})
            bundle.writestr(PROOFS, (await _proofs(connection, manifest, sizes)).model_dump_json())
            leaves = bytearray()
            with bundle.open(EVENTS, "w", force_zip64=True) as file:
                for start in range(manifest.first, manifest.end, _BATCH):
                    end = min(start + _BATCH, manifest.end)
                    await _events(connection, (start, end), file, leaves)
                    progress(end - manifest.first, manifest.end - manifest.first)
            bundle.writestr(LEAVES, bytes(leaves))
    except FileExistsError:
        raise BadInputError(f"{path} exists already; bundles are not overwritten") from None
    return Exported(manifest, len(kept))


def _manifest(wanted: tuple[int | None, int | None], size: int, checkpoints: Sequence[int]) -> Manifest:
    first, last = wanted
    if first is None and last is None:
        return Manifest(first=0, end=size)
    first, covered = first or 0, checkpoints[-1] if checkpoints else 0
    end = covered if last is None else last + 1
    if not first < end <= min(covered, size):
        raise BadInputError(
            f"a part can be proven only up to the last checkpoint, which covers {covered} events; positions {first} to"
            f" {end - 1} were asked for"
        )
    return Manifest(first=first, end=end, proven_by=next(each for each in checkpoints if each >= end))


def _kept(manifest: Manifest, notes: Sequence[tuple[int, Source, str]]) -> list[tuple[int, Source, str]]:
    """Keep all checkpoints of a whole log; of a part those around and within it, and the newest."""
    if manifest.proven_by is None:
        return list(notes)
    sizes = sorted({size for size, _, _ in notes})
    before = max((size for size in sizes if size <= manifest.first), default=0)
    wanted = {size for size in sizes if before <= size <= manifest.proven_by} | {sizes[-1]}
    return [each for each in notes if each[0] in wanted]


async def _checkpoints(connection: Connection, there: Copies) -> list[tuple[int, Source, str]]:
    rows = await connection.fetch("select note from log.checkpoint order by size")
    notes = [*((Source.LOG, row["note"]) for row in rows), *there.checkpoints]
    return sorted((Checkpoint.parse(Note.parse(note).text).size, source, note) for source, note in notes)


async def _keys(connection: Connection, there: Copies) -> list[tuple[Source, str]]:
    rows = await connection.fetch("select note from log.signing_key order by number")
    return [
        *((Source.LOG, row["note"]) for row in rows),
        *((Source.PLACE, note) for note in there.introductions),
    ]


async def _proofs(connection: Connection, manifest: Manifest, sizes: Sequence[int]) -> Proofs:
    if manifest.proven_by is None:
        return Proofs()
    inclusions = [inclusion_spans(at, manifest.proven_by) for at in (manifest.first, manifest.end - 1)]
    growths = {pair: consistency_spans(*pair) for pair in pairwise(sizes)}
    nodes = await _nodes(connection, cover(span for spans in (*inclusions, *growths.values()) for span in spans))

    def hashes(spans: Sequence[Span]) -> tuple[str, ...]:
        return tuple(each.hex() for each in prove(spans, nodes))

    return Proofs(
        inclusion_of_first=hashes(inclusions[0]),
        inclusion_of_last=hashes(inclusions[1]),
        consistency=tuple(
            Growth(first=first, second=second, proof=hashes(spans)) for (first, second), spans in growths.items()
        ),
    )


async def _nodes(connection: Connection, places: Sequence[Place]) -> dict[Place, bytes]:
    found = await read_nodes(connection, places)
    return {place: found.get(place, bytes(32)) for place in places}  # a lost node makes a proof that does not hold


async def _events(connection: Connection, span: Span, file: IO[bytes], leaves: bytearray) -> None:
    rows = {row["position"]: row for row in await connection.fetch(_ROWS, *span)}
    for position in range(*span):
        row = rows.get(position)
        leaves += bytes(32) if row is None or row["hash"] is None else row["hash"]
        if row is not None:
            line = {"position": position, "envelope": b64encode(row["envelope"]).decode()}
            file.write(orjson.dumps(line) + b"\n")


def _lines(notes: Sequence[tuple[Source, str]]) -> str:
    return "".join(FoundNote(source=source, note=note).model_dump_json() + "\n" for source, note in notes)
