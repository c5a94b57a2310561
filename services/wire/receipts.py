"""Forgetting, and the receipt for it (R42)."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from events.model import Copy, EventId, ForgetScope, Frozen, Kind, MemoryId, TenantId
from services.wire.request import Request
from services.wire.text import OutsideId, Query


class MessageOf(Request):
    """One message, by the ids the caller gave it."""

    turn_id: OutsideId
    message_id: OutsideId


class What(Request):
    """Something to forget that is more than one memory: what a message or a session said, or a kind of memories."""

    message: MessageOf | None = None
    session_id: OutsideId | None = None
    kind: Kind | None = None

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        names = sorted(set(type(self).model_fields) - {"digest"})
        if sum(getattr(self, name) is not None for name in names) != 1:
            raise PydanticCustomError("one_of", "names not exactly one of {names}", {"names": ", ".join(names)})
        return self


class ForgetRequest(What):
    """Forget one thing for good: a memory, a message, a session or a kind; exactly one is named.

    `digest` is that of a preview: the request is refused if it would show something else by now.
    """

    memory_id: MemoryId | None = None
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None


class PreviewRequest(What):
    """See what would be forgotten: a memory, what a description means, a message, a session or a kind; one is named."""

    memory_id: MemoryId | None = None
    description: Query | None = None


class ForgetWholeRequest(Request):
    """Forget a whole person or tenant for good; `digest` is that of the preview, which names whose all goes."""

    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class WholePreview(Frozen):
    """What would go with a whole person or tenant, counted. All that is theirs goes, also what comes meanwhile."""

    scope: Literal["person", "tenant"]
    people: int
    memories: int
    turns: int
    messages: int
    digest: str


class LayerView(Frozen):
    """What one layer answered, and the evidence that was computed from.

    `checks` are counts, `queries` what each asked, without values; `position` is how far it had followed the log.
    `holders` are the exports that hold it, files outside that nothing here can erase; `copies` are
    backups that hold it, sealed.
    """

    layer: str
    state: Literal["absent", "purged", "masked", "drained", "unreclaimed", "not_configured", "cannot_prove", "present"]
    checks: dict[str, int]
    queries: dict[str, str] = Field(default_factory=dict)
    holders: tuple[UUID, ...] = ()
    position: int | None = None
    copies: tuple[Copy, ...] = ()
    at: datetime


Decision = Literal["DELETION_PENDING", "deletion_propagated", "deletion_purged", "closed_unproven"]


class Deletions(Frozen):
    """How many deletions wait for their first receipt, and for their second, and since when; of everybody, no ids."""

    pending: int
    pending_since: datetime | None
    unpurged: int
    unpurged_since: datetime | None


class ReceiptEnd(Frozen):
    """The second receipt: the bytes are gone too, or the person closed what could not be proven; see `ReceiptView`."""

    layers: tuple[LayerView, ...]
    at: datetime
    statement: str
    signature: str


class ReceiptView(Frozen):
    """How far a deletion has come. Signed as soon as the decision is `deletion_propagated`; holds nothing said.

    `end` is the second receipt, signed when the bytes are gone too (`deletion_purged`), or when the person closed it.

    `scope` is what was asked for; `memory_id` the first memory of it, None where no memory goes. `memories` and
    `messages` say how many go, None where all of somebody goes and nobody could count it in time. `keys_die_by` is when
    copies of the destroyed keys, in backups and logs of the vault, are useless too; while pending it is computed as if
    signed now. `receipt_id` is the id of the tombstone, so it is known at once and never changes.
    `capability` opens this receipt, and nothing else, for ever; given for a whole person or tenant only.
    `statement` is the signed JSON, `signature` Ed25519 over its UTF-8 bytes in base64.
    `unasked` says why nobody can ask for what was said, so that it can only be closed: it could not be read before it
    was destroyed (`unread`), it was pending for more than a day (`expired`), or a backup was brought back from which it
    was left out (`restored`).
    """

    receipt_id: EventId
    memory_id: MemoryId | None
    scope: ForgetScope
    memories: int | None
    messages: int | None
    tenant_id: TenantId
    tombstone_version: int
    decision: Decision
    layers: tuple[LayerView, ...]
    negative_queries: dict[str, int]
    keys_die_by: datetime | None = None
    out_of_scope: tuple[str, ...] = ()
    injected_turns: tuple[str, ...] = ()
    requested_at: datetime
    propagated_at: datetime | None = None
    unasked: Literal["unread", "expired", "restored"] | None = None
    statement: str | None = None
    signature: str | None = None
    signing_key: str | None = None
    end: ReceiptEnd | None = None
    capability: str | None = None


class ReceiptPage(Frozen):
    """Some receipts, newest first, and where the next page starts."""

    receipts: tuple[ReceiptView, ...]
    next_cursor: str | None = None
