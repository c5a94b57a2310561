"""The door as an ASGI app."""

from prometheus_client import CollectorRegistry

from services.access.tokens import TokenSigner
from services.api import errors
from services.api.backend import Backend
from services.api.door import Door
from services.api.guard import Guard
from services.api.metrics import RequestMetrics
from services.api.openapi import Api
from services.api.routes import (
    choices,
    exports,
    facts,
    health,
    inbox,
    layers,
    memories,
    profile,
    recall,
    receipts,
    tasks,
    traces,
    turns,
    whole,
)
from services.api.routes import tokens as tokens_routes
from services.wire.limits import Limits

_ABOUT = """
Long-term memory for AI agents that can prove it forgot. 智能体的长期记忆，能够证明自己已经忘记。

A tenant key mints short tokens (`POST /v1/tokens`); a token opens one person's memory. Errors are
`application/problem+json` (RFC 9457) and never repeat what was sent.
"""


def create_app(
    backend: Backend, tokens: TokenSigner, limits: Limits, *, registry: CollectorRegistry | None = None
) -> Api:
    """Build the door.

    Args:
        backend: Everything behind the door.
        tokens: Mints and checks short tokens.
        limits: How much one request may carry.
        registry: Where `/metrics` counts; a new one where none is given.
    """
    app = Api(
        title="cenotaph",
        version="1",
        description=_ABOUT,
        # The pages would load scripts from elsewhere; /openapi.json is enough for any viewer.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # FastAPI's own telemetry records query strings and exception messages; ours (guard.py) does not.
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
    )
    app.webhooks.include_router(layers.webhooks)
    app.state.door = Door(backend, tokens, limits)
    app.state.metrics = RequestMetrics(registry or CollectorRegistry())
    errors.install(app)
    for noun in (
        tokens_routes,
        turns,
        facts,
        recall,
        memories,
        profile,
        inbox,
        choices,
        tasks,
        exports,
        receipts,
        traces,
        whole,
        health,
    ):
        app.include_router(noun.router)
    app.add_middleware(Guard, metrics=app.state.metrics)
    return app
