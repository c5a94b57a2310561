"""What every router reaches for: the backend, the tokens and the limits."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from services.access.tokens import TokenSigner
from services.api.backend import Backend
from services.wire.limits import Limits


@dataclass(frozen=True, slots=True)
class Door:
    """The parts of one running door."""

    backend: Backend
    tokens: TokenSigner
    limits: Limits


def door_of(request: Request) -> Door:
    """Return the door this request came through."""
    door: Door = request.app.state.door
    return door


TheDoor = Annotated[Door, Depends(door_of)]
