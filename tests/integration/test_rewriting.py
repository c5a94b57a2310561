"""A model may rewrite queries; whatever it does, the query is asked (R33)."""

import asyncio
import json
from collections.abc import Iterator
from uuid import uuid4

import numpy as np
import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from events.model import Scope, SubjectId, TenantId
from projections.embedding import Embedder
from projections.models import Models
from services.context.tokenizer import count_tokens
from services.extraction.model.breaker import Breaker
from services.extraction.model.budget import Allowance, Budget
from services.extraction.model.endpoint import Endpoint
from services.recall.cache import RecallCache
from services.recall.meaning import Meaning
from services.recall.rewriting import FORM, OUTPUT_TOKENS, Rewriter
from tests.endpoint import KEY, Reply, raw, saying, serving

SCOPE = Scope(tenant_id=TenantId(uuid4()), subject_id=SubjectId(uuid4()))
QUERY, NOTE = "我住在哪个城市？", "我住在海边的一座小城。"
PLENTY = Allowance(100, 100_000)


@pytest.fixture(scope="module")
def embedder() -> Iterator[Embedder]:
    """Load the model."""
    embedder = Embedder()
    yield embedder
    embedder.close()


def rewriter(url: str, budget: Budget | None = None, within_s: float = 5) -> Rewriter:
    """Build a rewriter."""
    endpoint = Endpoint(url, "tiny", KEY, try_s=within_s, max_bytes=10_000, max_tokens=OUTPUT_TOKENS, form=FORM)
    return Rewriter(endpoint, budget or Budget(PLENTY, PLENTY), Breaker(2, 60), within_s, count_tokens)


async def test_a_note_moves_the_vector_towards_what_would_answer(embedder: Embedder) -> None:
    """The query's vector and the note's meet in the middle; asked again, the model is not."""
    async with serving(saying(json.dumps({"note": NOTE}))) as model:
        asks = rewriter(model.url)
        meaning = Meaning(Models(lambda: embedder), RecallCache(60, CollectorRegistry()), 0.5, asks)
        meant = [await meaning.of(SCOPE, [QUERY], embedder.model_id) for _ in range(2)]
        await asks.close()
    (request,) = model.requests
    note, plain = embedder.passages([NOTE])[0], embedder.query(QUERY)
    assert [each.rewriting for each in meant] == ["used", "used"]
    assert meant[0].vectors[0] @ note > plain @ note
    assert np.isclose(np.linalg.norm(meant[0].vectors[0]), 1, atol=1e-5)
    assert request.body["response_format"]["json_schema"]["schema"] == FORM
    assert json.loads(request.body["messages"][-1]["content"].splitlines()[1]) == {"query": QUERY}


BAD = {
    "no JSON": saying("我住在苏州"),
    "empty": saying(json.dumps({"note": "  "})),
    "too long": saying(json.dumps({"note": "长" * 501})),
    "another form": saying(json.dumps({"memories": []})),
    "a server error": raw("500 Oops"),
    "half an answer": raw("200 OK", b'{"choices": ['),
    "another site": raw("302 Found", b"", "Location: http://127.0.0.1:1/"),
}


@pytest.mark.parametrize("reply", BAD.values(), ids=BAD.keys())
async def test_whatever_the_model_does_the_query_is_asked(reply: Reply, embedder: Embedder) -> None:
    """The vector is that of the query alone, the trace says so, and no word of either is in a log."""
    with capture_logs() as lines:
        async with serving(reply) as model:
            asks = rewriter(model.url)
            meant = await Meaning(Models(lambda: embedder), RecallCache(60, CollectorRegistry()), 0.5, asks).of(
                SCOPE, [QUERY], embedder.model_id
            )
            await asks.close()
    assert meant.rewriting == "failed"
    assert np.array_equal(meant.vectors, [embedder.query(QUERY)])
    assert [line["event"] for line in lines] == ["query_not_rewritten"]
    assert not any(word in str(lines) for word in ("城市", "苏州", KEY.get_secret_value()))


async def test_a_silent_model_is_waited_for_once_and_then_left_alone() -> None:
    """A recall waits as long as it may; after failures the breaker spares the next ones, and the budget bounds all."""

    async def silent(*_: object) -> None:
        await asyncio.Event().wait()

    async with serving(silent) as model:
        asks = rewriter(model.url, within_s=1)
        assert [await asks.rewrite(SCOPE.tenant_id, QUERY) for _ in range(4)] == [None] * 4
        asked = len(model.requests)
        assert asked <= 2  # fewer where this machine was too busy to connect in time
        spent = rewriter(model.url, Budget(Allowance(0, 0), PLENTY))
        assert await spent.rewrite(SCOPE.tenant_id, QUERY) is None
        assert len(model.requests) == asked
        await asks.close()
        await spent.close()
