"""What another application's layer is asked for: some memories, or all of a person or a tenant."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from services.forgetting.question import Question


@dataclass(frozen=True, slots=True)
class Asked:
    """Ids, and the words that an own look may search for.

    Without memories all of the person is meant, or of everybody where `subject` is None.
    """

    tenant: UUID
    subject: UUID | None
    memories: tuple[UUID, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def scope(self) -> Literal["memories", "person", "tenant"]:
        """Say what is meant."""
        if self.memories:
            return "memories"
        return "tenant" if self.subject is None else "person"


def asked_of(question: Question) -> Asked:
    """Ask for what an erasure asks its layers."""
    if question.whole:
        return Asked(question.scope.tenant_id, question.person)
    return Asked(question.scope.tenant_id, question.scope.subject_id, question.memories, question.texts)
