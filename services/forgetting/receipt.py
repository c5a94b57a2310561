"""Receipts: what the layers answered, whether that is enough, and a signature over it (R42). Content-free.

The statement is canonical JSON; the signature is Ed25519 (RFC 8032) over its UTF-8 bytes.
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from events.canon import encode
from events.envelope import StoredEvent
from events.keyfile import key_file, write_once
from events.model import LayerFinding, Tombstoned
from events.note import holds
from events.schedule import Schedule
from services.forgetting.layers import hits

OUT_OF_SCOPE = (
    "model providers that saw a prompt",
    "copies the application made of an answer",
    "unreclaimed bytes in store files, until purged",
    "ciphertexts and wrapped keys in write-ahead logs, until these are reused",
)

_PROVEN = frozenset({"absent", "purged", "masked", "drained", "unreclaimed", "not_configured"})

Decision = Literal["DELETION_PENDING", "deletion_propagated"]


def decide(findings: Sequence[LayerFinding], tombstone_position: int) -> Decision:
    """Say whether every layer proved that no read path returns the memory.

    A layer that follows the log proves nothing before it has reached the tombstone; a state that the evidence beside it
    does not bear out proves nothing either.
    """
    proven = bool(findings) and all(
        finding.state in _PROVEN
        and borne_out(finding)
        and (finding.position is None or finding.position >= tombstone_position)
        for finding in findings
    )
    return "deletion_propagated" if proven else "DELETION_PENDING"


def borne_out(finding: LayerFinding) -> bool:
    """Say whether the evidence of a finding allows its state: something was asked and counted, and counted to nothing.

    `present` takes a hit; a layer that is not there, or cannot prove, needs no count.
    """
    if finding.state in {"not_configured", "cannot_prove"}:
        return not hits(finding.checks)
    asked = bool(finding.checks) and finding.checks.keys() <= finding.queries.keys()
    return asked and (finding.state == "present") == bool(hits(finding.checks))


def closable(propagated_at: datetime | None, findings: Sequence[LayerFinding]) -> bool:
    """Say whether the person may close a deletion: it is not signed, nothing was found, and a layer cannot prove it."""
    states = {finding.state for finding in findings}
    return propagated_at is None and "cannot_prove" in states and "present" not in states


def statement_of(
    tombstone: StoredEvent,
    findings: Sequence[LayerFinding],
    negatives: dict[str, int],
    propagated_at: datetime,
    schedule: Schedule,
) -> str:
    """Write what is signed.

    The last key that opened any of it dies right after the signature, so `keys_die_by` is computed from that moment.
    A backup opens what was in it for as long as its keys live.
    """
    event = tombstone.event
    assert isinstance(event, Tombstoned), "receipts are for tombstones"  # noqa: S101 - narrows the type
    gone = event.extent
    return encode(
        {
            "schema": "cenotaph.receipt/1",
            "receipt_id": tombstone.event_id,
            "memory_id": next(iter(event.memories), None),
            "scope": event.scope,
            "memories": gone.memories if gone is not None else None,
            "messages": gone.messages if gone is not None else None,
            "tenant_id": tombstone.scope.tenant_id,
            "tombstone_version": tombstone.version,
            "tombstone_position": tombstone.position,
            "layers": [finding.model_dump(mode="json", exclude_none=True) for finding in findings],
            "negative_queries": negatives,
            "decision": "deletion_propagated",
            "keys_die_by": keys_die_by(schedule, propagated_at, findings),
            "out_of_scope": OUT_OF_SCOPE,
            "injected_turns": event.injected,
            "requested_at": tombstone.recorded_at,
            "propagated_at": propagated_at,
        }
    ).decode()


def keys_die_by(schedule: Schedule, moment: datetime, findings: Sequence[LayerFinding]) -> datetime:
    """Say by when no copy made before a moment opens: the next roll, or when the keys of the listed backups end."""
    lives = [copy.keys_die_by for finding in findings for copy in finding.copies if copy.keys_die_by is not None]
    return max(schedule.keys_die_by(moment), *lives) if lives else schedule.keys_die_by(moment)


def second_statement(
    tombstone: StoredEvent, findings: Sequence[LayerFinding], decision: str, at: datetime, first: str | None
) -> str:
    """Write what is signed when the bytes are gone, or when the person closes what cannot be proven.

    It names the first statement by its SHA-256, so that the two cannot be put together otherwise.
    """
    return encode(
        {
            "schema": "cenotaph.receipt.end/1",
            "receipt_id": tombstone.event_id,
            "tenant_id": tombstone.scope.tenant_id,
            "tombstone_version": tombstone.version,
            "tombstone_position": tombstone.position,
            "layers": [finding.model_dump(mode="json", exclude_none=True) for finding in findings],
            "decision": decision,
            "first_sha256": None if first is None else sha256(first.encode()).hexdigest(),
            "at": at,
        }
    ).decode()


class Signer:
    """Signs receipts with a key kept in a file of mode 0600; the public half lies beside it.

    Args:
        folder: the folder of key files.
    """

    def __init__(self, folder: Path) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(key_file(folder / "receipts.key"))
        self.public = b64encode(self._key.public_key().public_bytes_raw()).decode()
        write_once(folder / "receipts.pub", self.public.encode() + b"\n")

    def sign(self, statement: str) -> str:
        """Sign a statement; return the signature in base64."""
        return b64encode(self._key.sign(statement.encode())).decode()


def verify(statement: str, signature: str, public: str) -> bool:
    """Check a receipt offline against a public key in base64."""
    try:
        return holds(b64decode(public), b64decode(signature), statement.encode())
    except ValueError:
        return False
