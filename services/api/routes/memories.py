"""What is kept: list it, show one, set one aside."""

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from events.model import MemoryId, Scope
from services.api.auth import MayChoose, MayForget, MayReadMemories, MayReadReceipts, Reader
from services.api.body import body
from services.api.door import Door, TheDoor
from services.api.openapi import ANY_PROBLEMS, BODY_PROBLEMS, Examples, json_body, problems
from services.api.problem import not_found
from services.api.routes.paging import Cursor, Limit
from services.wire.explain import Explanation
from services.wire.memories import (
    AudienceView,
    MemoryDetail,
    MemoryPage,
    MemoryStatus,
    MoveRequest,
    SuspensionView,
)
from services.wire.where import WhereView

router = APIRouter(tags=["memories"], responses=problems(*ANY_PROBLEMS, HTTPStatus.UNPROCESSABLE_ENTITY))

_AUDIENCES: Examples = {
    "a project": {"project": "atlas"},
    "an assistant for a purpose (zh)": {"assistant": "教练", "purpose": "健康指导"},
    "private, for all": {},
}


@router.get("/v1/memories")
async def list_memories(  # noqa: PLR0917 - FastAPI passes by name
    scope: MayReadMemories,
    reader: Reader,
    door: TheDoor,
    status: MemoryStatus | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> MemoryPage:
    """List what is kept, newest first."""
    return await door.backend.memories(scope, status, limit, cursor, reader=reader)


@router.get("/v1/memories/{memory_id}", responses=problems(HTTPStatus.NOT_FOUND))
async def show_memory(scope: MayReadMemories, reader: Reader, memory_id: UUID, door: TheDoor) -> MemoryDetail:
    """Show one memory with its versions and sources."""
    memory = await door.backend.memory(scope, MemoryId(memory_id), reader=reader)
    if memory is None:
        raise not_found("memory")
    return memory


@router.post("/v1/memories/{memory_id}/suspend", responses=problems(HTTPStatus.NOT_FOUND))
async def suspend_memory(scope: MayForget, memory_id: UUID, door: TheDoor) -> SuspensionView:
    """Set a memory aside: no agent reads it until it is resumed. Reversible: nothing is destroyed."""
    return await _suspend(scope, memory_id, door, suspended=True)


@router.post("/v1/memories/{memory_id}/resume", responses=problems(HTTPStatus.NOT_FOUND))
async def resume_memory(scope: MayForget, memory_id: UUID, door: TheDoor) -> SuspensionView:
    """Use a memory again that was set aside."""
    return await _suspend(scope, memory_id, door, suspended=False)


async def _suspend(scope: Scope, memory_id: UUID, door: Door, *, suspended: bool) -> SuspensionView:
    view = await door.backend.suspend(scope, MemoryId(memory_id), suspended=suspended)
    if view is None:
        raise not_found("memory")
    return view


@router.put(
    "/v1/memories/{memory_id}/audience",
    openapi_extra=json_body(MoveRequest, _AUDIENCES),
    responses=problems(HTTPStatus.NOT_FOUND, *BODY_PROBLEMS),
)
async def move_memory(
    scope: MayChoose, memory_id: UUID, request: Annotated[MoveRequest, Depends(body(MoveRequest))], door: TheDoor
) -> AudienceView:
    """Say which readers a memory is for; what is left out binds it to none. The conversation it was said in stays."""
    moved = await door.backend.move(scope, MemoryId(memory_id), request)
    if moved is None:
        raise not_found("memory")
    return moved


@router.get("/v1/memories/{memory_id}/explain", responses=problems(HTTPStatus.NOT_FOUND))
async def explain_memory(scope: MayReadMemories, reader: Reader, memory_id: UUID, door: TheDoor) -> Explanation:
    """Say why a memory is there, or a candidate is not: every gate, the features, the policy, the evidence."""
    explanation = await door.backend.explain(scope, MemoryId(memory_id), reader=reader)
    if explanation is None:
        raise not_found("memory")
    return explanation


@router.get("/v1/memories/{memory_id}/where", responses=problems(HTTPStatus.NOT_FOUND))
async def locate_memory(scope: MayReadReceipts, memory_id: UUID, door: TheDoor) -> WhereView:
    """Say which layers hold a memory now, at which version and position, and who may read it there; nothing it says."""
    found = await door.backend.where(scope, MemoryId(memory_id))
    if found is None:
        raise not_found("memory")
    return found
