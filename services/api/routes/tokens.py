"""Minting tokens."""

from datetime import timedelta
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends

from events.model import Scope
from services.access.credentials import SystemCredential
from services.access.rights import BOUND, TokenRole
from services.api.auth import Minter
from services.api.body import body
from services.api.door import TheDoor
from services.api.minting import TokenAnswer, TokenRequest
from services.api.openapi import ANY_PROBLEMS, BODY_PROBLEMS, Examples, json_body, problems
from services.api.problem import Refusal
from services.wire.names import UNBOUND

router = APIRouter(tags=["tokens"], responses=problems(*ANY_PROBLEMS, *BODY_PROBLEMS))

_EXAMPLES: Examples = {
    "agent": {"subject": "user-17", "role": "agent"},
    "agent in a project": {"subject": "user-17", "role": "agent", "project": "atlas"},
    "assistant for a purpose": {
        "subject": "user-17",
        "role": "agent",
        "assistant": "coach",
        "purpose": "health coaching",
    },
    "person (zh)": {"subject": "用户-17", "role": "person", "ttl_s": 3600},
}


@router.post("/v1/tokens", openapi_extra=json_body(TokenRequest, _EXAMPLES))
async def mint_token(
    minter: Minter, request: Annotated[TokenRequest, Depends(body(TokenRequest))], door: TheDoor
) -> TokenAnswer:
    """Mint a short token for one person's memory. Takes a tenant key, or a system's own for the role `system`."""
    system = minter.system if isinstance(minter, SystemCredential) else None
    if (request.role is TokenRole.SYSTEM) != (system is not None):
        raise Refusal(
            HTTPStatus.FORBIDDEN, "forbidden", "a system's own key mints the role system, a tenant key the others"
        )
    bound = request.bounds != UNBOUND
    if bound and request.role not in BOUND:
        detail = "only the roles agent and workflow are bound to a project, a task, an assistant or a purpose"
        raise Refusal(HTTPStatus.FORBIDDEN, "forbidden", detail)
    subject_id = await door.backend.subject(minter.tenant_id, request.subject)
    scope = Scope(tenant_id=minter.tenant_id, subject_id=subject_id)
    if bound:
        scope = await door.backend.bound(scope, request.bounds)
    token, expires_at = door.tokens.issue(scope, request.role, timedelta(seconds=request.ttl_s), system=system)
    return TokenAnswer(token=token, expires_at=expires_at)
