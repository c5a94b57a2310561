import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from events.model import Scope, SubjectId, TenantId
from services.access.credentials import CredentialError
from services.access.rights import RIGHTS, Right, TokenRole, may
from services.access.tokens import TokenSigner, TokenVerifier

KEY = Ed25519PrivateKey.generate()
SIGNER = TokenSigner(KEY)
SCOPE = Scope(tenant_id=TenantId(uuid4()), subject_id=SubjectId(uuid4()))
MINUTE = timedelta(minutes=1)


def claims(**changes: object) -> dict[str, Any]:
    """Make good claims, with changes; None removes one."""
    now = datetime.now(UTC)
    good = {
        "tenant": str(SCOPE.tenant_id),
        "subject": str(SCOPE.subject_id),
        "role": "agent",
        "iat": now,
        "exp": now + MINUTE,
        "jti": str(uuid4()),
        "aud": "cenotaph",
    }
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


def signed(**changes: object) -> str:
    """Sign claims with our own key."""
    return jwt.encode(claims(**changes), KEY, algorithm="EdDSA")


def b64(part: bytes) -> str:
    """Encode one part of a JWT."""
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


@pytest.mark.parametrize("role", list(TokenRole))
def test_round_trip(role: TokenRole) -> None:
    """A token gives back scope, role and expiry."""
    token, expires = SIGNER.issue(SCOPE, role, MINUTE)
    found = SIGNER.verifier.verify(token)
    assert (found.scope, found.role, found.expires_at) == (SCOPE, role, expires)


def test_public_key_is_enough() -> None:
    """A process that only checks tokens needs no private key."""
    token, _ = SIGNER.issue(SCOPE, TokenRole.AGENT, MINUTE)
    assert TokenVerifier(KEY.public_key()).verify(token).scope == SCOPE


def test_each_is_unique() -> None:
    """Two tokens minted in the same second have different ids."""
    now = datetime.now(UTC)
    assert SIGNER.issue(SCOPE, TokenRole.AGENT, MINUTE, now) != SIGNER.issue(SCOPE, TokenRole.AGENT, MINUTE, now)


def test_good_claims_pass() -> None:
    """The control of the refusals below: unchanged claims are taken."""
    assert SIGNER.verifier.verify(signed()).scope == SCOPE


def test_expired() -> None:
    """A token ends when it says."""
    token, _ = SIGNER.issue(SCOPE, TokenRole.AGENT, MINUTE, datetime.now(UTC) - MINUTE)
    with pytest.raises(CredentialError, match="expired"):
        SIGNER.verifier.verify(token)


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "another"},
        {"aud": None},
        {"exp": None},
        {"iat": None},
        {"jti": None},
        {"tenant": None},
        {"subject": None},
        {"role": None},
        {"role": "admin"},
        {"tenant": "everyone"},
        {"subject": "*"},
        {"iat": datetime.now(UTC) + timedelta(hours=1), "exp": datetime.now(UTC) + timedelta(hours=2)},
        {"exp": "tomorrow"},
    ],
)
def test_bad_claims(changes: dict[str, object]) -> None:
    """Claims that are missing, foreign or senseless are refused even under a good signature."""
    with pytest.raises(CredentialError):
        SIGNER.verifier.verify(signed(**changes))


def test_no_signature() -> None:
    """The algorithm none is refused."""
    with pytest.raises(CredentialError):
        SIGNER.verifier.verify(jwt.encode(claims(), "", algorithm="none"))


def test_public_key_as_secret() -> None:
    """A token signed by HMAC with our public key as the secret is refused (algorithm confusion)."""
    public = KEY.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    token = jwt.encode(claims(), public, algorithm="HS256")
    with pytest.raises(CredentialError):
        SIGNER.verifier.verify(token)


def test_key_in_the_header() -> None:
    """A key that comes with the token is not used."""
    other = Ed25519PrivateKey.generate()
    raw = other.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": b64(raw)}
    token = jwt.encode(claims(), other, algorithm="EdDSA", headers={"jwk": jwk})
    with pytest.raises(CredentialError):
        SIGNER.verifier.verify(token)


def test_changed_claims() -> None:
    """Claims changed after signing are refused."""
    token, _ = SIGNER.issue(SCOPE, TokenRole.AGENT, MINUTE)
    head, body, signature = token.split(".")
    changed = json.loads(base64.urlsafe_b64decode(body + "==")) | {"subject": str(UUID(int=1))}
    with pytest.raises(CredentialError):
        SIGNER.verifier.verify(f"{head}.{b64(json.dumps(changed).encode())}.{signature}")


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    """Text that is no token is a CredentialError and nothing else, and is not repeated."""
    with pytest.raises(CredentialError) as caught:
        SIGNER.verifier.verify(text)
    assert str(caught.value) == "the token is not valid here; mint one with your API key"


def test_every_role_is_in_the_table() -> None:
    """No role is forgotten, and an auditor reads receipts and nothing else."""
    assert RIGHTS.keys() == set(TokenRole)
    assert [right for right in Right if may(TokenRole.AUDITOR, right)] == [Right.READ_RECEIPTS, Right.READ_TRACES]
