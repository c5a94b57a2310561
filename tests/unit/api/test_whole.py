"""The calls that forget a whole person or tenant, and the capability that is left."""

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from events.model import EventId, Scope
from services.access.rights import TokenRole
from services.access.tokens import TokenSigner
from tests.unit.api.backend import DIGEST, RECEIPT, RecordingBackend


async def test_only_the_person_forgets_the_person_and_only_the_key_the_tenant(
    nobody: httpx.AsyncClient, bearer: Callable[[TokenRole], dict[str, str]], backend: RecordingBackend
) -> None:
    """An agent may not, the digest must be that of the preview, and a tenant goes by its key alone."""
    person, agent, tenant = (
        bearer(TokenRole.PERSON),
        bearer(TokenRole.AGENT),
        {"Authorization": f"Bearer {backend.key}"},
    )
    for headers, path, status in (
        (person, "/v1/person/forget", 202),
        (agent, "/v1/person/forget", 403),
        (tenant, "/v1/person/forget", 403),
        (tenant, "/v1/tenant/forget", 202),
        (person, "/v1/tenant/forget", 403),
    ):
        shown = await nobody.get(path, headers=headers)
        assert shown.status_code == (200 if status == 202 else status)
        assert (await nobody.post(path, headers=headers, json={"digest": DIGEST})).status_code == status
    stale = await nobody.post("/v1/person/forget", headers=person, json={"digest": "0" * 64})
    assert stale.status_code == 409
    asked = [args[1] for name, args in backend.calls if name == "forget_whole"]
    assert asked == ["person", "tenant", "person"]


async def test_a_capability_opens_its_receipt_and_nothing_else(
    nobody: httpx.AsyncClient, bearer: Callable[[TokenRole], dict[str, str]]
) -> None:
    """It comes with the answer, is the same each time, closes what cannot be proven, and is no token."""
    person = bearer(TokenRole.PERSON)
    first, again = [
        (await nobody.post("/v1/person/forget", headers=person, json={"digest": DIGEST})).json() for _ in range(2)
    ]
    assert first["capability"] == again["capability"]
    held = {"Authorization": f"Bearer {first['capability']}"}
    assert (await nobody.get(f"/v1/receipts/{RECEIPT}", headers=held)).json()["receipt_id"] == str(RECEIPT)
    assert (await nobody.post(f"/v1/receipts/{RECEIPT}/close", headers=held)).status_code == 200
    assert (await nobody.post(f"/v1/receipts/{uuid4()}/close", headers=held)).status_code == 401
    for path in (f"/v1/receipts/{uuid4()}", "/v1/receipts", "/v1/memories", "/v1/person/forget"):
        assert (await nobody.get(path, headers=held)).status_code == 401


def test_no_capability_is_made_of_a_token_or_by_another_key(scope: Scope, signer: TokenSigner) -> None:
    """Tokens and capabilities do not pass for each other, and a foreign signature opens nothing."""
    token, _ = signer.issue(scope, TokenRole.PERSON, timedelta(minutes=5))
    receipt = EventId(uuid4())
    assert signer.verifier.capability(token) is None
    assert TokenSigner(Ed25519PrivateKey.generate()).verifier.capability(signer.capability(scope, receipt)) is None
    held = signer.verifier.capability(signer.capability(scope, receipt))
    assert held is not None
    assert (held.scope, held.receipt_id) == (scope, receipt)
