"""Minting short tokens with a tenant key: only HTTP does this, so its schemas live here."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from events.model import Frozen
from services.access.rights import TokenRole
from services.wire.names import Bounds
from services.wire.request import Request
from services.wire.text import OutsideId


class TokenRequest(Request):
    """For whom, in which part, for how many seconds. `subject` is the caller's own id of the person.

    `project`, `task_id`, `assistant` and `purpose`, the caller's own ids too, bind an agent or a workflow: what it
    writes is for them. In a project it reads only what is for that project, and nothing private. What is for a task, an
    assistant or a purpose only a token of the same one reads.
    """

    subject: OutsideId
    role: TokenRole
    ttl_s: Annotated[int, Field(ge=60, le=86_400, strict=True)] = 900
    project: OutsideId | None = None
    task_id: OutsideId | None = None
    assistant: OutsideId | None = None
    purpose: OutsideId | None = None

    @property
    def bounds(self) -> Bounds:
        """What the token is bound to."""
        return Bounds(self.project, self.task_id, self.assistant, self.purpose)


class TokenAnswer(Frozen):
    """A bearer token for one person's memory."""

    token: str
    expires_at: datetime
