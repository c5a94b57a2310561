"""The profile of a person."""

from http import HTTPStatus

from fastapi import APIRouter

from services.api.auth import MayReadMemories, Reader
from services.api.door import TheDoor
from services.api.openapi import ANY_PROBLEMS, problems
from services.wire.profile import ProfileView

router = APIRouter(tags=["profile"], responses=problems(*ANY_PROBLEMS, HTTPStatus.UNPROCESSABLE_ENTITY))


@router.get("/v1/profile")
async def show_profile(scope: MayReadMemories, reader: Reader, door: TheDoor) -> ProfileView:
    """Show every field of the profile: what it is for, who sees and changes it, until when it is kept, its values."""
    return await door.backend.profile(scope, reader=reader)
