"""Forgetting a whole person, or a whole tenant."""

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Response

from events.model import Scope, SubjectId
from services.api.auth import MayForgetAll, Tenant
from services.api.body import body
from services.api.door import Door, TheDoor
from services.api.openapi import ANY_PROBLEMS, BODY_PROBLEMS, Examples, json_body, problems
from services.wire.receipts import ForgetWholeRequest, ReceiptView, WholePreview

router = APIRouter(tags=["forgetting"], responses=problems(*ANY_PROBLEMS, HTTPStatus.GONE))

_CONFIRMATION: Examples = {"confirmation": {"digest": "3a" * 32}}
_ACCEPTED = problems(HTTPStatus.CONFLICT, *BODY_PROBLEMS)


@router.get("/v1/person/forget")
async def preview_person(scope: MayForgetAll, door: TheDoor) -> WholePreview:
    """Count what would go with the person. Takes a token of the role `person`; nothing is forgotten."""
    return await door.backend.preview_whole(scope, "person")


@router.post(
    "/v1/person/forget",
    status_code=HTTPStatus.ACCEPTED,
    openapi_extra=json_body(ForgetWholeRequest, _CONFIRMATION),
    responses=_ACCEPTED,
)
async def forget_person(
    scope: MayForgetAll,
    request: Annotated[ForgetWholeRequest, Depends(body(ForgetWholeRequest))],
    door: TheDoor,
    response: Response,
) -> ReceiptView:
    """Forget the person for good: everything, whatever comes meanwhile. Keep the answer's `capability`.

    It is the only thing that still opens the receipt: nobody of this name is known any more.
    """
    receipt = await door.backend.forget_whole(scope, "person", request.digest)
    return _with_capability(door, scope, receipt, response)


@router.get("/v1/tenant/forget")
async def preview_tenant(tenant: Tenant, door: TheDoor) -> WholePreview:
    """Count what would go with the whole tenant. Takes a tenant key; nothing is forgotten."""
    return await door.backend.preview_whole(_everybody(tenant), "tenant")


@router.post(
    "/v1/tenant/forget",
    status_code=HTTPStatus.ACCEPTED,
    openapi_extra=json_body(ForgetWholeRequest, _CONFIRMATION),
    responses=_ACCEPTED,
)
async def forget_tenant(
    tenant: Tenant,
    request: Annotated[ForgetWholeRequest, Depends(body(ForgetWholeRequest))],
    door: TheDoor,
    response: Response,
) -> ReceiptView:
    """Forget everybody of the tenant for good, and the tenant. Keep the answer's `capability`; the key goes too."""
    scope = _everybody(tenant)
    receipt = await door.backend.forget_whole(scope, "tenant", request.digest)
    return _with_capability(door, scope, receipt, response)


def _everybody(tenant: Tenant) -> Scope:
    return Scope(tenant_id=tenant, subject_id=SubjectId(UUID(int=0)))


def _with_capability(door: Door, scope: Scope, receipt: ReceiptView, response: Response) -> ReceiptView:
    response.headers["Location"] = f"/v1/receipts/{receipt.receipt_id}"
    capability = door.tokens.capability(scope, receipt.receipt_id)
    return receipt.model_copy(update={"capability": capability})
