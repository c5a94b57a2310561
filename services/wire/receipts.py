"""Forgetting, and the receipt for it (R42)."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from events.model import EventId, Frozen, MemoryId, TenantId
from services.wire.request import Request


class ForgetRequest(Request):
    """Forget one memory, irreversibly."""

    memory_id: MemoryId


class LayerView(Frozen):
    """What one layer answered, and the evidence that was computed from.

    `checks` are counts, `queries` what each asked, without values; `position` is how far it had followed the log.
    """

    layer: str
    state: Literal["absent", "purged", "masked", "drained", "unreclaimed", "not_configured", "cannot_prove", "present"]
    checks: dict[str, int]
    queries: dict[str, str] = Field(default_factory=dict)
    position: int | None = None
    at: datetime


class ReceiptView(Frozen):
    """How far a deletion has come. Signed as soon as the decision is `deletion_propagated`; holds nothing said.

    `keys_die_by` is when copies of the destroyed keys, in backups and logs of the vault, are useless too; while pending
    it is computed as if signed now. `receipt_id` is the id of the tombstone, so it is known at once and never changes.
    `statement` is the signed JSON, `signature` Ed25519 over its UTF-8 bytes in base64.
    """

    receipt_id: EventId
    memory_id: MemoryId
    tenant_id: TenantId
    tombstone_version: int
    decision: Literal["DELETION_PENDING", "deletion_propagated"]
    layers: tuple[LayerView, ...]
    negative_queries: dict[str, int]
    keys_die_by: datetime | None = None
    out_of_scope: tuple[str, ...] = ()
    injected_turns: tuple[str, ...] = ()
    requested_at: datetime
    propagated_at: datetime | None = None
    statement: str | None = None
    signature: str | None = None
    signing_key: str | None = None


class ReceiptPage(Frozen):
    """Some receipts, newest first, and where the next page starts."""

    receipts: tuple[ReceiptView, ...]
    next_cursor: str | None = None
