"""The contract for layers of other applications (R47): two requests, ids only."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from events.model import Frozen

LAYER_SCHEMA: Literal["cenotaph.layer/1"] = "cenotaph.layer/1"


class LayerRequest(Frozen):
    """What is meant: some memories, by the ids that contexts and searches cite, or all of a person or a tenant.

    `memories` is empty where all is meant, `subject_id` None where it is all of a tenant.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["cenotaph.layer/1"] = Field(default=LAYER_SCHEMA, alias="schema")
    request_id: UUID
    scope: Literal["memories", "person", "tenant"]
    tenant_id: UUID
    subject_id: UUID | None
    memories: tuple[UUID, ...]


class EraseAnswer(Frozen):
    """How many copies were erased now. Asked again, or for what was never there, it is 0; both are fine."""

    erased: Annotated[int, Field(ge=0, strict=True)]


class ProbeAnswer(Frozen):
    """Which of the memories that were asked for are still held in any form; where all is meant, a hundred at most."""

    held: tuple[UUID, ...]
