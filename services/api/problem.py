"""Errors as people and programs can read them: application/problem+json (RFC 9457)."""

from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response

from events.model import Frozen
from services.wire.reading import FieldProblem

MEDIA_TYPE = "application/problem+json"


class Problem(Frozen):
    """One problem. `type` names its kind for programs, `detail` says what to do, `errors` which fields are wrong.

    `version` is the one that stands, where another was expected.
    """

    type: str
    title: str
    status: int
    detail: str
    errors: tuple[FieldProblem, ...] = ()
    version: int | None = None


class Refusal(Exception):  # noqa: N818  # refusing is an answer, not a fault of ours
    """Answer this request with a problem; `counted` says as what it is counted among the refusals of scopes."""

    def __init__(
        self,
        status: HTTPStatus,
        slug: str,
        detail: str,
        *,
        errors: tuple[FieldProblem, ...] = (),
        version: int | None = None,
        headers: Mapping[str, str] | None = None,
        counted: str | None = None,
    ) -> None:
        super().__init__(slug)
        self.problem = Problem(
            type=f"urn:cenotaph:problem:{slug}",
            title=status.phrase,
            status=status,
            detail=detail,
            errors=errors,
            version=version,
        )
        self.headers = dict(headers or {})
        self.counted = counted


def answer(refusal: Refusal) -> Response:
    """Render a refusal."""
    problem = refusal.problem
    absent = {name for name, value in (("errors", problem.errors), ("version", problem.version)) if not value}
    body = problem.model_dump_json(exclude=absent)
    return Response(body, status_code=problem.status, headers=refusal.headers, media_type=MEDIA_TYPE)


def not_found(what: str) -> Refusal:
    """Say that something is not there: the same words whether it never was or belongs to somebody else.

    Which of the two it is nobody looks up, for that would be a read across scopes; so both are counted (R30).
    """
    return Refusal(HTTPStatus.NOT_FOUND, "not-found", f"there is no such {what} in this scope", counted=what)
