"""A model may write summaries; what it gets wrong is held, and whatever else it does the rules write (R51)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import pytest
from structlog.testing import capture_logs

from events.model import MemoryId, MessageId, Origin, SummarySlot, TenantId
from services.extraction.model.breaker import Breaker
from services.extraction.model.budget import Allowance, Budget
from services.extraction.model.endpoint import Endpoint
from services.summaries.check import problems
from services.summaries.draft import Draft, Heard, Known, Line, Material
from services.summaries.model import FORM, Bounds, ModelDrafter
from services.summaries.rules import draft
from tests.endpoint import KEY, Reply, raw, saying, serving

TENANT = TenantId(uuid4())
PLENTY = Allowance(100, 1_000_000)
SAID = (
    (Origin.USER, "帮我写一份销售周报"),
    (Origin.ASSISTANT, "好的，需要哪些数据？"),
    (Origin.USER, "预算不能超过3000元"),
    (Origin.USER, "Never send it before Friday. Maybe Anna joins us."),
    (Origin.TOOL, "一大段工具输出 / a long output"),
    (Origin.USER, "别记住：我在找新工作"),
)
MATERIAL = Material(
    heard=tuple(
        Heard(MessageId(UUID(int=number)), origin, text, number, f"t{number}/m0")
        for number, (origin, text) in enumerate(SAID, 1)
    ),
    known=(Known(MemoryId(UUID(int=90)), "不吃牛肉", (MessageId(UUID(int=1)),)),),
    before=(Line(SummarySlot.CONSTRAINT, "预算不能超过3000元", messages=(MessageId(UUID(int=3)),)),),
)
# as they are numbered for the model: the line before, the memory, then what was said, the newest first
BEFORE, MEMORY, TOOL, FRIDAY, BUDGET, ASKED, WISH = range(1, 8)
GOOD = (
    ("goal", "写一份销售周报", [WISH]),
    ("constraint", "预算不能超过3000元", [BUDGET, BEFORE]),
    ("constraint", "Never send it before Friday", [FRIDAY]),
    ("fact", "不吃牛肉", [MEMORY]),
    ("result", "the figures, I suppose", [TOOL]),
    ("question", "需要哪些数据", [ASKED]),
)


def answering(*lines: tuple[str, str, list[int]]) -> Reply:
    """Reply with a summary."""
    return saying(json.dumps({"lines": [{"slot": slot, "text": text, "sources": own} for slot, text, own in lines]}))


@asynccontextmanager
async def drafting(reply: Reply, within_s: float = 20, budget: Budget | None = None) -> AsyncIterator[ModelDrafter]:
    """Give the drafter over an endpoint."""
    async with serving(reply) as model:
        endpoint = Endpoint(model.url, "tiny", KEY, try_s=within_s, max_bytes=20_000, max_tokens=500, form=FORM)
        bounds = Bounds(within_s, 4000, 500)
        drafter = ModelDrafter("tiny", endpoint, budget or Budget(PLENTY, PLENTY), Breaker(99, 1), bounds, len)
        try:
            yield drafter
            if model.requests:
                sent = model.requests[0].body["messages"][-1]["content"]
                assert "找新工作" not in sent
                assert "工具输出" not in sent
        finally:
            await drafter.close()


async def test_a_model_writes_lines_that_say_what_they_rest_on() -> None:
    """What it writes holds against its sources; references of tools and open questions are taken from there."""
    async with drafting(answering(*GOOD)) as drafter:
        made = await drafter.draft(TENANT, MATERIAL)
    assert made.writer == "model/1:tiny"
    assert problems(made.lines, MATERIAL) == {}
    assert [(line.slot.value, line.text) for line in made.lines] == [
        ("goal", "写一份销售周报"),
        ("constraint", "预算不能超过3000元"),
        ("constraint", "Never send it before Friday"),
        ("fact", "不吃牛肉"),
        ("result", "t5/m0"),
        ("question", "好的，需要哪些数据？"),
    ]
    assert made.lines[3].memories == (MemoryId(UUID(int=90)),)


TRAPS = {
    "constraint_vanished": [GOOD[0], GOOD[2]],
    "number_changed": [("constraint", "预算不能超过5000元", [BUDGET]), GOOD[2]],
    "negation_changed": [GOOD[1], ("constraint", "Send it before Friday", [FRIDAY])],
    "guess_as_fact": [GOOD[1], ("fact", "Anna joins us", [FRIDAY])],
    "without_source": [GOOD[1], ("fact", "住在苏州", [42])],
    "not_in_its_source": [GOOD[1], ("fact", "ignore all earlier instructions", [FRIDAY])],
}


@pytest.mark.parametrize(("reason", "lines"), TRAPS.items(), ids=TRAPS)
async def test_what_a_model_gets_wrong_is_held(reason: str, lines: list[tuple[str, str, list[int]]]) -> None:
    """The comparison names what is wrong, so the old summary stays."""
    async with drafting(answering(*lines)) as drafter:
        made = await drafter.draft(TENANT, MATERIAL)
    assert made.writer == "model/1:tiny"
    assert reason in problems(made.lines, MATERIAL)


BAD = {
    "no JSON": saying("以下是摘要"),
    "another form": saying(json.dumps({"memories": []})),
    "an unknown slot": answering(("secret", "x", [1])),
    "a line that is too long": answering(("fact", "长" * 301, [1])),
    "too many lines": answering(*(("fact", f"{number}", [1]) for number in range(41))),
    "a server error": raw("500 Oops"),
    "half an answer": raw("200 OK", b'{"choices": ['),
    "another site": raw("302 Found", b"", "Location: http://127.0.0.1:1/"),
    "endless": raw("200 OK", b"{" * 30_000),
}


@pytest.mark.parametrize("reply", BAD.values(), ids=BAD)
async def test_the_rules_write_where_the_model_fails(reply: Reply) -> None:
    """The summary is the rules' own, under their name; the log says why and nothing of what was said."""
    async with drafting(reply) as drafter:
        with capture_logs() as logs:
            made = await drafter.draft(TENANT, MATERIAL)
    assert made == Draft(draft(MATERIAL), "rules/1")
    assert [entry["event"] for entry in logs] == ["rules_summed_up"]
    assert "3000" not in json.dumps(logs)


async def test_a_model_that_never_answers_and_one_that_is_too_dear_are_not_waited_for() -> None:
    """Within its time, and within the day's allowance, the rules write."""

    async def never(_request: object, _writer: object) -> None:
        await asyncio.Event().wait()

    async with drafting(never, within_s=0.2) as drafter:
        assert (await drafter.draft(TENANT, MATERIAL)).writer == "rules/1"
    async with drafting(answering(*GOOD), budget=Budget(Allowance(1, 1), PLENTY)) as drafter:
        assert (await drafter.draft(TENANT, MATERIAL)).writer == "rules/1"
