"""How an answer came about."""

from http import HTTPStatus
from uuid import UUID

from fastapi import APIRouter

from services.api.auth import MayReadTraces
from services.api.door import TheDoor
from services.api.openapi import ANY_PROBLEMS, problems
from services.api.problem import not_found
from services.wire.traces import TraceView

router = APIRouter(tags=["traces"], responses=problems(*ANY_PROBLEMS, HTTPStatus.UNPROCESSABLE_ENTITY))


@router.get("/v1/traces/{trace_id}", responses=problems(HTTPStatus.NOT_FOUND))
async def show_trace(scope: MayReadTraces, trace_id: UUID, door: TheDoor) -> TraceView:
    """Show how a context or search came about, by its `context_id`: why each memory came or did not; no content."""
    trace = await door.backend.trace(scope, trace_id)
    if trace is None:
        raise not_found("trace")
    return trace
