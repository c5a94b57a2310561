"""Exports: a person's own memories, or a tenant's sets for training and evaluation."""

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends
from starlette.responses import StreamingResponse

from events.model import Scope
from services.api.auth import MayExport
from services.api.body import body
from services.api.door import TheDoor
from services.api.openapi import ANY_PROBLEMS, BODY_PROBLEMS, Examples, json_body, problems
from services.api.problem import Refusal, not_found
from services.wire.exports import ExportDetail, ExportPage, ExportRequest

router = APIRouter(tags=["exports"], responses=problems(*ANY_PROBLEMS, HTTPStatus.UNPROCESSABLE_ENTITY))

_MEDIA_TYPE = "application/x-ndjson"
_EXAMPLES: Examples = {"a person's own": {"purpose": "download"}, "a tenant's set": {"purpose": "training"}}
_LINES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A head, one line a memory version, a tail; without the tail it was cut short",
        "content": {_MEDIA_TYPE: {}},
    }
}


@router.post(
    "/v1/exports",
    response_class=StreamingResponse,
    openapi_extra=json_body(ExportRequest, _EXAMPLES),
    responses={**_LINES, **problems(*BODY_PROBLEMS)},
)
async def export_memories(
    owner: MayExport, request: Annotated[ExportRequest, Depends(body(ExportRequest))], door: TheDoor
) -> StreamingResponse:
    """Stream memories as JSON lines: all versions to the person, with a tenant key what those who agreed have current.

    Sensitive classes are in no tenant's set. Every line is registered before it leaves: a deletion names the exports
    that hold what it deleted.
    """
    if not isinstance(owner, Scope) and request.purpose == "download":
        raise Refusal(
            HTTPStatus.FORBIDDEN,
            "forbidden",
            "a download is the person's own: mint a token with POST /v1/tokens for the role person",
        )
    lines = door.backend.export(owner, request.purpose)
    first = await anext(lines)  # a store that is down is answered, not cut short
    return StreamingResponse(_after(first, lines), media_type=_MEDIA_TYPE)


@router.get("/v1/exports")
async def list_exports(owner: MayExport, door: TheDoor) -> ExportPage:
    """List the newest exports: the person's own, or with a tenant key the tenant's."""
    return await door.backend.exports(owner)


@router.get("/v1/exports/{export_id}", responses=problems(HTTPStatus.NOT_FOUND))
async def check_export(owner: MayExport, export_id: UUID, door: TheDoor) -> ExportDetail:
    """Say which lines of an export have been forgotten since, and the digest its file must have."""
    found = await door.backend.export_detail(owner, export_id)
    if found is None:
        raise not_found("export")
    return found


async def _after(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for line in rest:
        yield line
