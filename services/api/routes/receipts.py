"""Forgetting, and its receipts."""

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Response

from events.model import EventId
from services.api.auth import MayForget, MayReadReceipt, MayReadReceipts, Reader
from services.api.body import body
from services.api.door import TheDoor
from services.api.openapi import ANY_PROBLEMS, BODY_PROBLEMS, Examples, json_body, problems
from services.api.problem import not_found
from services.api.routes.paging import Cursor, Limit
from services.wire.choices import ForgetDescribedRequest, ForgetPreview
from services.wire.receipts import ForgetRequest, PreviewRequest, ReceiptPage, ReceiptView

router = APIRouter(tags=["forgetting"], responses=problems(*ANY_PROBLEMS, HTTPStatus.UNPROCESSABLE_ENTITY))

_PREVIEWS: Examples = {
    "zh": {"description": "我喝咖啡的口味"},
    "en": {"description": "everything about my band"},
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
        receipt = await door.backend.forget(scope, request.memory_id)
    else:
        receipt = await door.backend.forget_what(scope, request, request.digest)
    if receipt is None:
        raise not_found("such thing to forget")
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
    """Show which memories would go with a description, message, session or kind, and what else that would touch."""
    if request.description is not None:
        return await door.backend.preview(scope, request.description, reader=reader)
    preview = await door.backend.preview_what(scope, request, reader=reader)
    if preview is None:
        raise not_found("such thing to forget")
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
async def list_receipts(scope: MayReadReceipts, door: TheDoor, limit: Limit = 50, cursor: Cursor = None) -> ReceiptPage:
    """List deletions and how far they have come, newest first."""
    return await door.backend.receipts(scope, limit, cursor)


@router.get("/v1/receipts/{receipt_id}", responses=problems(HTTPStatus.NOT_FOUND))
async def show_receipt(scope: MayReadReceipt, receipt_id: UUID, door: TheDoor) -> ReceiptView:
    """Show how far one deletion has come, layer by layer; signed once it has propagated."""
    receipt = await door.backend.receipt(scope, EventId(receipt_id))
    if receipt is None:
        raise not_found("receipt")
    return receipt
