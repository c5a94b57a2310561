from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from events.model import Scope
from services.access.keys import mint_key
from services.access.rights import TokenRole
from services.access.tokens import TokenSigner
from tests.unit.api.backend import MEMORY, RECEIPT, RecordingBackend
from tests.unit.api.requests import turn

READERS = {TokenRole.AGENT, TokenRole.PERSON}
WORKERS = READERS | {TokenRole.WORKFLOW}
LOOKERS = READERS | {TokenRole.AUDITOR}
START = {"command_id": "c", "task_id": "t", "type": "周报", "name": "sales", "goal": "write it"}
CHANGE = {"command_id": "d", "expected_version": 1, "change": {"do": "abandon"}}

MATRIX: list[tuple[str, str, object, set[TokenRole]]] = [
    ("POST", "/v1/turns", "turn", READERS),
    ("GET", "/v1/turns/t-1", None, WORKERS),
    ("POST", "/v1/context", {"query": "茶", "role": "chat"}, WORKERS),
    ("POST", "/v1/memories/search", {"query": "tea"}, WORKERS),
    ("GET", "/v1/memories", None, WORKERS),
    ("GET", f"/v1/memories/{MEMORY}", None, WORKERS),
    ("GET", f"/v1/memories/{MEMORY}/where", None, LOOKERS),
    ("POST", "/v1/forget", {"memory_id": str(MEMORY)}, READERS),
    ("GET", "/v1/receipts", None, LOOKERS),
    ("GET", f"/v1/receipts/{RECEIPT}", None, LOOKERS),
    ("POST", "/v1/tasks", START, {TokenRole.WORKFLOW}),
    ("POST", "/v1/tasks/t", CHANGE, {TokenRole.WORKFLOW}),
    ("GET", "/v1/tasks", None, WORKERS),
    ("GET", "/v1/tasks/t", None, WORKERS),
    ("GET", f"/v1/traces/{RECEIPT}", None, LOOKERS),
    ("POST", "/v1/tokens", {"subject": "x", "role": "person"}, set()),
]


@pytest.mark.parametrize("role", list(TokenRole))
@pytest.mark.parametrize(("method", "path", "body", "allowed"), MATRIX)
async def test_matrix(
    *,
    nobody: httpx.AsyncClient,
    bearer: Callable[[TokenRole], dict[str, str]],
    backend: RecordingBackend,
    method: str,
    path: str,
    body: object,
    allowed: set[TokenRole],
    role: TokenRole,
) -> None:
    """Each part reaches what the table gives it; everything else is a 403 before the backend is asked."""
    json = turn() if body == "turn" else body
    answer = await nobody.request(method, path, json=json, headers=bearer(role))
    if role in allowed:
        assert answer.is_success
    else:
        assert answer.status_code == 403
        assert backend.calls == []


async def test_a_refused_role_learns_what_to_do(
    nobody: httpx.AsyncClient, bearer: Callable[[TokenRole], dict[str, str]]
) -> None:
    """The refusal names the role that may, and where a token for it comes from."""
    answer = await nobody.get("/v1/consents", headers=bearer(TokenRole.AUDITOR))
    assert answer.status_code == 403
    refused = await nobody.put("/v1/consents/health", json={"consent": "given"}, headers=bearer(TokenRole.AGENT))
    assert "mint one with POST /v1/tokens for the role person" in refused.json()["detail"]


@pytest.mark.parametrize("role", sorted(READERS))
async def test_the_backend_is_told_in_which_part_somebody_reads(
    nobody: httpx.AsyncClient,
    bearer: Callable[[TokenRole], dict[str, str]],
    backend: RecordingBackend,
    role: TokenRole,
) -> None:
    """Every call that shows memories as they are kept passes the part of the token on, for it decides what is shown."""
    paths = ("/v1/memories", f"/v1/memories/{MEMORY}", f"/v1/memories/{MEMORY}/explain", "/v1/inbox")
    for path in paths:
        assert (await nobody.get(path, headers=bearer(role))).is_success
    preview = await nobody.post("/v1/forget/preview", json={"description": "tea"}, headers=bearer(role))
    assert preview.is_success
    assert backend.readers == [role] * 5


@pytest.mark.parametrize(("method", "path"), [case[:2] for case in MATRIX if case[1] != "/v1/tokens"])
async def test_tenant_key_opens_nothing(
    nobody: httpx.AsyncClient, backend: RecordingBackend, method: str, path: str
) -> None:
    """A tenant key mints tokens; it reads and writes no memory."""
    answer = await nobody.request(method, path, headers={"Authorization": f"Bearer {backend.key}"})
    assert answer.status_code == 403
    assert backend.calls == []


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Basic dTpw", "Bearer \u00e9", "cnk_x", "Bearer a b"]
)
@pytest.mark.parametrize(("method", "path"), [case[:2] for case in MATRIX])
async def test_no_credential(
    nobody: httpx.AsyncClient, backend: RecordingBackend, method: str, path: str, header: str | None
) -> None:
    """Without a credential every route is a 401 that says how to send one, and no body is read."""
    headers = {} if header is None else {b"Authorization": header.encode("latin-1")}
    answer = await nobody.request(method, path, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.headers["content-type"] == "application/problem+json"
    assert backend.calls == []


async def test_unknown_key(nobody: httpx.AsyncClient, scope: Scope) -> None:
    """A well-formed key that nobody has is a 401."""
    key, _ = mint_key(scope.tenant_id)
    answer = await nobody.post("/v1/tokens", headers={"Authorization": f"Bearer {key}"}, json={})
    assert answer.status_code == 401
    assert key not in answer.text


async def test_expired_token(nobody: httpx.AsyncClient, signer: TokenSigner, scope: Scope) -> None:
    """An expired token is a 401 that says so."""
    then = datetime.now(UTC) - timedelta(hours=1)
    token, _ = signer.issue(scope, TokenRole.AGENT, timedelta(minutes=15), then)
    answer = await nobody.get("/v1/memories", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401
    assert "expired" in answer.json()["detail"]


async def test_foreign_signature(nobody: httpx.AsyncClient, scope: Scope) -> None:
    """A token of another installation is a 401."""
    token, _ = TokenSigner(Ed25519PrivateKey.generate()).issue(scope, TokenRole.AGENT, timedelta(minutes=5))
    answer = await nobody.get("/v1/memories", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401


async def test_token_in_the_query(nobody: httpx.AsyncClient, bearer: Callable[[TokenRole], dict[str, str]]) -> None:
    """A token in the address is ignored: addresses end up in logs."""
    token = bearer(TokenRole.AGENT)["Authorization"].removeprefix("Bearer ")
    assert (await nobody.get("/v1/memories", params={"access_token": token})).status_code == 401


async def test_exports_are_the_persons_own_or_the_tenants(
    nobody: httpx.AsyncClient,
    bearer: Callable[[TokenRole], dict[str, str]],
    backend: RecordingBackend,
    scope: Scope,
) -> None:
    """A person exports themselves, a tenant key sets for training and evaluation; agents and auditors nothing."""
    tenant = {"Authorization": f"Bearer {backend.key}"}
    person = bearer(TokenRole.PERSON)
    for headers, purpose, status in (
        (person, "download", 200),
        (person, "training", 200),
        (tenant, "training", 200),
        (tenant, "evaluation", 200),
        (tenant, "download", 403),
        (bearer(TokenRole.AGENT), "download", 403),
        (bearer(TokenRole.AUDITOR), "evaluation", 403),
        (person, "curiosity", 422),
    ):
        answer = await nobody.post("/v1/exports", json={"purpose": purpose}, headers=headers)
        assert answer.status_code == status, (purpose, answer.text)
    owners = [args[0] for name, args in backend.calls if name == "export"]
    assert owners == [scope, scope, scope.tenant_id, scope.tenant_id]
    for role, status in ((TokenRole.PERSON, 200), (TokenRole.AGENT, 403), (TokenRole.AUDITOR, 403)):
        assert (await nobody.get("/v1/exports", headers=bearer(role))).status_code == status
        assert (await nobody.get(f"/v1/exports/{RECEIPT}", headers=bearer(role))).status_code == status
    assert (await nobody.get(f"/v1/exports/{MEMORY}", headers=tenant)).status_code == 404
