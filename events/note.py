"""Signed notes and checkpoints as transparency logs write them (C2SP signed-note, tlog-checkpoint, tlog-cosignature).

A note is text, an empty line, and signature lines `— name base64(key id ‖ signature)`. A checkpoint is a note whose
text is origin, tree size and base64 root, a line each.
"""

import binascii
import struct
from base64 import b64decode, b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from events.errors import BadInputError, TamperError

ED25519 = 1
COSIGNATURE_V1 = 4

_KEY_ID_BYTES = 4
_ROOT_BYTES = 32
_PUBLIC_BYTES = 32
_CHECKPOINT_LINES = 3
_MARK = "— "
_TIME = struct.Struct(">Q")


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public Ed25519 key with a name: `name+hex key id+base64(algorithm ‖ key)`.

    `algorithm` is 1 for a log's signature, 4 for a witness's cosignature.
    """

    name: str
    public: bytes
    algorithm: int = ED25519

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a key as `str` writes it.

        Raises:
            BadInputError: it is not one, or the parts contradict each other.
        """
        try:
            name, key_id, encoded = text.strip().split("+", 2)
            data = b64decode(encoded, validate=True)
            key = cls(name, data[1:], data[0])
        except (ValueError, IndexError, binascii.Error):
            raise BadInputError("a public key is written name+key id+base64; copy the whole line") from None
        known = key.algorithm in {ED25519, COSIGNATURE_V1} and len(key.public) == _PUBLIC_BYTES
        if not known or not _is_name(name) or key_id != key.key_id.hex():
            raise BadInputError(f"the parts of the public key of {name!r} do not belong together; copy the whole line")
        return key

    @property
    def key_id(self) -> bytes:
        """The first four bytes of SHA-256(name ‖ 0x0A ‖ algorithm ‖ key)."""
        data = self.name.encode() + b"\n" + bytes([self.algorithm]) + self.public
        return sha256(data).digest()[:_KEY_ID_BYTES]

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{b64encode(bytes([self.algorithm]) + self.public).decode()}"


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature line."""

    name: str
    key_id: bytes
    value: bytes

    def __str__(self) -> str:
        return f"{_MARK}{self.name} {b64encode(self.key_id + self.value).decode()}\n"


@dataclass(frozen=True, slots=True)
class Note:
    """A text, which ends with a newline, and who signed it. `str` writes it."""

    text: str
    signatures: tuple[Signature, ...]

    @classmethod
    def parse(cls, raw: str) -> Self:
        """Read a note.

        Raises:
            TamperError: it is not one.
        """
        text, gap, lines = raw.rpartition("\n\n")
        if not gap or not lines.endswith("\n") or any(char < " " and char != "\n" for char in raw):
            raise TamperError("a signed note is text, an empty line and signature lines; this is not one")
        return cls(text + "\n", tuple(_signature(line) for line in lines[:-1].split("\n")))

    def __str__(self) -> str:
        return f"{self.text}\n{''.join(map(str, self.signatures))}"

    def signed_by(self, key: VerifierKey) -> bool:
        """Say whether a log's key signed this text."""
        return key.algorithm == ED25519 and any(
            holds(key.public, each.value, self.text.encode()) for each in self._of(key)
        )

    def cosigned_by(self, witness: VerifierKey) -> datetime | None:
        """Say when a witness, by its own clock, found that this head extends all it saw before; None if it did not."""
        if witness.algorithm != COSIGNATURE_V1:
            return None
        for each in self._of(witness):
            stamp, signature = each.value[: _TIME.size], each.value[_TIME.size :]
            if len(stamp) == _TIME.size and holds(witness.public, signature, cosigned(self.text, stamp)):
                return datetime.fromtimestamp(_TIME.unpack(stamp)[0], UTC)
        return None

    def _of(self, key: VerifierKey) -> list[Signature]:
        return [each for each in self.signatures if (each.name, each.key_id) == (key.name, key.key_id)]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a log commits to: its name, how many leaves, and the root over them."""

    origin: str
    size: int
    root: bytes

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text of a note; lines behind the third are extensions and are left alone.

        Raises:
            TamperError: it is not a checkpoint.
        """
        lines = text.split("\n")
        try:
            origin, size, root = lines[:_CHECKPOINT_LINES]
            found = cls(origin, int(size), b64decode(root, validate=True))
        except (ValueError, binascii.Error):
            raise TamperError("a checkpoint is origin, size and base64 root; this is not one") from None
        if str(found.size) != size or found.size < 0 or len(found.root) != _ROOT_BYTES or not origin:
            raise TamperError("a checkpoint is origin, size and base64 root; this is not one")
        return found

    @property
    def text(self) -> str:
        """The text to sign."""
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n"


@dataclass(frozen=True, slots=True)
class NoteSigner:
    """Signs texts under a name."""

    name: str
    private: Ed25519PrivateKey

    @property
    def key(self) -> VerifierKey:
        """What others check the signatures with."""
        return VerifierKey(self.name, self.private.public_key().public_bytes_raw())

    def sign(self, text: str) -> Signature:
        """Sign a text; it must end with a newline."""
        return Signature(self.name, self.key.key_id, self.private.sign(text.encode()))


def cosigned(text: str, stamp: bytes) -> bytes:
    """Build what a cosignature/v1 is over: a header with the witness's time (eight bytes), then the text."""
    return f"cosignature/v1\ntime {_TIME.unpack(stamp)[0]}\n{text}".encode()


def _signature(line: str) -> Signature:
    try:
        mark, name, encoded = line[: len(_MARK)], *line[len(_MARK) :].split(" ")
        data = b64decode(encoded, validate=True)
    except (ValueError, binascii.Error):
        raise TamperError("a signature line is a dash, a name and base64; this is not one") from None
    if mark != _MARK or not _is_name(name) or len(data) <= _KEY_ID_BYTES:
        raise TamperError("a signature line is a dash, a name and base64; this is not one")
    return Signature(name, data[:_KEY_ID_BYTES], data[_KEY_ID_BYTES:])


def _is_name(name: str) -> bool:
    return bool(name) and "+" not in name and not any(char.isspace() for char in name)


def holds(public: bytes, signature: bytes, message: bytes) -> bool:
    """Check an Ed25519 signature (RFC 8032); a key or signature of a wrong form does not hold."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
