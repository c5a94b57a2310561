"""A secret in disguise reaches no event, row, queue, file, log line or metric (R10)."""

from collections.abc import AsyncIterator

import pytest

from ops.bench.governance.dump import hits_in_stores
from services.wire.facts import SystemFact
from services.wire.turns import MessageIn
from tests.plant import START, Plant, planted

SECRETS = {
    "我的卡号是４０１２８８８８８８８８１８８１，先别外传": "4012888888881881",
    "身份证\u200b号１１０１０１ 19900307 0003": "110101199003070003",
    "门禁口令改成了 海棠7788xx，记得告诉保洁": "海棠7788xx",
    "短信验证\u200d码是 884213": "884213",
    "the passcode is now Zebra#4471q": "Zebra#4471q",
    "用eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhYmMifQ.c2lnbmF0dXJlLXBhcnQ试试": "c2lnbmF0dXJlLXBhcnQ",
    "请记住\n5555\n5555 5555 4444\n是我的银行卡": "5555555555554444",
}


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run servers of this module's own, with a business system."""
    async with planted(tmp_path_factory.mktemp("secrets")) as plant:
        await plant.composition.register_system(plant.tenant, "crm", frozenset({"membership.tier"}))
        yield plant


async def test_no_store_and_no_log_line_holds_a_secret(plant: Plant, capfd: pytest.CaptureFixture[str]) -> None:
    """Said by the person, the agent or a tool, stated by a system, or described as not to be remembered: all gone."""
    scope = await plant.person()
    backend = plant.composition.backend
    turn = plant.turn("占位")
    roles = ("user", "assistant", "tool")
    messages = tuple(
        MessageIn.model_validate({"message_id": f"m{number}", "role": roles[number % 3], "content": text})
        for number, text in enumerate((*SECRETS, "好的。", "好的。", "请记住我喜欢黑芝麻。"))
    )
    await plant.rememberer.consider(await plant.placed(scope, turn.model_copy(update={"messages": messages})))
    for number, said in enumerate(SECRETS):
        await backend.suppress(scope, said)
        fact = SystemFact(fact_id=f"f{number}", key="membership.tier", value=said, occurred_at=START)
        position = await plant.stated(scope, "crm", fact)
        assert position is not None
        await plant.rememberer.consider(position)
    await plant.follow()
    assert await plant.recalled(scope, "黑芝麻")  # the control: what is no secret is there
    found = await hits_in_stores(plant.composition, [*SECRETS.values(), "黑芝麻"])
    assert {hit.needle for hit in found} <= {"黑芝麻"}
    printed = "".join(capfd.readouterr())
    assert not [secret for secret in SECRETS.values() if secret in printed]
