"""Nothing of one person or tenant is given to another, whatever is asked (R30): generated attacks on the real door."""

import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from prometheus_client import CollectorRegistry

from services.access.rights import TokenRole
from services.access.tokens import TokenSigner
from services.api.app import create_app
from services.api.openapi import Api
from services.wire.limits import Limits
from tests.attacks.attack import Attack, Attacks
from tests.attacks.world import World, world
from tests.dice import dice
from tests.plant import planted

LIMITS = Limits(max_messages=50, max_message_chars=10_000, max_body_bytes=100_000)
REFUSED, SERVED = range(400, 500), range(200, 300)


@pytest.fixture(scope="module")
async def under_attack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """Let the victims live."""
    async with planted(tmp_path_factory.mktemp("attacked")) as plant:
        yield await world(plant)


@pytest.fixture
def signer() -> TokenSigner:
    """Make the signing key."""
    return TokenSigner(Ed25519PrivateKey.generate())


@pytest.fixture
def registry() -> CollectorRegistry:
    """Make what is counted in."""
    return CollectorRegistry()


@pytest.fixture
def door(under_attack: World, signer: TokenSigner, registry: CollectorRegistry) -> Api:
    """Open the real door."""
    return create_app(under_attack.plant.composition.backend, signer, LIMITS, registry=registry)


def leaks(attack: Attack, answer: httpx.Response, secrets: frozenset[str]) -> list[str]:
    """Say what of the victims an answer gives away; an id that the attacker sent in this request is not given away."""
    said = answer.text + str(answer.headers)
    return [secret for secret in secrets if secret in said and secret not in attack.sent]


@dataclass
class Outcome:
    """How many attacks were tried and refused, by kind; what was given away; what was answered oddly."""

    tried: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    leaks: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)

    def report(self) -> str:
        """Write one line for each kind, and one for all."""
        lines = [
            f"{kind:24} {count:6} attacks {self.refused[kind]:6} refused" for kind, count in sorted(self.tried.items())
        ]
        every = f"{'all':24} {self.tried.total():6} attacks {self.refused.total():6} refused"
        every += f" {len(self.leaks):6} leaks"
        return "\n".join([*lines, every, ""])


async def attacked(door: Api, world: World, attacks: Attacks, count: int) -> Outcome:
    """Carry attacks out, one after the other."""
    found, secrets = Outcome(), world.secrets
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=door), base_url="http://door") as client:
        for attack in attacks.draw(count):
            answer = await client.request(attack.method, attack.path, headers=attack.headers, content=attack.body)
            found.tried[attack.kind] += 1
            found.refused[attack.kind] += answer.status_code in REFUSED
            what = f"{attack.kind}: {attack.method} {attack.path} answered {answer.status_code}"
            if given := leaks(attack, answer, secrets):
                found.leaks.append(f"{what} and gave away {given[:2]}")
            elif answer.status_code not in REFUSED and (attack.plain or answer.status_code not in SERVED):
                found.odd.append(what)
    return found


@pytest.mark.parametrize(
    ("seed", "count"),
    [(1, 250), pytest.param(2, 10_000, marks=[pytest.mark.long, pytest.mark.timeout(5400)])],
    ids=["some", "many"],
)
async def test_no_attack_across_scopes_gets_anything(
    *, under_attack: World, door: Api, signer: TokenSigner, registry: CollectorRegistry, seed: int, count: int
) -> None:
    """No word and no id of a victim comes out, its ids are answered like ones that never were, nothing is changed."""
    before = await under_attack.state()
    attacks = Attacks(under_attack, door, signer, dice(seed))
    found = await attacked(door, under_attack, attacks, count)
    sys.stdout.write(found.report())
    assert (found.leaks, found.odd, found.tried.total()) == ([], [], count)
    # asked of one's own memory, which is answered
    assert found.refused["a victim's words"] < found.tried["a victim's words"]
    assert await under_attack.state() == before
    counted = sum(
        sample.value
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name == "cenotaph_scope_refusals_total"
    )
    assert counted > count / 10


async def test_the_attacks_would_find_a_leak(under_attack: World, door: Api, signer: TokenSigner) -> None:
    """The control: as the victim itself, the same requests give its words and ids away and are noticed."""
    victim = under_attack.victims[0]
    token, _ = signer.issue(victim.scope, TokenRole.PERSON, timedelta(minutes=5))
    headers = {"Authorization": f"Bearer {token}"}
    calls: Mapping[str, Mapping[str, Any] | None] = {
        "GET /v1/memories": None,
        "GET /v1/inbox": None,
        "GET /v1/receipts": None,
        "GET /v1/suppressions": None,
        "GET /v1/tasks": None,
        "GET /v1/exports": None,
        "GET /v1/profile": None,
        f"GET /v1/tasks/{victim.ids['task'][0]}": None,
        f"GET /v1/exports/{victim.ids['export'][0]}": None,
        f"GET /v1/traces/{victim.ids['trace'][0]}": None,
        "POST /v1/context": {"query": "我的猫叫什么名字", "role": "chat"},
        "POST /v1/memories/search": {"query": "What is my boat called?"},
        "POST /v1/forget/preview": {"description": "我的猫"},
    }
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=door), base_url="http://door") as client:
        for call, body in calls.items():
            method, path = call.split(" ")
            answer = await client.request(method, path, headers=headers, json=body)
            assert leaks(Attack("control", method, path, headers), answer, under_attack.secrets), call
