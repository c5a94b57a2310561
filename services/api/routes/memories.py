"""What is kept: list it, show one."""

from http import HTTPStatus
from uuid import UUID

from fastapi import APIRouter

from events.model import MemoryId
from services.api.auth import MayReadMemories
from services.api.door import TheDoor
from services.api.openapi import ANY_PROBLEMS, problems
from services.api.problem import not_found
from services.api.routes.paging import Cursor, Limit
from services.wire.memories import MemoryDetail, MemoryPage, MemoryStatus

router = APIRouter(tags=["memories"], responses=problems(*ANY_PROBLEMS, HTTPStatus.UNPROCESSABLE_ENTITY))


@router.get("/v1/memories")
async def list_memories(
    scope: MayReadMemories,
    door: TheDoor,
    status: MemoryStatus | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> MemoryPage:
    """List what is kept, newest first."""
    return await door.backend.memories(scope, status, limit, cursor)


@router.get("/v1/memories/{memory_id}", responses=problems(HTTPStatus.NOT_FOUND))
async def show_memory(scope: MayReadMemories, memory_id: UUID, door: TheDoor) -> MemoryDetail:
    """Show one memory with its versions and sources."""
    memory = await door.backend.memory(scope, MemoryId(memory_id))
    if memory is None:
        raise not_found("memory")
    return memory
