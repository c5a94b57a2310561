"""The form of a bundle: a zip that holds what an auditor needs to check a log without it.

- `manifest.json`: format, first position, end, and for a part of a log the size of the checkpoint it is proven under
- `events.jsonl`: position and canonical bytes (base64) of each event, in order; tombstones and receipts are among them
- `leaves.bin`: the leaf hash of each position, 32 bytes each
- `signing-keys.jsonl`, `checkpoints.jsonl`: signed notes, each with where it was found
- `proofs.json`: for a part, inclusion proofs (RFC 9162) of its first and last event, and consistency proofs

Nothing in it is believed: the manifest says what to expect, notes are judged from the pinned key on.
"""

import binascii
import zipfile
from base64 import b64decode
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, Annotated, Any, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from events.errors import BadInputError
from services.audit.evidence import Source
from services.audit.rows import Chunk, Row

FORMAT = "cenotaph.bundle/1"
MANIFEST = "manifest.json"
EVENTS = "events.jsonl"
LEAVES = "leaves.bin"
KEYS = "signing-keys.jsonl"
CHECKPOINTS = "checkpoints.jsonl"
PROOFS = "proofs.json"

_LEAF_BYTES = 32
_BATCH = 1000


Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Manifest(_Form):
    """What the bundle says it holds: positions from `first` up to, not including, `end`.

    `proven_by` is the size of the checkpoint under which a part is proven, None for a log from its first event on.
    """

    format: str = FORMAT
    first: int = Field(ge=0)
    end: int = Field(ge=0)
    proven_by: int | None = Field(default=None, ge=0)


class FoundNote(_Form):
    """A signed note and where it was found."""

    source: str
    note: str


class Growth(_Form):
    """A consistency proof between two sizes; hashes in hex."""

    first: int
    second: int
    proof: tuple[Hash, ...]


class Proofs(_Form):
    """The proofs of a part; hashes in hex."""

    inclusion_of_first: tuple[Hash, ...] = ()
    inclusion_of_last: tuple[Hash, ...] = ()
    consistency: tuple[Growth, ...] = ()


class Bundle:
    """Reads a bundle.

    Args:
        path: the file.

    Raises:
        BadInputError: it is not a bundle.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
            self.manifest = Manifest.model_validate_json(self._zip.read(MANIFEST), strict=False)
            self.proofs = Proofs.model_validate_json(self._zip.read(PROOFS), strict=False)
            self.keys = self._notes(KEYS)
            self.checkpoints = self._notes(CHECKPOINTS)
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise BadInputError(f"{path.name} is no bundle that can be read: {_reason(error)}") from None
        if self.manifest.format != FORMAT:
            raise BadInputError(f"{path.name} is of another format than {FORMAT}; use the version that wrote it")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._zip.close()

    def first_leaf(self) -> bytes:
        """Read the first leaf hash."""
        try:
            with self._zip.open(LEAVES) as leaves:
                return leaves.read(_LEAF_BYTES)
        except (zipfile.BadZipFile, KeyError) as error:
            raise BadInputError(f"the leaves of this bundle cannot be read: {error}") from None

    def chunks(self) -> Iterator[Chunk]:
        """Read the events in pieces.

        Raises:
            BadInputError: a line is none, or a file is damaged.
        """
        first, end = self.manifest.first, self.manifest.end
        try:
            with self._zip.open(EVENTS) as events, self._zip.open(LEAVES) as leaves:
                lines = iter(events)
                ahead: list[Row] = []
                for start in range(first, end, _BATCH):
                    stop = min(start + _BATCH, end)
                    rows = ahead + [_row(line) for line in islice(lines, stop - start - len(ahead))]
                    if stop == end:
                        rows += [_row(line) for line in lines]
                    # a line that is missing lets the lines of the next piece in early
                    ahead = [row for row in rows if row.position >= stop] if stop < end else []
                    here = [row for row in rows if row.position < stop or stop == end]
                    yield Chunk(stop, here, _leaves(leaves, start, stop))
        except (zipfile.BadZipFile, KeyError, ValueError, TypeError, binascii.Error) as error:
            raise BadInputError(f"the events of this bundle cannot be read: {_reason(error)}") from None

    def _notes(self, name: str) -> list[tuple[Source, str]]:
        lines = self._zip.read(name).splitlines()
        found = [FoundNote.model_validate_json(line) for line in lines]
        return [(Source(each.source), each.note) for each in found]


def notes_by(notes: Sequence[tuple[Source, str]]) -> dict[Source, list[str]]:
    """Sort notes by where they were found."""
    found: dict[Source, list[str]] = {}
    for source, note in notes:
        found.setdefault(source, []).append(note)
    return found


def _row(line: bytes) -> Row:
    found: dict[str, Any] = orjson.loads(line)
    return Row(int(found["position"]), b64decode(found["envelope"], validate=True))


def _leaves(file: IO[bytes], start: int, stop: int) -> dict[tuple[int, int], bytes]:
    data = file.read((stop - start) * _LEAF_BYTES)
    pieces = (data[at : at + _LEAF_BYTES] for at in range(0, len(data), _LEAF_BYTES))
    return {(0, start + number): piece for number, piece in enumerate(pieces) if len(piece) == _LEAF_BYTES}


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return f"{error.title} has another form"
    return type(error).__name__ if isinstance(error, ValueError) else str(error)
