"""What the person chooses for all memories to come: consents, and what not to remember."""

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path

from events.model import MemoryId
from services.api.auth import MayChoose, MayReadMemories
from services.api.body import body
from services.api.door import TheDoor
from services.api.openapi import ANY_PROBLEMS, BODY_PROBLEMS, Examples, json_body, problems
from services.api.problem import not_found
from services.wire.choices import (
    ConsentPage,
    ConsentRequest,
    DescribeRequest,
    SuppressionPage,
    SuppressionView,
)

router = APIRouter(tags=["choices"], responses=problems(*ANY_PROBLEMS, HTTPStatus.UNPROCESSABLE_ENTITY))

_DESCRIPTIONS: Examples = {"zh": {"description": "我玩什么游戏"}, "en": {"description": "anything about my job search"}}
_CONSENTS: Examples = {
    "given": {"given": True},
    "given for a purpose (zh)": {"given": True, "purpose": "健康指导"},
    "withdrawn": {"given": False},
}


@router.get("/v1/consents")
async def list_consents(scope: MayReadMemories, door: TheDoor) -> ConsentPage:
    """Say of every sensitive class whether it is open."""
    return await door.backend.consents(scope)


@router.put(
    "/v1/consents/{sensitivity}",
    openapi_extra=json_body(ConsentRequest, _CONSENTS),
    responses=problems(*BODY_PROBLEMS),
)
async def consent(
    scope: MayChoose,
    sensitivity: Annotated[str, Path(pattern="^[a-z_]{1,40}$")],
    request: Annotated[ConsentRequest, Depends(body(ConsentRequest))],
    door: TheDoor,
) -> ConsentPage:
    """Open a sensitive class, which confirms what waits for it, or close it: its memories are blind at once."""
    return await door.backend.consent(scope, sensitivity, given=request.given, purpose=request.purpose)


@router.get("/v1/suppressions")
async def list_suppressions(scope: MayChoose, door: TheDoor) -> SuppressionPage:
    """List what is not remembered."""
    return await door.backend.suppressions(scope)


@router.post(
    "/v1/suppressions",
    openapi_extra=json_body(DescribeRequest, _DESCRIPTIONS),
    responses=problems(*BODY_PROBLEMS),
)
async def suppress(
    scope: MayChoose, request: Annotated[DescribeRequest, Depends(body(DescribeRequest))], door: TheDoor
) -> SuppressionView:
    """Not remember what is described, from now on, in other words too where they are recognised."""
    return await door.backend.suppress(scope, request.description)


@router.delete(
    "/v1/suppressions/{suppression_id}", status_code=HTTPStatus.NO_CONTENT, responses=problems(HTTPStatus.NOT_FOUND)
)
async def lift(scope: MayChoose, suppression_id: UUID, door: TheDoor) -> None:
    """Remember such things again, and forget what was said about it."""
    if not await door.backend.lift(scope, MemoryId(suppression_id)):
        raise not_found("suppression")
