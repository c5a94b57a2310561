"""A memory version in brief is the fact that ranking would see."""

from dataclasses import fields
from datetime import UTC, datetime
from uuid import UUID

from events.model import EventId, Kind, MemoryId, ProjectId, Reach, Scope, SubjectId, TenantId, TurnId
from projections.briefs import Brief, brief_of, briefs_from
from projections.changes import Fact, within

AT = datetime(2026, 11, 30, tzinfo=UTC)
ATLAS = ProjectId(UUID(int=7))
FACT = Fact(
    memory_id=MemoryId(UUID(int=1)),
    version=2,
    status="in_conflict",
    event_id=EventId(UUID(int=3)),
    kind=Kind.PREFERENCE,
    confidence=900,
    importance=500,
    cites=(),
    turn_id=TurnId(UUID(int=4)),
    occurred_at=AT,
    recorded_at=AT,
    verified_at=AT,
    gate="sensitivity",
    project=ATLAS,
)
SCOPE = Scope(tenant_id=TenantId(UUID(int=5)), subject_id=SubjectId(UUID(int=6)))


def test_a_brief_says_what_its_fact_says() -> None:
    """Every field of a brief is one of the fact, with its value, and so is the audience."""
    brief = brief_of(FACT)
    assert set(Brief._fields) <= {field.name for field in fields(Fact)}
    assert {name: getattr(brief, name) for name in Brief._fields} == {
        name: getattr(FACT, name) for name in Brief._fields
    }
    assert brief.audience == FACT.audience


def test_a_row_becomes_the_brief_of_its_fact() -> None:
    """A row in the order of the columns, with its kind as text, is read back as the brief of the same fact."""
    row = [value.value if name == "kind" else value for name, value in brief_of(FACT)._asdict().items()]
    briefs = briefs_from([row])
    assert briefs == {(FACT.memory_id, FACT.version): brief_of(FACT)}
    assert briefs[FACT.memory_id, FACT.version].kind is Kind.PREFERENCE


def test_briefs_are_checked_against_the_reach_as_facts_are() -> None:
    """A scope bound to another project keeps no brief, one bound to its project does, and nobody's who moved on."""
    briefs = {(FACT.memory_id, FACT.version): brief_of(FACT)}
    own, other = (SCOPE.model_copy(update={"reach": Reach(project=each)}) for each in (ATLAS, ProjectId(UUID(int=8))))
    assert within(briefs, SCOPE) == within(briefs, own) == briefs
    assert within(briefs, other) == {}
    moved = {key: brief._replace(moved_on=True) for key, brief in briefs.items()}
    assert (within(moved, SCOPE), within(moved, own)) == (moved, {})
