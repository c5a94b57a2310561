"""What waits for the person: list it, confirm, refuse."""

from http import HTTPStatus
from uuid import UUID

from fastapi import APIRouter

from events.model import MemoryId, Scope
from services.api.auth import MayChoose, MayReadMemories, Reader
from services.api.door import Door, TheDoor
from services.api.openapi import ANY_PROBLEMS, problems
from services.api.problem import not_found
from services.wire.inbox import InboxPage, SettledView

router = APIRouter(tags=["inbox"], responses=problems(*ANY_PROBLEMS, HTTPStatus.UNPROCESSABLE_ENTITY))
_ABSENT = problems(HTTPStatus.NOT_FOUND)


@router.get("/v1/inbox")
async def show_inbox(scope: MayReadMemories, reader: Reader, door: TheDoor) -> InboxPage:
    """List what waits for consent, for a confirmation, or for a choice, newest first."""
    return await door.backend.inbox(scope, reader=reader)


@router.post("/v1/inbox/{memory_id}/confirm", responses=_ABSENT)
async def confirm(scope: MayChoose, memory_id: UUID, door: TheDoor) -> SettledView:
    """Make what waits a memory; of several in conflict, let this one stand."""
    return await _settle(door, scope, memory_id, confirmed=True)


@router.post("/v1/inbox/{memory_id}/refuse", responses=_ABSENT)
async def refuse(scope: MayChoose, memory_id: UUID, door: TheDoor) -> SettledView:
    """Drop what is held, with its content."""
    return await _settle(door, scope, memory_id, confirmed=False)


async def _settle(door: Door, scope: Scope, memory_id: UUID, *, confirmed: bool) -> SettledView:
    settled = await door.backend.settle(scope, MemoryId(memory_id), confirmed=confirmed)
    if settled is None:
        raise not_found("inbox entry")
    return settled
