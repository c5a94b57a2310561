"""The base of everything that comes in."""

from typing import Any

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from events.model import Frozen


class Request(Frozen):
    """A request body. An unknown field is refused by listing the known ones, so that no input is ever repeated."""

    @model_validator(mode="before")
    @classmethod
    def _knows_every_field(cls, data: Any) -> Any:  # noqa: ANN401  # before validation it may be anything
        known = [field.alias or name for name, field in cls.model_fields.items()]
        if isinstance(data, dict) and not data.keys() <= set(known):
            raise PydanticCustomError(
                "unknown_field", "has a field that is not known here; known are {known}", {"known": ", ".join(known)}
            )
        return data
