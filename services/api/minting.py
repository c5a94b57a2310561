"""Minting short tokens with a tenant key: only HTTP does this, so its schemas live here."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from events.model import Frozen
from services.access.rights import TokenRole
from services.wire.request import Request
from services.wire.text import OutsideId


class TokenRequest(Request):
    """For whom, in which part, for how many seconds. `subject` is the caller's own id of the person."""

    subject: OutsideId
    role: TokenRole
    ttl_s: Annotated[int, Field(ge=60, le=86_400, strict=True)] = 900


class TokenAnswer(Frozen):
    """A bearer token for one person's memory."""

    token: str
    expires_at: datetime
