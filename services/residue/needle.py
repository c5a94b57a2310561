"""What is looked for, and as which bytes it may lie in a file."""

import json
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from events.model import KeyId, Scope

ENCODINGS: Final = ("utf-8", "utf-16-le", "utf-16-be")
_ID = (16).to_bytes(4, "big")  # before an id in a file that COPY BINARY wrote


@dataclass(frozen=True)
class Needle:
    """Something that must not be found.

    `text` or `raw` bytes are found as they are, in the encodings and escapes a writer may have used. `marks` are bytes
    that only ever stand before it, where it is not known itself; `digest` is its SHA-256, for values that can be put
    together; `row` is the id of a row of the vector index, found where it stands beside a vector. `name` is for
    reports, as a text must not be repeated there.
    """

    text: str = ""
    raw: bytes = b""
    name: str = ""
    marks: tuple[tuple[str, bytes], ...] = ()
    digest: bytes = b""
    row: str = ""

    def forms(self) -> dict[str, bytes]:
        """Return the byte strings it may lie in a file as."""
        if self.text:
            forms = {encoding: self.text.encode(encoding) for encoding in ENCODINGS}
            for name, ascii_only in (("json", True), ("json, unescaped", False)):
                written = json.dumps(self.text, ensure_ascii=ascii_only)[1:-1].encode()
                if written not in forms.values():
                    forms[name] = written
            return forms
        if self.raw:
            return {"bytes": self.raw, "hex": self.raw.hex().encode(), "base64": b64encode(self.raw)}
        return dict(self.marks)


def sealed_body(scope: Scope, key: KeyId, digest: bytes) -> Needle:
    """Look for a ciphertext nobody has any more: by what stands before it in `log.body`, and by its digest."""
    ids = (scope.tenant_id.bytes, scope.subject_id.bytes, key.bytes)
    return Needle(name=f"ciphertext under key {key}", marks=_standing(ids), digest=digest)


def wrapped_key(scope: Scope, key: KeyId) -> Needle:
    """Look for a wrapped data key by what stands before it in `vault.data_key`."""
    ids = (key.bytes, scope.tenant_id.bytes, scope.subject_id.bytes)
    return Needle(name=f"wrapped key {key}", marks=_standing(ids))


def vector_row(memory: str) -> Needle:
    """Look for a row of the vector index that has a vector."""
    return Needle(name=f"vector of memory {memory}", row=UUID(memory).hex)


def _standing(ids: Iterable[bytes]) -> tuple[tuple[str, bytes], ...]:
    ids = tuple(ids)
    return (("row", b"".join(ids)), ("copied row", _ID.join(ids)))


@dataclass(frozen=True)
class Find:
    """Which needle was found where: a file below a folder that was searched, or a table; and in which form."""

    needle: Needle
    place: str
    form: str


@dataclass(frozen=True, order=True)
class Doubt:
    """A file that could not be read or decoded, so that nothing is proven of it, and why."""

    place: str
    why: str


Form = tuple[Needle, str, bytes]


def forms_of(needles: Iterable[Needle]) -> list[Form]:
    """List every form of every needle."""
    return [(needle, name, raw) for needle in needles for name, raw in needle.forms().items()]
