"""Request bodies: bounded before they are parsed, and read by the one strict reader."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel
from starlette.datastructures import Headers

from services.api.door import TheDoor
from services.api.problem import Refusal
from services.wire.reading import read

Model = TypeVar("Model", bound=BaseModel)


def _must_be_json(headers: Headers) -> None:
    kind, _, rest = headers.get("content-type", "").partition(";")
    charset = rest.strip().lower().removeprefix("charset=").strip('"')
    if kind.strip().lower() != "application/json" or charset not in {"", "utf-8"}:
        raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "media-type", "send application/json in UTF-8")
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "media-type", "send the body without Content-Encoding")


def _too_large(most: int) -> Refusal:
    return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", f"the body is larger than {most} bytes")


async def bounded(request: Request, most: int) -> bytes:
    """Read at most so many bytes; counts what really arrives, so that a chunked body cannot be longer either."""
    declared = request.headers.get("content-length", "0")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > most:
        raise _too_large(most)
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > most:
            raise _too_large(most)
    return bytes(raw)


def body(model: type[Model]) -> Callable[[Request, TheDoor], Awaitable[Model]]:
    """Make the dependency that reads this request's body."""

    async def read_body(request: Request, door: TheDoor) -> Model:
        _must_be_json(request.headers)
        return read(model, await bounded(request, door.limits.max_body_bytes), door.limits)

    return read_body
