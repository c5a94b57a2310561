"""Forgetting, and its receipts."""

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from pydantic import AwareDatetime
from starlette.responses import StreamingResponse

from events.model import EventId, Scope
from services.api.auth import MayCloseReceipt, MayForget, MayReadReceipt, MayReadReceipts, Reader
from services.api.body import body
from services.api.door import Door, TheDoor
from services.api.openapi import ANY_PROBLEMS, BODY_PROBLEMS, Examples, json_body, problems
from services.api.problem import not_found
from services.api.routes.paging import Cursor, Limit
from services.wire.choices import ForgetDescribedRequest, ForgetPreview
from services.wire.receipts import Decision, ForgetRequest, PreviewRequest, ReceiptPage, ReceiptView

_EVENTS = "text/event-stream"
_LOOK_S, _COMMENT_S = 0.25, 15.0
router = APIRouter(tags=["forgetting"], responses=problems(*ANY_PROBLEMS, HTTPStatus.UNPROCESSABLE_ENTITY))

_PREVIEWS: Examples = {
    "zh": {"description": "我喝咖啡的口味"},
    "en": {"description": "everything about my band"},
    "one memory": {"memory_id": "0195f3a0-7c1e-7d53-9b1a-2f6f3f1f9a10"},
    "a session": {"session_id": "s-2026-08-01"},
}
_CONFIRMATIONS: Examples = {"zh": {"description": "我喝咖啡的口味", "digest": "3a" * 32}}
_EXAMPLES: Examples = {
    "one memory": {"memory_id": "0195f3a0-7c1e-7d53-9b1a-2f6f3f1f9a10"},
    "a message": {"message": {"turn_id": "t-17", "message_id": "m1"}},
    "a session": {"session_id": "s-2026-08-01"},
    "a kind": {"kind": "episode"},
}


@router.post(
    "/v1/forget",
    status_code=HTTPStatus.ACCEPTED,
    openapi_extra=json_body(ForgetRequest, _EXAMPLES),
    responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, *BODY_PROBLEMS),
)
async def forget_one(
    scope: MayForget, request: Annotated[ForgetRequest, Depends(body(ForgetRequest))], door: TheDoor, response: Response
) -> ReceiptView:
    """Forget a memory, a message, a session or a kind, for good: nothing returns it from this answer on.

    To set a memory aside and be able to take that back, suspend it instead. Follow the receipt at Location.
    """
    if request.memory_id is not None:
        receipt = await door.backend.forget(scope, request.memory_id, request.digest)
    else:
        receipt = await door.backend.forget_what(scope, request, request.digest)
    if receipt is None:
        raise not_found("thing to forget")
    response.headers["Location"] = f"/v1/receipts/{receipt.receipt_id}"
    return receipt


@router.post(
    "/v1/forget/preview",
    openapi_extra=json_body(PreviewRequest, _PREVIEWS),
    responses=problems(HTTPStatus.NOT_FOUND, *BODY_PROBLEMS),
)
async def preview_forget(
    scope: MayForget,
    reader: Reader,
    request: Annotated[PreviewRequest, Depends(body(PreviewRequest))],
    door: TheDoor,
) -> ForgetPreview:
    """Show which memories would go with one, a description, message, session or kind, and what else that touches."""
    if request.description is not None:
        return await door.backend.preview(scope, request.description, reader=reader)
    if request.memory_id is not None:
        preview = await door.backend.preview_memory(scope, request.memory_id, reader=reader)
    else:
        preview = await door.backend.preview_what(scope, request, reader=reader)
    if preview is None:
        raise not_found("thing to forget")
    return preview


@router.post(
    "/v1/forget/described",
    status_code=HTTPStatus.ACCEPTED,
    openapi_extra=json_body(ForgetDescribedRequest, _CONFIRMATIONS),
    responses=problems(HTTPStatus.CONFLICT, *BODY_PROBLEMS),
)
async def forget_described(
    scope: MayForget, request: Annotated[ForgetDescribedRequest, Depends(body(ForgetDescribedRequest))], door: TheDoor
) -> ReceiptPage:
    """Forget what a preview showed, irreversibly; refused if it would show something else by now."""
    return await door.backend.forget_described(scope, request.description, request.digest)


@router.get("/v1/receipts")
async def list_receipts(  # noqa: PLR0917 - FastAPI passes by name
    scope: MayReadReceipts,
    door: TheDoor,
    limit: Limit = 50,
    cursor: Cursor = None,
    decision: Decision | None = None,
    since: Annotated[AwareDatetime | None, Query(description="Asked for at or after this moment")] = None,
) -> ReceiptPage:
    """List deletions and how far they have come, newest first."""
    return await door.backend.receipts(scope, limit, cursor, decision=decision, since=since)


@router.get("/v1/receipts/{receipt_id}", responses=problems(HTTPStatus.NOT_FOUND))
async def show_receipt(scope: MayReadReceipt, receipt_id: UUID, door: TheDoor) -> ReceiptView:
    """Show how far one deletion has come, layer by layer; signed once it has propagated."""
    receipt = await door.backend.receipt(scope, EventId(receipt_id))
    if receipt is None:
        raise not_found("receipt")
    return receipt


@router.get(
    "/v1/receipts/{receipt_id}/events",
    response_class=StreamingResponse,
    responses={
        200: {"description": "Server-sent events: the receipt, each time it changes", "content": {_EVENTS: {}}},
        **problems(HTTPStatus.NOT_FOUND),
    },
)
async def watch_receipt(
    scope: MayReadReceipt, receipt_id: UUID, door: TheDoor, seconds: Annotated[int, Query(ge=1, le=3600)] = 600
) -> StreamingResponse:
    """Send the receipt now and whenever it has changed, until it has come to its end, for so many seconds at most."""
    first = await door.backend.receipt(scope, EventId(receipt_id))
    if first is None:
        raise not_found("receipt")
    return StreamingResponse(_changes(door, scope, first, seconds), media_type=_EVENTS)


async def _changes(door: Door, scope: Scope, first: ReceiptView, seconds: int) -> AsyncIterator[str]:
    """Write each state of a receipt as an event (HTML Standard, 9.2), and a comment now and then in between."""
    deadline = asyncio.get_running_loop().time() + seconds
    seen, quiet = first, 0.0
    yield _event(seen)
    while seen.end is None and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(_LOOK_S)
        quiet += _LOOK_S
        found = await door.backend.receipt(scope, seen.receipt_id)
        if found is None:
            return
        if found.model_copy(update={"keys_die_by": seen.keys_die_by}) != seen:
            seen, quiet = found, 0.0
            yield _event(seen)
        elif quiet >= _COMMENT_S:
            quiet = 0.0
            yield ": still waiting\n\n"


def _event(receipt: ReceiptView) -> str:
    return f"event: receipt\ndata: {receipt.model_dump_json()}\n\n"


@router.post("/v1/receipts/{receipt_id}/close", responses=problems(HTTPStatus.NOT_FOUND))
async def close_receipt(scope: MayCloseReceipt, receipt_id: UUID, door: TheDoor) -> ReceiptView:
    """Close, as the person, a deletion of which a layer can never prove anything: `closed_unproven`, signed.

    Of a whole person or tenant the capability of the receipt does that, too.
    """
    receipt = await door.backend.close_receipt(scope, EventId(receipt_id))
    if receipt is None:
        raise not_found("receipt")
    return receipt
