import io
import json
import logging
import re
from contextlib import redirect_stderr, redirect_stdout

import httpx
import pytest
from structlog.testing import capture_logs

from events.errors import (
    BadInputError,
    ConcurrencyError,
    ScopeError,
    TamperError,
    TurnConflictError,
    UnavailableError,
)
from services.api.openapi import Api
from services.api.server import server_config
from tests.unit.api.backend import MEMORY, RecordingBackend
from tests.unit.api.requests import turn

SECRET = "牛肉秘密beef-secret"


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (BadInputError("the cursor is not one of ours"), 422, "invalid"),
        (TurnConflictError(SECRET), 409, "turn-conflict"),
        (ConcurrencyError(SECRET, 3), 409, "conflict"),
        (ScopeError(SECRET), 403, "forbidden"),
        (UnavailableError(SECRET), 503, "unavailable"),
        (TamperError(SECRET), 500, "internal"),
        (RuntimeError(SECRET), 500, "internal"),
        (ExceptionGroup(SECRET, [ValueError(SECRET)]), 500, "internal"),
    ],
)
async def test_backend_errors(
    agent: httpx.AsyncClient, backend: RecordingBackend, error: Exception, status: int, kind: str
) -> None:
    """Each error of ours has its problem; an unknown one tells nothing, and nothing of its message is printed."""
    backend.fails = error
    printed = io.StringIO()
    with capture_logs() as logs, redirect_stdout(printed), redirect_stderr(printed):
        answer = await agent.post("/v1/turns", json=turn())
    assert answer.status_code == status
    assert answer.json()["type"] == f"urn:cenotaph:problem:{kind}"
    assert answer.headers["content-type"] == "application/problem+json"
    assert SECRET not in answer.text + printed.getvalue() + json.dumps(logs, ensure_ascii=False)
    assert [line["error"] for line in logs] == ([type(error).__name__] if status == 500 else [])
    assert all(line["request_id"] == answer.headers["x-request-id"] for line in logs)


async def test_unavailable_says_when(agent: httpx.AsyncClient, backend: RecordingBackend) -> None:
    """A 503 says when to come back."""
    backend.fails = UnavailableError("log")
    assert (await agent.get("/v1/memories")).headers["retry-after"] == "1"


async def test_headers(agent: httpx.AsyncClient) -> None:
    """No answer may be cached, and each has an id of its own."""
    one, two = await agent.get("/v1/memories"), await agent.get("/v1/nothing")
    assert one.headers["cache-control"] == two.headers["cache-control"] == "no-store"
    assert len({one.headers["x-request-id"], two.headers["x-request-id"]}) == 2


async def test_live(nobody: httpx.AsyncClient, backend: RecordingBackend) -> None:
    """The process is alive whatever its stores do."""
    backend.fails = OSError("down")
    assert (await nobody.get("/health/live")).status_code == 200


async def test_ready(nobody: httpx.AsyncClient) -> None:
    """Ready means that every store answers."""
    answer = await nobody.get("/health/ready")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "stores": {"log": "ok", "vectors": "ok"}})


async def test_not_ready(nobody: httpx.AsyncClient, backend: RecordingBackend) -> None:
    """A store that is down makes a 503 that names it and nothing more."""
    backend.stores = {"log": "ok", "vectors": "connection refused at db.internal:5432"}
    answer = await nobody.get("/health/ready")
    assert (answer.status_code, answer.json()) == (503, {"status": "down", "stores": {"log": "ok", "vectors": "down"}})


@pytest.mark.parametrize("error", [UnavailableError("log"), OSError("refused")])
async def test_health_that_fails(nobody: httpx.AsyncClient, backend: RecordingBackend, error: Exception) -> None:
    """A health check that cannot be made counts as down."""
    backend.fails = error
    assert (await nobody.get("/health/ready")).status_code == 503


async def test_metrics(agent: httpx.AsyncClient) -> None:
    """Requests are counted by route template and status; ids and methods from outside make no series."""
    await agent.get(f"/v1/memories/{MEMORY}")
    await agent.get("/v1/turns/t-beef")
    await agent.get("/v1/memories?cursor=beef")
    await agent.get("/wp-beef.php")
    await agent.request("BEEF", "/v1/memories")
    await agent.post("/v1/turns", json=turn())
    text = (await agent.get("/metrics")).text
    assert 'cenotaph_http_requests_total{method="GET",route="/v1/memories/{memory_id}",status="200"} 1.0' in text
    assert 'cenotaph_http_requests_total{method="POST",route="/v1/turns",status="202"} 1.0' in text
    assert 'cenotaph_http_requests_total{method="GET",route="unmatched",status="404"} 1.0' in text
    assert 'method="other"' in text
    assert "beef" not in text.lower()
    assert re.search(r"^cenotaph_oldest_key_epoch_age_seconds [1-9]", text, flags=re.MULTILINE)
    assert re.search(r"^cenotaph_checkpoint_age_seconds [1-9]", text, flags=re.MULTILINE)
    assert "cenotaph_events_without_checkpoint 5.0" in text
    assert str(MEMORY) not in text


async def test_metrics_of_read_models(agent: httpx.AsyncClient, backend: RecordingBackend) -> None:
    """How each read model stands is shown by its name; what nobody knows now is not shown as it was."""
    text = (await agent.get("/metrics")).text
    assert 'cenotaph_read_model_skipped_events{model="facts"} 3.0' in text
    assert 'cenotaph_read_model_differences{model="facts"} 2.0' in text
    assert 'cenotaph_read_model_skipped_events{model="keywords"} 0.0' in text
    assert 'differences{model="keywords"}' not in text
    backend.fails = UnavailableError("log")
    assert 'model="facts"' not in (await agent.get("/metrics")).text


async def test_metrics_while_the_stores_are_away(nobody: httpx.AsyncClient, backend: RecordingBackend) -> None:
    """The age of keys and checkpoints is not known then, and the rest is still counted."""
    backend.fails = UnavailableError("down")
    answer = await nobody.get("/metrics")
    assert answer.status_code == 200
    for unknown in ("oldest_key_epoch_age_seconds", "checkpoint_age_seconds", "events_without_checkpoint"):
        assert f"cenotaph_{unknown} NaN" in answer.text


async def test_openapi(nobody: httpx.AsyncClient) -> None:
    """The document describes every body with examples in both languages, and every reference in it resolves."""
    document = (await nobody.get("/openapi.json")).json()
    schemas = document["components"]["schemas"]
    text = json.dumps(document)
    refs = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert refs <= schemas.keys()
    assert {"TurnIn", "Problem", "ContextRequest", "ForgetRequest"} <= refs
    assert set(document["webhooks"]) == {"erase", "probe"}
    assert "HTTPValidationError" not in schemas
    for path in ("/v1/turns", "/v1/context", "/v1/memories/search", "/v1/forget", "/v1/tokens"):
        post = document["paths"][path]["post"]
        assert post["requestBody"]["content"]["application/json"]["examples"]
        assert {"400", "401", "403", "413", "415", "422", "503"} <= post["responses"].keys()
    for path in ("/v1/turns", "/v1/context", "/v1/memories/search"):
        examples = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["examples"]
        assert {"zh", "en"} <= examples.keys()


async def test_examples_work(agent: httpx.AsyncClient) -> None:
    """Every documented example is a good request."""
    document = (await agent.get("/openapi.json")).json()
    for path in ("/v1/turns", "/v1/context", "/v1/memories/search", "/v1/forget"):
        body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        for example in body["examples"].values():
            assert (await agent.post(path, json=example["value"])).is_success


@pytest.mark.parametrize("path", ["/docs", "/redoc"])
async def test_no_pages(nobody: httpx.AsyncClient, path: str) -> None:
    """No page loads scripts from elsewhere."""
    assert (await nobody.get(path)).status_code == 404


def test_server_config(app: Api) -> None:
    """The server writes no access log and takes nobody's word for where a request came from."""
    config = server_config(app)
    assert not config.access_log
    assert not config.proxy_headers
    assert logging.getLogger("uvicorn.access").handlers == []
