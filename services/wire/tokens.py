"""Minting short tokens with a tenant key."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from events.model import Frozen
from services.wire.request import Request
from services.wire.text import OutsideId


class TokenRole(StrEnum):
    """In which part somebody acts for a person's memory."""

    AGENT = "agent"
    PERSON = "person"
    AUDITOR = "auditor"


class TokenRequest(Request):
    """For whom, in which part, for how many seconds. `subject` is the caller's own id of the person."""

    subject: OutsideId
    role: TokenRole
    ttl_s: Annotated[int, Field(ge=60, le=86_400, strict=True)] = 900


class TokenAnswer(Frozen):
    """A bearer token for one person's memory."""

    token: str
    expires_at: datetime
