"""Which error of ours becomes which problem."""

from http import HTTPStatus

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from events.errors import (
    BadInputError,
    BehindError,
    ConcurrencyError,
    ErasedError,
    PreviewChangedError,
    ScopeError,
    StaleVersionError,
    TaskRefusedError,
    TurnConflictError,
    UnavailableError,
)
from services.api.metrics import RequestMetrics
from services.api.problem import Refusal, answer
from services.wire.reading import FieldProblem, InvalidError, MalformedError, problems_of

_UNFIT = "the request does not fit; see errors, and /openapi.json for what fits"
_PARTS = ("path", "query", "header")


def invalid(errors: tuple[FieldProblem, ...]) -> Refusal:
    """Refuse a request whose fields are wrong."""
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", _UNFIT, errors=errors)


Conflict = TurnConflictError | PreviewChangedError | StaleVersionError | TaskRefusedError | ConcurrencyError


def _conflict(error: Conflict) -> Refusal:
    match error:
        case TurnConflictError():
            slug, detail = "turn-conflict", "this turn_id is known with another body; give a new turn a new id"
        case PreviewChangedError():
            slug = "preview-changed"
            detail = "what this means has changed since it was shown; look at a new preview and confirm that one"
        case StaleVersionError():
            return Refusal(HTTPStatus.CONFLICT, "stale-version", str(error), version=error.version)
        case TaskRefusedError():
            slug, detail = "task-refused", str(error)
        case _:
            slug, detail = "conflict", "somebody else wrote at the same time; send it again"
    return Refusal(HTTPStatus.CONFLICT, slug, detail)


def refusal_of(error: Exception) -> Refusal | None:  # noqa: PLR0911  # one line for each kind of error
    """Translate an error of ours; None for one that is nobody's fault but ours.

    Only messages that name no internal id go out.
    """
    match error:
        case MalformedError():
            return Refusal(HTTPStatus.BAD_REQUEST, "malformed", str(error))
        case InvalidError():
            return invalid(error.problems)
        case BadInputError():
            return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", str(error))
        case (
            TurnConflictError() | PreviewChangedError() | StaleVersionError() | TaskRefusedError() | ConcurrencyError()
        ):
            return _conflict(error)
        case ErasedError():
            return Refusal(HTTPStatus.GONE, "forgotten", "all of this was forgotten; nothing is there or will be taken")
        case ScopeError():
            return Refusal(HTTPStatus.FORBIDDEN, "forbidden", "the credential does not cover this", counted="scope")
        case BehindError():
            detail = f"{error}; every store answers, so ask again in a moment, or without at_least"
            return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "behind", detail, headers={"Retry-After": "1"})
        case UnavailableError():
            detail = "a store does not answer and nothing was acknowledged; send it again"
            return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", detail, headers={"Retry-After": "1"})
        case _:
            return None


def _without_part(detail: ErrorDetails) -> ErrorDetails:
    first, *rest = detail["loc"] or ("",)
    return {**detail, "loc": tuple(rest)} if first in _PARTS else detail


async def _ours(request: Request, error: Exception) -> Response:
    refusal = error if isinstance(error, Refusal) else refusal_of(error)
    if refusal is None:
        raise error
    if refusal.counted is not None:
        metrics: RequestMetrics = request.app.state.metrics
        metrics.refused(refusal.counted)
    return answer(refusal)


async def _parameters(_request: Request, error: Exception) -> Response:
    details = error.errors() if isinstance(error, RequestValidationError) else ()
    return answer(invalid(problems_of(_without_part(each) for each in details)))


async def _routing(_request: Request, error: Exception) -> Response:
    status = HTTPStatus(error.status_code) if isinstance(error, HTTPException) else HTTPStatus.BAD_REQUEST
    headers = getattr(error, "headers", None)
    details = {
        HTTPStatus.NOT_FOUND: "there is nothing at this path",
        HTTPStatus.METHOD_NOT_ALLOWED: "see the Allow header",
    }
    slug = status.phrase.lower().replace(" ", "-")
    return answer(Refusal(status, slug, details.get(status, "the request was refused"), headers=headers))


async def _gone(_request: Request, _error: Exception) -> Response:
    return answer(Refusal(HTTPStatus.BAD_REQUEST, "incomplete", "the request ended before its body did"))


def install(app: FastAPI) -> None:
    """Register the translations with an app."""
    ours = (
        BadInputError,
        TurnConflictError,
        PreviewChangedError,
        StaleVersionError,
        TaskRefusedError,
        ConcurrencyError,
        ErasedError,
        ScopeError,
        UnavailableError,
    )
    for kind in (Refusal, *ours):
        app.add_exception_handler(kind, _ours)
    app.add_exception_handler(RequestValidationError, _parameters)
    app.add_exception_handler(HTTPException, _routing)
    app.add_exception_handler(ClientDisconnect, _gone)
