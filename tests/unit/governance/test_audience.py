from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.model import (
    PRIVATE,
    AssistantId,
    Audience,
    Candidate,
    Kind,
    MemoryBody,
    ProjectId,
    PurposeId,
    Reach,
    Scope,
    SubjectId,
    TaskId,
    TenantId,
)
from services.governance.audience import audience_of, named_project, project_name, rescoped, scoped
from tests.unit.governance.make import a_candidate, a_message

SAID = a_message("在项目里")
PROJECTS = [None, ProjectId(UUID(int=1)), ProjectId(UUID(int=2))]
TASKS = [None, TaskId(UUID(int=3)), TaskId(UUID(int=4))]
ASSISTANTS = [None, AssistantId(UUID(int=5)), AssistantId(UUID(int=6))]
PURPOSES = [None, PurposeId(UUID(int=7)), PurposeId(UUID(int=8))]
NAMED = {
    "project": st.sampled_from(PROJECTS),
    "task": st.sampled_from(TASKS),
    "assistant": st.sampled_from(ASSISTANTS),
    "purpose": st.sampled_from(PURPOSES),
}
AUDIENCES = st.builds(Audience, **NAMED)
REACHES = st.builds(Reach, **NAMED)
CANDIDATES = st.builds(
    lambda kind, sensitivity, scope: a_candidate(
        a_message("在项目里"), kind=kind, sensitivity=sensitivity, scope=scope
    ),
    st.sampled_from(Kind),
    st.sampled_from([None, "health"]),
    st.sampled_from(["personal", "context:work", "project:atlas", "project:北风"]),
)


@given(CANDIDATES, AUDIENCES, st.sampled_from(PROJECTS))
def test_what_is_sensitive_enters_no_project(candidate: Candidate, said: Audience, named: ProjectId | None) -> None:
    """Wherever it was said and whatever it names, no reader in a project gets it."""
    audience = audience_of(candidate, said, named)
    assert candidate.sensitivity is None or audience.project is None


@given(CANDIDATES, AUDIENCES, st.sampled_from(PROJECTS))
def test_nobody_writes_into_another_project_or_out_of_a_task(
    candidate: Candidate, said: Audience, named: ProjectId | None
) -> None:
    """What is said in a project is for it or private, never for another one; what is said in a task stays there.

    So does what is said to one assistant or for one purpose.
    """
    audience = audience_of(candidate, said, named)
    own = {"task", "assistant", "purpose"}
    assert audience.model_dump(include=own) == said.model_dump(include=own)
    if said.project is not None:
        assert audience.project in {None, said.project}


@given(CANDIDATES, st.sampled_from(PROJECTS))
def test_what_is_personal_enters_no_project_by_itself(candidate: Candidate, named: ProjectId | None) -> None:
    """Of what is said in private, only rules for a project that the person names are for that project."""
    audience = audience_of(candidate, PRIVATE, named)
    rule = candidate.kind in {Kind.PREFERENCE, Kind.FORMAT, Kind.PROCEDURE, Kind.PROJECT}
    assert audience.project == (named if rule and candidate.sensitivity is None else None)


@given(REACHES, AUDIENCES)
def test_whoever_writes_reads_it_back(reach: Reach, audience: Audience) -> None:
    """What is said under a credential is within its reach; a reach in a project admits nothing private."""
    assert reach.admits(reach.audience)
    if reach.project is not None and audience.project is None:
        assert not reach.admits(audience)
    for name in ("task", "assistant", "purpose"):
        if (own := getattr(audience, name)) is not None and getattr(reach, name) != own:
            assert not reach.admits(audience)


@given(REACHES, AUDIENCES)
def test_a_narrower_reach_admits_no_more(reach: Reach, audience: Audience) -> None:
    """Binding a credential to a project takes something away and gives nothing."""
    wide = reach.model_copy(update={"project": None})
    assert wide.admits(audience) or not reach.admits(audience)


def test_a_scope_is_its_person() -> None:
    """Two scopes of one person are one person, however far each reaches; without a reach all is admitted."""
    person = Scope(tenant_id=TenantId(UUID(int=8)), subject_id=SubjectId(UUID(int=9)))
    bound = person.within(Audience(project=PROJECTS[1]))
    assert (bound, hash(bound), bound.person.reach) == (person, hash(person), None)
    assert person.admits(Audience(project=PROJECTS[2], task=TASKS[1]))
    assert not bound.admits(PRIVATE)


def test_a_project_is_known_however_it_is_written() -> None:
    """Width, case and script do not matter; a scope that names none names none."""
    assert project_name("ＡＴＬＡＳ ") == project_name("atlas") == "atlas"
    for written in ("專案北風", "北風項目", "项目：北风", "项目 北风", "北风这个项目", "北风"):
        assert project_name(written) == "北风", written
    for written in ("Project Atlas", "the Atlas project", "project: atlas", "ATLAS Project", "project_atlas", "Atlas"):
        assert project_name(written) == "atlas", written
    for name in ("projector", "project", "the project", "项目", "projects", "北风项目组"):
        assert project_name(name) == name
    message = a_message("x")
    assert named_project(a_candidate(message, scope="project:Atlas")) == "atlas"
    assert named_project(a_candidate(message, scope="context:work")) is None
    assert named_project(a_candidate(message, scope="project:")) is None


def test_what_is_for_a_project_gets_its_scope() -> None:
    """So rules that name the project and rules said in it meet; what limits itself to something else keeps that."""
    message = a_message("x")
    assert scoped(a_candidate(message), "atlas").scope == "project:atlas"
    assert scoped(a_candidate(message, scope="context:work"), "atlas").scope == "context:work"
    assert scoped(a_candidate(message), None).scope == "personal"


@pytest.mark.parametrize(
    ("scope", "content", "before", "after", "expected"),
    [
        ("personal", "boat: Kestrel", None, "atlas", "project:atlas"),
        ("project:atlas", "boat: Kestrel", "atlas", None, "personal"),
        ("project:atlas", "boat: Kestrel", "atlas", "北风", "project:北风"),
        ("project:Atlas", "Atlas: use tabs", "atlas", None, "project:Atlas"),
        ("project:北风項目", "北风: 用制表符", "北风", "atlas", "project:北风項目"),
        ("context:work", "use tabs", None, "atlas", "context:work"),
        ("project:atlas", "boat: Kestrel", "atlas", "atlas", "project:atlas"),
    ],
)
def test_what_is_moved_holds_where_it_is_moved(
    scope: str, content: str, before: str | None, after: str | None, expected: str
) -> None:
    """It takes the scope of its new project, or none; a rule that names its project goes on to hold for that one."""
    claim = a_candidate(a_message("x"), scope=scope, content=content)
    body = MemoryBody.model_validate({name: getattr(claim, name) for name in MemoryBody.model_fields})
    assert rescoped(body, before, after).scope == expected
