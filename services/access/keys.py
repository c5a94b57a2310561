"""API keys: `cnk_<id>_<secret>`, of which only the id and a hash are stored.

The secret has 256 random bits, so one SHA-256 is enough: there is nothing to guess that a slow hash would slow down.
"""

import hmac
import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple, Protocol

from events.model import Frozen, TenantId
from services.access.credentials import CredentialError

PREFIX = "cnk_"
_SHAPE = re.compile(r"cnk_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)
_NOBODY = sha256(b"no such key").digest()


class PresentedKey(NamedTuple):
    """A key as somebody shows it."""

    key_id: str
    secret: str


class StoredKey(Frozen):
    """A key as we keep it: enough to recognise it, not enough to use it.

    `system` is the business system whose credential it is, None where it is the tenant's own; `owns` are the semantic
    keys that system is the authority for (R14).
    """

    key_id: str
    tenant_id: TenantId
    digest: bytes
    revoked_at: datetime | None = None
    system: str | None = None
    owns: frozenset[str] = frozenset()


class KeyStore(Protocol):
    """Where stored keys are found."""

    async def find(self, key_id: str) -> StoredKey | None:
        """Return the key of that id, revoked or not."""
        ...


class Owners(Protocol):
    """Where the owners of semantic keys are found (R14)."""

    async def owners(self, tenant_id: TenantId) -> Mapping[str, str]:
        """Return which business system owns which semantic key of a tenant."""
        ...


def mint_key(
    tenant_id: TenantId, system: str | None = None, owns: frozenset[str] = frozenset()
) -> tuple[str, StoredKey]:
    """Make a key of a tenant, or of a business system of it: the text to show once, and what to store."""
    key_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    stored = StoredKey(key_id=key_id, tenant_id=tenant_id, digest=digest_of(secret), system=system, owns=owns)
    return f"{PREFIX}{key_id}_{secret}", stored


def digest_of(secret: str) -> bytes:
    """Hash the secret part of a key."""
    return sha256(secret.encode("ascii")).digest()


def parse_key(text: str) -> PresentedKey:
    """Split a presented key.

    Raises:
        CredentialError: It does not look like `cnk_<16 hex digits>_<43 characters>`.
    """
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise CredentialError("this is not an API key; one looks like cnk_<16 hex digits>_<43 characters>")
    return PresentedKey(*match.groups())


def matches(presented: PresentedKey, stored: StoredKey | None) -> bool:
    """Compare in constant time; an unknown id takes as long as a wrong secret, and a revoked key matches nothing."""
    same = hmac.compare_digest(digest_of(presented.secret), stored.digest if stored else _NOBODY)
    return same and stored is not None and stored.key_id == presented.key_id and stored.revoked_at is None


async def holder_of(store: KeyStore, text: str) -> StoredKey | None:
    """Return the living key that a text is, or None."""
    try:
        presented = parse_key(text)
    except CredentialError:
        return None
    stored = await store.find(presented.key_id)
    return stored if stored is not None and matches(presented, stored) else None


async def tenant_of(store: KeyStore, text: str) -> TenantId | None:
    """Return the tenant whose own key a text is, or None; the key of a business system is not its tenant's."""
    stored = await holder_of(store, text)
    return stored.tenant_id if stored is not None and stored.system is None else None
