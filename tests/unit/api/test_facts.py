"""What business systems state, at the door."""

from collections.abc import Callable

import httpx
import pytest

from events.model import Scope
from services.access.rights import TokenRole
from tests.unit.api.backend import OWNED, SYSTEM_KEY, RecordingBackend
from tests.unit.api.requests import message, turn

FACT = {"fact_id": "f-1", "key": OWNED, "value": "金卡", "occurred_at": "2026-03-01T09:30:00+08:00"}


async def minted(nobody: httpx.AsyncClient, key: str, role: str) -> httpx.Response:
    """Ask for a token for one person."""
    asked = {"subject": "shen", "role": role}
    return await nobody.post("/v1/tokens", json=asked, headers={"Authorization": f"Bearer {key}"})


async def test_a_system_states_a_fact_with_its_own_credential(
    nobody: httpx.AsyncClient, backend: RecordingBackend
) -> None:
    """Its key mints a token of the role `system`; its name comes from the credential, never from the body."""
    token = (await minted(nobody, SYSTEM_KEY, "system")).json()["token"]
    bearer = {"Authorization": f"Bearer {token}"}
    answer = await nobody.post("/v1/facts", json=FACT, headers=bearer)
    assert (answer.status_code, answer.json()) == (202, {"fact_id": "f-1", "state": "stored", "position": 7})
    name, (_, system, fact) = backend.calls[-1]
    assert (name, system, fact.key, fact.value) == ("propose", "crm", OWNED, "金卡")
    assert (await nobody.get("/v1/facts/f-1", headers=bearer)).json()["turn_id"] == "f-1"
    assert (await nobody.get("/v1/facts/f-2", headers=bearer)).status_code == 404


async def test_only_what_it_owns(nobody: httpx.AsyncClient) -> None:
    """A key that is not the system's own is refused, and so is everything else that a token could do."""
    token = (await minted(nobody, SYSTEM_KEY, "system")).json()["token"]
    bearer = {"Authorization": f"Bearer {token}"}
    assert (await nobody.post("/v1/facts", json={**FACT, "key": "home.city"}, headers=bearer)).status_code == 403
    assert (await nobody.post("/v1/turns", json=turn(), headers=bearer)).status_code == 403
    assert (await nobody.get("/v1/memories", headers=bearer)).status_code == 403


@pytest.mark.parametrize("role", ["agent", "person", "auditor"])
async def test_nobody_else_states_facts(
    nobody: httpx.AsyncClient, bearer: Callable[[TokenRole], dict[str, str]], role: str
) -> None:
    """The system's key mints no other role, and no other role states facts."""
    assert (await minted(nobody, SYSTEM_KEY, role)).status_code == 403
    assert (await nobody.post("/v1/facts", json=FACT, headers=bearer(TokenRole(role)))).status_code == 403


async def test_a_tenant_key_makes_no_system(nobody: httpx.AsyncClient, backend: RecordingBackend, scope: Scope) -> None:
    """A tenant's own key mints every role but `system`, and a forged claim of the role without a name is refused."""
    assert (await minted(nobody, backend.key, "system")).status_code == 403
    assert (await minted(nobody, backend.key, "agent")).status_code == 200
    assert scope.tenant_id == backend.tenant_id


async def test_no_turn_from_outside_is_a_systems(agent: httpx.AsyncClient) -> None:
    """The origin of a system's statement cannot be named in a turn."""
    said = turn(messages=[message(role="system", origin="system")])
    assert (await agent.post("/v1/turns", json=said)).status_code == 422


@pytest.mark.parametrize(
    "changed", [{"key": "Not A Key"}, {"value": ""}, {"occurred_at": "yesterday"}, {"surplus": 1}, {"fact_id": ""}]
)
async def test_what_does_not_fit_is_refused(nobody: httpx.AsyncClient, changed: dict[str, object]) -> None:
    """A malformed fact is a 422."""
    token = (await minted(nobody, SYSTEM_KEY, "system")).json()["token"]
    answer = await nobody.post("/v1/facts", json={**FACT, **changed}, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 422
