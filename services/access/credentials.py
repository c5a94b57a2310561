"""What a bearer string turns out to be, once it is checked."""

from datetime import datetime
from typing import Literal

from events.errors import CenotaphError
from events.model import EventId, Frozen, Scope, TenantId
from services.access.rights import TokenRole


class CredentialError(CenotaphError):
    """The credential does not hold; the message says what to do, and nothing about who else exists."""


class TenantCredential(Frozen):
    """A tenant's own key: it mints tokens and does nothing else."""

    kind: Literal["tenant"] = "tenant"
    tenant_id: TenantId


class SystemCredential(Frozen):
    """A business system's own key: it mints tokens of the role `system` for itself and does nothing else."""

    kind: Literal["system"] = "system"
    tenant_id: TenantId
    system: str


class TokenCredential(Frozen):
    """A short token: one person's memory, in one part. `system` names the business system that holds it."""

    kind: Literal["token"] = "token"
    scope: Scope
    role: TokenRole
    expires_at: datetime
    system: str | None = None


class Capability(Frozen):
    """Opens one receipt, and nothing else: what is left to somebody who was forgotten as a whole."""

    scope: Scope
    receipt_id: EventId


Credential = TenantCredential | SystemCredential | TokenCredential
