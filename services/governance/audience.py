"""Whom a memory is for: the private memory of the person, a project, a task (R30, R31). Pure."""

from typing import Final

from events.model import Audience, Candidate, Kind, ProjectId
from services.governance.folding import plain

EVERYWHERE: Final = "personal"
_PROJECT: Final = "project:"
_RULES: Final = frozenset({Kind.PREFERENCE, Kind.FORMAT, Kind.PROCEDURE, Kind.PROJECT})


def project_name(outside: str) -> str:
    """Return the form in which a project is known, however a credential or the person writes it."""
    return plain(outside).strip()


def named_project(candidate: Candidate) -> str | None:
    """Name the project that a candidate says it is for, by its scope, None where it names none."""
    name = project_name(candidate.scope.removeprefix(_PROJECT)) if candidate.scope.startswith(_PROJECT) else ""
    return name or None


def audience_of(candidate: Candidate, said: Audience, named: ProjectId | None) -> Audience:
    """Say which readers a candidate is for.

    What is said in a project is for it, and so is a rule for a project that the person names, but nothing else that is
    said in private: what is personal does not enter a project by itself. What is of a sensitive class never does. What
    is said in a task is for that task.

    Args:
        candidate: what is proposed.
        said: where the turn was said, as its credential has it.
        named: the project that the candidate names, if it names one.
    """
    if candidate.sensitivity is not None:
        return Audience(task=said.task)
    project = said.project or (named if candidate.kind in _RULES else None)
    return Audience(project=project, task=said.task)


def scoped(candidate: Candidate, project: str | None) -> Candidate:
    """Give what is for a project and limits itself to nothing else the project's own scope, so that rules meet."""
    if project is None or candidate.scope != EVERYWHERE:
        return candidate
    return candidate.model_copy(update={"scope": f"{_PROJECT}{project}"})
