"""One strict way from bytes to a request, the same behind HTTP and behind Redis."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from events.errors import BadInputError
from events.model import Frozen
from services.wire.limits import Limits

Model = TypeVar("Model", bound=BaseModel)

# pydantic's own sentences for these types hold only what we declared; any other may quote the input and is replaced.
_SAFE = {
    *("bool_type", "dict_type", "enum", "float_type", "greater_than", "greater_than_equal", "int_parsing", "int_type"),
    *(
        "less_than",
        "less_than_equal",
        "list_type",
        "literal_error",
        "missing",
        "string_pattern_mismatch",
        "string_type",
    ),
    *("string_too_long", "string_too_short", "timezone_aware", "too_long", "too_short", "tuple_type"),
    # Ours, of text.py, request.py and turns.py.
    *("blank", "control_character", "duplicate", "future", "instant", "origin_role", "past", "surrogate", "too_many"),
    "unknown_field",
}
_OWN = {
    "datetime_parsing": "is not a valid time",
    "model_type": "must be an object",
    "string_unicode": "contains a lone surrogate, which is not a character",
    "uuid_parsing": "is not a UUID",
    "uuid_type": "is not a UUID",
}
_SEVERAL = 20


class FieldProblem(Frozen):
    """What is wrong with which field; never its content."""

    field: str
    message: str


class MalformedError(BadInputError):
    """The bytes are not one well-formed JSON text."""


class InvalidError(BadInputError):
    """The JSON is well formed, but not this request."""

    def __init__(self, problems: tuple[FieldProblem, ...]) -> None:
        super().__init__("; ".join(f"{each.field}: {each.message}" for each in problems))
        self.problems = problems


def _path(loc: Sequence[int | str]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc)
    return "".join(steps).removeprefix(".") or "body"


def _sentence(detail: ErrorDetails) -> str:
    if detail["type"] in _SAFE:
        return detail["msg"]
    return _OWN.get(detail["type"], "is not valid")


def problems_of(details: Iterable[ErrorDetails]) -> tuple[FieldProblem, ...]:
    """Turn pydantic's findings into sentences without a trace of the input; the first twenty of them."""
    found = [FieldProblem(field=_path(each["loc"]), message=_sentence(each)) for each in details]
    return tuple(found[:_SEVERAL])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise MalformedError("the JSON has an object with the same name twice")
    return made


def _no_constant(_name: str) -> None:
    raise MalformedError("the JSON has NaN or Infinity, which are not JSON")


def loads(raw: bytes) -> Any:  # noqa: ANN401  # any JSON value
    """Parse one JSON text strictly (RFC 8259, I-JSON's unique names).

    Raises:
        MalformedError: It is not UTF-8, not JSON, nested too deep, has NaN or a name twice.
    """
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise MalformedError(f"the body is not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise MalformedError(f"the body is not JSON (line {error.lineno}, column {error.colno})") from None
    except RecursionError:
        raise MalformedError("the JSON is nested too deep") from None
    except ValueError:
        raise MalformedError("the JSON has a number that is too long") from None


def read(model: type[Model], raw: bytes, limits: Limits) -> Model:
    """Read a request from bytes.

    Raises:
        MalformedError: The bytes are not JSON.
        InvalidError: The JSON is not this request; `problems` says where.
    """
    try:
        return model.model_validate(loads(raw), context=limits)
    except ValidationError as error:
        # `from None`: the pydantic error holds the input and must not travel on in a traceback.
        problems = problems_of(error.errors(include_url=False, include_input=False, include_context=False))
    raise InvalidError(problems)
