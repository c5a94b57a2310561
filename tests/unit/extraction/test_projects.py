"""Which project a sentence speaks of, and that what is said of one does not replace what is said of another."""

import pytest

from services.extraction.projects import project_of
from tests.unit.extraction.make import claims
from tests.unit.governance.make import Person


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("On the Falcon project we squash.", "Falcon"),
        ("Project Heron ships on Fridays.", "Heron"),
        ("For Plover we indent with two spaces.", "Plover"),
        ("the museum guide project works offline", "museum guide"),
        ("青鸟项目的周报以后发给罗总。", "青鸟"),
        ("在「云雀」项目里都用驼峰命名", "云雀"),
        ("Lynx 项目的分支都从 main 拉", "Lynx"),
        ("this project is fun", None),
        ("my side project is a zine", None),
        ("On Mondays we test.", None),
        ("我们项目的后端用 Rust", None),
        ("这个新项目都写英文", None),
        ("开源项目都要加许可证", None),
    ],
)
def test_a_project_is_named_by_its_name(said: str, name: str | None) -> None:
    """A name before or behind the word for a project is one; what only points or describes is none."""
    assert project_of(said.lower(), said) == name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("For the Falcon project we write docs in Sphinx.", "For the Heron project we write docs in MkDocs."),
        ("青鸟项目的接口文档以后都写英文。", "云雀项目的接口文档以后都写中文。"),
    ],
)
def test_rules_of_two_projects_stand_beside_each_other(one: str, other: str) -> None:
    """The scope is the project, so neither replaces the other (R20); within one project the newer does."""
    person = Person()
    person.says(one, other)
    assert len(person.living) == 2
    assert len({each.claim.scope for each in person.living}) == 2


def test_a_memory_of_a_project_names_it() -> None:
    """What is kept can be understood without the sentence it comes from."""
    (claim,) = claims("For the Falcon project we write docs in Sphinx.")
    assert "Falcon" in claim.content
    assert claim.scope == "project:falcon"
