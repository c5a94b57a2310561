"""Bearer credentials at the door: a tenant key mints tokens, a token opens one person's memory."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from events.model import Scope, TenantId
from services.access.credentials import (
    Credential,
    CredentialError,
    SystemCredential,
    TenantCredential,
    TokenCredential,
)
from services.access.keys import PREFIX
from services.access.rights import Right, TokenRole, may
from services.api.door import Door, TheDoor
from services.api.problem import Refusal

_KEY = HTTPBearer(scheme_name="tenant key", description="`cnk_<id>_<secret>`; mints tokens only", auto_error=False)
_TOKEN = HTTPBearer(scheme_name="token", description="A short token of POST /v1/tokens", auto_error=False)
_EITHER = HTTPBearer(
    scheme_name="token or tenant key", description="A person's own token, or the tenant's key", auto_error=False
)

_HINT = "a token of the role {role} may not do this ({right}); mint one with POST /v1/tokens for the role {able}"

Bearer = HTTPAuthorizationCredentials | None


def _unauthorized(detail: str) -> Refusal:
    return Refusal(
        HTTPStatus.UNAUTHORIZED,
        "unauthorized",
        detail,
        headers={"WWW-Authenticate": 'Bearer realm="cenotaph"'},
        counted="credential",
    )


def _forbidden(detail: str) -> Refusal:
    return Refusal(HTTPStatus.FORBIDDEN, "forbidden", detail, counted="role")


def _able(right: Right) -> str:
    return " or ".join(role.value for role in TokenRole if may(role, right))


async def credential_of(door: Door, bearer: Bearer) -> Credential:
    """Check what was presented.

    Raises:
        Refusal: Nothing was, or it does not hold (401).
    """
    if bearer is None or not bearer.credentials:
        raise _unauthorized("send Authorization: Bearer with a tenant key or a token")
    if bearer.credentials.startswith(PREFIX):
        held = await door.backend.holder_of_key(bearer.credentials)
        if held is None:
            raise _unauthorized("the API key is not valid")
        if held.system is not None:
            return SystemCredential(tenant_id=held.tenant_id, system=held.system)
        return TenantCredential(tenant_id=held.tenant_id)
    try:
        return door.tokens.verifier.verify(bearer.credentials)
    except CredentialError as error:
        raise _unauthorized(str(error)) from None


async def _minter(door: TheDoor, bearer: Annotated[Bearer, Security(_KEY)]) -> TenantCredential | SystemCredential:
    credential = await credential_of(door, bearer)
    if isinstance(credential, TokenCredential):
        raise _forbidden("only a tenant key, or a system's own, may mint tokens")
    return credential


async def _token(door: TheDoor, bearer: Annotated[Bearer, Security(_TOKEN)]) -> TokenCredential:
    credential = await credential_of(door, bearer)
    if not isinstance(credential, TokenCredential):
        raise _forbidden("a key mints tokens only; send a token")
    return credential


_Token = Annotated[TokenCredential, Depends(_token)]


async def _reader(credential: _Token) -> TokenRole:
    return credential.role


def allowed(right: Right) -> Callable[[TokenCredential], Awaitable[Scope]]:
    """Make the dependency that returns the scope of a token with this right."""

    async def scope_of(credential: _Token) -> Scope:
        if not may(credential.role, right):
            raise _forbidden(_HINT.format(role=credential.role, right=right.replace("_", " "), able=_able(right)))
        return credential.scope

    return scope_of


async def _exporter(door: TheDoor, bearer: Annotated[Bearer, Security(_EITHER)]) -> Scope | TenantId:
    credential = await credential_of(door, bearer)
    if isinstance(credential, TenantCredential):
        return credential.tenant_id
    role = TokenRole.SYSTEM if isinstance(credential, SystemCredential) else credential.role
    if isinstance(credential, SystemCredential) or not may(role, Right.EXPORT):
        raise _forbidden(_HINT.format(role=role, right="export", able=_able(Right.EXPORT)))
    return credential.scope


def _receipt_by(right: Right) -> Callable[..., Awaitable[Scope]]:
    """Make the dependency that returns whose receipt it is: by the capability of just this receipt, or by a token."""

    async def scope_of(door: TheDoor, bearer: Annotated[Bearer, Security(_TOKEN)], request: Request) -> Scope:
        held = None if bearer is None else door.tokens.verifier.capability(bearer.credentials)
        if held is not None and str(held.receipt_id) == request.path_params["receipt_id"].lower():
            return held.scope
        return await allowed(right)(await _token(door, bearer))

    return scope_of


async def _tenant(door: TheDoor, bearer: Annotated[Bearer, Security(_KEY)]) -> TenantId:
    credential = await credential_of(door, bearer)
    if not isinstance(credential, TenantCredential):
        raise _forbidden("only a tenant's own key may do this")
    return credential.tenant_id


Tenant = Annotated[TenantId, Depends(_tenant)]


async def _proposer(credential: _Token) -> TokenCredential:
    if not may(credential.role, Right.PROPOSE_FACTS) or credential.system is None:
        right, able = "propose facts", _able(Right.PROPOSE_FACTS)
        raise _forbidden(_HINT.format(role=credential.role, right=right, able=able))
    return credential


Minter = Annotated[TenantCredential | SystemCredential, Depends(_minter)]
Proposer = Annotated[TokenCredential, Depends(_proposer)]
Reader = Annotated[TokenRole, Depends(_reader)]
MayWriteTurns = Annotated[Scope, Depends(allowed(Right.WRITE_TURNS))]
MayReadTurns = Annotated[Scope, Depends(allowed(Right.READ_TURNS))]
MayReadMemories = Annotated[Scope, Depends(allowed(Right.READ_MEMORIES))]
MayForget = Annotated[Scope, Depends(allowed(Right.FORGET))]
MayChoose = Annotated[Scope, Depends(allowed(Right.CHOOSE))]
MayReadTasks = Annotated[Scope, Depends(allowed(Right.READ_TASKS))]
MayWriteTasks = Annotated[Scope, Depends(allowed(Right.WRITE_TASKS))]
MayExport = Annotated[Scope | TenantId, Depends(_exporter)]


MayForgetAll = Annotated[Scope, Depends(allowed(Right.FORGET_ALL))]
MayReadReceipts = Annotated[Scope, Depends(allowed(Right.READ_RECEIPTS))]
MayReadReceipt = Annotated[Scope, Depends(_receipt_by(Right.READ_RECEIPTS))]
MayCloseReceipt = Annotated[Scope, Depends(_receipt_by(Right.CHOOSE))]
MayReadTraces = Annotated[Scope, Depends(allowed(Right.READ_TRACES))]
