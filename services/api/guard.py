"""The outermost ring: a request id, headers for personal data, counts, and an end to every exception."""

import traceback
from http import HTTPStatus
from time import perf_counter
from uuid import uuid4

import structlog
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.api.metrics import RequestMetrics
from services.api.problem import Refusal, answer

log = structlog.stdlib.get_logger("cenotaph.api")

_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_CLIENT_LEFT = 499
_OWN_FAULT = Refusal(
    HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "something went wrong here; tell the operator the X-Request-ID"
)


def _route(scope: Scope) -> str:
    return str(getattr(scope.get("route"), "path", "unmatched"))


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].name}:{frames[-1].lineno}" if frames else "unknown"


class Guard:
    """ASGI middleware around everything else.

    An unknown exception ends here: its message may hold what a person said, so neither the answer nor the log line has
    it, and it is not raised on to the server, which would print it.
    """

    def __init__(self, app: ASGIApp, metrics: RequestMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id, started, status = uuid4().hex, perf_counter(), 0

        async def stamped(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update({**_HEADERS, "X-Request-ID": request_id})
            await send(message)

        try:
            await self._app(scope, receive, stamped)
        except Exception as error:  # noqa: BLE001  # the last stop of every exception
            kind, place = type(error).__name__, _place(error)
            at = {"place": place, "route": _route(scope), "request_id": request_id}
            log.error("request_failed", error=kind, **at)  # noqa: TRY400  # a traceback would print the message
            if not status:
                await answer(_OWN_FAULT)(scope, receive, stamped)
        finally:
            seconds = perf_counter() - started
            self._metrics.observe(scope["method"], _route(scope), status or _CLIENT_LEFT, seconds)
