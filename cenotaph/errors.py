"""What the client raises."""

from typing import Any, NamedTuple


class FieldError(NamedTuple):
    """Which field the door found wrong, and why."""

    field: str
    message: str


class CenotaphError(Exception):
    """The door refused, or could not be reached.

    Attributes:
        status: HTTP status; None where there was no answer at all.
        kind: the problem's kind, such as `turn-conflict` or `unavailable`.
        detail: what to do about it.
        errors: which fields are wrong.
        request_id: what the operator can find the request by.
        retry_after: seconds the door asked to wait, if it did.
        version: the version of a task that stands, where another was expected.
    """

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        status: int | None = None,
        errors: tuple[FieldError, ...] = (),
        request_id: str | None = None,
        retry_after: float | None = None,
        version: int | None = None,
    ) -> None:
        wrong = "".join(f"; {error.field}: {error.message}" for error in errors)
        super().__init__(f"{kind}: {detail}{wrong}")
        self.status = status
        self.kind = kind
        self.detail = detail
        self.errors = errors
        self.request_id = request_id
        self.retry_after = retry_after
        self.version = version


def of_problem(status: int, problem: Any, request_id: str | None, retry_after: str | None) -> CenotaphError:  # noqa: ANN401  # any JSON
    """Read an answer that is not a success; one that is no problem+json (a proxy's page) becomes `http-<status>`."""
    fields = problem if isinstance(problem, dict) else {}
    errors = tuple(
        FieldError(str(each.get("field")), str(each.get("message")))
        for each in fields.get("errors", ())
        if isinstance(each, dict)
    )
    return CenotaphError(
        str(fields.get("type", f"http-{status}")).rpartition(":")[2],
        str(fields.get("detail", "no explanation was given")),
        status=status,
        errors=errors,
        request_id=request_id,
        retry_after=float(retry_after) if retry_after and retry_after.isdecimal() else None,
        version=version if isinstance(version := fields.get("version"), int) else None,
    )
