"""Whom a memory is for: the person in private, a project, a task, an assistant, a purpose (R30, R31). Pure."""

import re
from typing import Final

from events.errors import BadInputError
from events.model import Audience, Candidate, Kind, MemoryBody, ProjectId
from services.governance.folding import plain

EVERYWHERE: Final = "personal"
_PROJECT: Final = "project:"
_RULES: Final = frozenset({Kind.PREFERENCE, Kind.FORMAT, Kind.PROCEDURE, Kind.PROJECT})
_WORD: Final = re.compile(
    r"(?:the )?project[\s:_-]+(?P<behind>.*\w.*)|(?:the )?(?P<before>(?!the[\s_-]+project$).*?\w.*?)[\s_-]+project|"
    r"(?:项目|专案)[\s:_-]*(?P<behind_zh>.*\w.*)|(?P<before_zh>.*?\w.*?)[\s_-]*(?:这个|那个)?(?:项目|专案)"
)


def place_name(kind: str, outside: str) -> str:
    """Return the form in which a project, an assistant or a purpose is known, however a credential writes it.

    Raises:
        BadInputError: it has nothing that can be seen.
    """
    name = project_name(outside) if kind == "project" else " ".join(plain(outside).split())
    if not name:
        raise BadInputError(f"{kind}: has nothing that can be seen")
    return name


def project_name(outside: str) -> str:
    """Return the form in which a project is known, however a credential or the person writes it.

    The word for a project is no part of its name, before it or behind it, unless there is nothing else.
    """
    name = " ".join(plain(outside).split())
    found = _WORD.fullmatch(name)
    return name if found is None else next(each for each in found.groups() if each is not None).strip()


def named_project(candidate: Candidate) -> str | None:
    """Name the project that a candidate says it is for, by its scope, None where it names none."""
    name = project_name(candidate.scope.removeprefix(_PROJECT)) if candidate.scope.startswith(_PROJECT) else ""
    return name or None


def audience_of(candidate: Candidate, said: Audience, named: ProjectId | None) -> Audience:
    """Say which readers a candidate is for.

    What is said in a project is for it, and so is a rule for a project that the person names, but nothing else that is
    said in private: what is personal does not enter a project by itself. What is of a sensitive class never does. What
    is said in a task, to one assistant or for one purpose is for that alone.

    Args:
        candidate: what is proposed.
        said: where the turn was said, as its credential has it.
        named: the project that the candidate names, if it names one.
    """
    if candidate.sensitivity is not None:
        return said.model_copy(update={"project": None})
    project = said.project or (named if candidate.kind in _RULES else None)
    return said.model_copy(update={"project": project})


def rescoped(body: MemoryBody, before: str | None, after: str | None) -> MemoryBody:
    """Give what is moved from one project to another, or to none, the scope it has there.

    A rule that names its project in its own words goes on to hold for that project alone.

    Args:
        body: what is moved.
        before: the name of the project it was for, if any.
        after: the name of the one it will be for, if any.
    """
    scope = body.scope
    own = scope.startswith(_PROJECT) and project_name(scope.removeprefix(_PROJECT)) == before
    if before != after and own and before is not None and before not in plain(body.content):
        scope = EVERYWHERE
    if after is not None and scope == EVERYWHERE:
        scope = f"{_PROJECT}{after}"
    return body.model_copy(update={"scope": scope})


def scoped(candidate: Candidate, project: str | None) -> Candidate:
    """Give what is for a project and limits itself to nothing else the project's own scope, so that rules meet."""
    if project is None or candidate.scope != EVERYWHERE:
        return candidate
    return candidate.model_copy(update={"scope": f"{_PROJECT}{project}"})
