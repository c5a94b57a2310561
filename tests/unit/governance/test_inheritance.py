"""The sensitive class of a correction."""

from uuid import UUID

import pytest

from events.model import PRIVATE, Audience, Kind, MemoryBody, ProjectId
from services.governance.inheritance import inheriting
from tests.unit.governance.make import a_candidate, a_memory, a_message

ATLAS = Audience(project=ProjectId(UUID(int=7)))


def body(content: str, value: str, sensitivity: str | None) -> MemoryBody:
    """Make what is remembered, or held, of one thing."""
    said = a_candidate(a_message(content), kind=Kind.FACT, key="band.is", value=value, content=content)
    return a_memory(said, sensitivity=sensitivity).claim


@pytest.mark.parametrize(("old", "new"), [("band is seven", "band is eight"), ("档位是七", "档位是八")])
@pytest.mark.parametrize("audience", [PRIVATE, ATLAS])
def test_a_correction_inherits_the_class_and_leaves_the_project(old: str, new: str, audience: Audience) -> None:
    """Words that show no class get the one of what they correct, and are the person's alone, as what is sensitive."""
    scope = "personal" if audience == PRIVATE else "project:atlas"
    said = a_candidate(
        a_message(new), kind=Kind.FACT, key="band.is", value=new[-5:], content=new, correction=True, scope=scope
    )
    candidate, readers = inheriting(said, audience, [(body(old, old[-5:], "finance"), PRIVATE)])
    assert (candidate.sensitivity, candidate.scope, readers) == ("finance", "personal", PRIVATE)


@pytest.mark.parametrize(("correction", "sensitivity"), [(True, None), (False, "finance")])
def test_nothing_else_inherits_a_class(*, correction: bool, sensitivity: str | None) -> None:
    """What corrects nothing is of the class of its own words, and so is what corrects something of none."""
    said = a_candidate(a_message("band is eight"), kind=Kind.FACT, key="band.is", value="eight", correction=correction)
    known = [(body("band is seven", "seven", sensitivity), PRIVATE)]
    assert inheriting(said, ATLAS, known) == (said, ATLAS)
