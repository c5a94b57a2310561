"""The parts of the OpenAPI document that FastAPI cannot see, because bodies are read by our own reader."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from services.api.minting import TokenRequest
from services.api.problem import MEDIA_TYPE, Problem
from services.wire.choices import ConsentRequest, DescribeRequest, ForgetDescribedRequest
from services.wire.exports import ExportedMemory, ExportHead, ExportRequest, ExportTail
from services.wire.facts import SystemFact
from services.wire.memories import MoveRequest
from services.wire.recall import ContextRequest, SearchRequest
from services.wire.receipts import ForgetRequest, ForgetWholeRequest, PreviewRequest
from services.wire.tasks import TaskChange, TaskStart
from services.wire.turns import TurnIn

Examples = Mapping[str, Mapping[str, Any]]
"""Example values by name; both languages where a person speaks."""

_REF = "#/components/schemas/{model}"
_MODELS: tuple[type[BaseModel], ...] = (
    ConsentRequest,
    MoveRequest,
    ContextRequest,
    DescribeRequest,
    ExportedMemory,
    ExportHead,
    ExportRequest,
    ExportTail,
    ForgetDescribedRequest,
    ForgetRequest,
    ForgetWholeRequest,
    PreviewRequest,
    Problem,
    SearchRequest,
    TaskChange,
    TaskStart,
    TokenRequest,
    TurnIn,
    SystemFact,
)


def json_body(model: type[BaseModel], examples: Examples) -> dict[str, Any]:
    """Describe a request body, with examples by name."""
    values = {name: {"value": value} for name, value in examples.items()}
    content = {"schema": {"$ref": _REF.format(model=model.__name__)}, "examples": values}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def problems(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """Describe the problems a route can answer with."""
    content = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}}
    return {int(status): {"description": status.phrase, "content": content} for status in statuses}


BODY_PROBLEMS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)
"""What can be wrong with any body."""

ANY_PROBLEMS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.SERVICE_UNAVAILABLE)
"""What any route behind a credential can answer."""


class Api(FastAPI):
    """FastAPI, with the schemas of the bodies it does not parse itself."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document, complete."""
        document = super().openapi()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        _, made = models_json_schema([(model, "validation") for model in _MODELS], ref_template=_REF)
        for name, schema in made["$defs"].items():
            schemas.setdefault(name, schema)
        return document
