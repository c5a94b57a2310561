"""Short tokens: JWT (RFC 7519) signed with Ed25519 (RFC 8037), the algorithm pinned on both sides (RFC 8725).

Whoever only checks tokens, such as the worker that takes turns from Redis, needs the public key and can mint nothing.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import AwareDatetime, ConfigDict, ValidationError

from events.model import AssistantId, EventId, Frozen, ProjectId, PurposeId, Reach, Scope, SubjectId, TaskId, TenantId
from services.access.credentials import Capability, CredentialError, TokenCredential
from services.access.rights import BOUND, TokenRole

AUDIENCE: Final = "cenotaph"
RECEIPT: Final = "cenotaph-receipt"
_ALGORITHM: Final = "EdDSA"
_CLAIMS: Final = ("tenant", "subject", "role", "iat", "exp", "jti", "aud")


class _Claims(Frozen):
    model_config = ConfigDict(extra="ignore")

    tenant: TenantId
    subject: SubjectId
    role: TokenRole
    exp: AwareDatetime
    system: str | None = None
    project: ProjectId | None = None
    task: TaskId | None = None
    assistant: AssistantId | None = None
    purpose: PurposeId | None = None

    @property
    def scope(self) -> Scope:
        """Whose memory, and how far: only the person, and who reads no content, reach everything."""
        reach = Reach(project=self.project, task=self.task, assistant=self.assistant, purpose=self.purpose)
        bound = self.role in BOUND or reach != Reach()
        return Scope(tenant_id=self.tenant, subject_id=self.subject, reach=reach if bound else None)


class _CapabilityClaims(Frozen):
    model_config = ConfigDict(extra="ignore")

    tenant: TenantId
    subject: SubjectId
    receipt: EventId


class TokenVerifier:
    """Checks tokens with the public key."""

    def __init__(self, key: Ed25519PublicKey) -> None:
        self._key = key

    def verify(self, token: str) -> TokenCredential:
        """Return whose memory the token opens, and in which part.

        Raises:
            CredentialError: It is expired, foreign, altered or no token at all.
        """
        try:
            claims = _Claims.model_validate(self._decode(token))
        except jwt.ExpiredSignatureError:
            raise CredentialError("the token has expired; mint a new one") from None
        except (jwt.InvalidTokenError, ValidationError, ValueError):
            # One sentence for all other faults: which check failed helps only somebody who forges.
            raise CredentialError("the token is not valid here; mint one with your API key") from None
        return TokenCredential(scope=claims.scope, role=claims.role, expires_at=claims.exp, system=claims.system)

    def capability(self, text: str) -> Capability | None:
        """Return which receipt a capability opens, None where it is none of ours."""
        try:
            claims = _CapabilityClaims.model_validate(
                jwt.decode(text, self._key, algorithms=[_ALGORITHM], audience=RECEIPT)
            )
        except (jwt.InvalidTokenError, ValidationError, ValueError):
            return None
        return Capability(scope=Scope(tenant_id=claims.tenant, subject_id=claims.subject), receipt_id=claims.receipt)

    def _decode(self, token: str) -> dict[str, Any]:
        return jwt.decode(
            token, self._key, algorithms=[_ALGORITHM], audience=AUDIENCE, options={"require": list(_CLAIMS)}
        )


class TokenSigner:
    """Mints tokens with the private key, and checks them."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.verifier = TokenVerifier(key.public_key())

    def capability(self, scope: Scope, receipt_id: EventId) -> str:
        """Write the capability of a receipt: the same each time, and without an end."""
        claims = {
            "tenant": str(scope.tenant_id),
            "subject": str(scope.subject_id),
            "receipt": str(receipt_id),
            "aud": RECEIPT,
        }
        return jwt.encode(claims, self._key, algorithm=_ALGORITHM)

    def issue(
        self, scope: Scope, role: TokenRole, ttl: timedelta, now: datetime | None = None, *, system: str | None = None
    ) -> tuple[str, datetime]:
        """Mint a token that reaches as far as its scope; returns it and its end (whole seconds, as a JWT counts)."""
        issued = (now or datetime.now(UTC)).replace(microsecond=0)
        expires = issued + ttl
        claims = {
            "tenant": str(scope.tenant_id),
            "subject": str(scope.subject_id),
            "role": role.value,
            "iat": issued,
            "exp": expires,
            "jti": str(uuid4()),
            "aud": AUDIENCE,
        }
        if system is not None:
            claims["system"] = system
        claims |= {name: str(each) for name, each in scope.audience if each is not None}
        return jwt.encode(claims, self._key, algorithm=_ALGORITHM), expires
