"""The pages a reader starts with are true where a machine can tell."""

import ast
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from events.model import EVENT_TYPES
from ops.cli import app
from ops.settings import Settings
from services.api.minting import TokenRequest
from services.api.routes import (
    choices,
    exports,
    facts,
    health,
    inbox,
    memories,
    profile,
    recall,
    receipts,
    tasks,
    tokens,
    traces,
    turns,
    whole,
)
from services.wire.limits import Limits
from services.wire.reading import read
from services.wire.recall import ContextRequest, SearchRequest
from services.wire.receipts import ForgetRequest
from services.wire.request import Request
from services.wire.turns import TurnIn

ROOT = Path(__file__).parent.parent.parent
ROOMS = ("cenotaph", "events", "ops", "projections", "services", "tests", "workers")
BODIES: dict[str, type[Request]] = {
    "/v1/tokens": TokenRequest,
    "/v1/turns": TurnIn,
    "/v1/context": ContextRequest,
    "/v1/memories/search": SearchRequest,
    "/v1/forget": ForgetRequest,
}
PAGES = sorted(
    [*ROOT.glob("*.md"), *(page for room in ROOMS for page in (ROOT / room).rglob("*.md"))],
    key=lambda page: page.as_posix(),
)
README = (ROOT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
COMMAND = get_command(app)
BUNDLE = "cenotaph/_app/"  # only a built wheel has it
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def fenced(text: str, language: str) -> list[str]:
    return [body for found, body in FENCE.findall(text) if found == language]


def code_of(text: str) -> Iterator[str]:
    """Yield every piece of code of a page: in backticks, indented, fenced."""
    yield from (body for _, body in FENCE.findall(text))
    text = FENCE.sub("", text)
    yield from re.findall(r"`([^`\n]+)`", text)
    yield from re.findall(r"^ {4}(\S.*)$", text, flags=re.MULTILINE)


def invocations(text: str) -> Iterator[list[str]]:
    """Yield the words behind each `cenotaph` on a page, without what a shell comment says."""
    for code in code_of(text):
        for line in code.splitlines():
            found = re.match(r"\s*(?:\.venv/bin/)?cenotaph ([a-z].*)", line.replace("…", ""))
            if found:
                yield shlex.split(found.group(1), comments=True)


def anchors(page: Path) -> set[str]:
    """Say what can be linked to on a page, as GitHub names it."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@dataclass(frozen=True)
class Row:
    """A row of a table of variables."""

    variable: str
    default: str


def variables() -> Iterator[Row]:
    for variable, default in re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \|", README, flags=re.MULTILINE):
        yield Row(variable, default)


def set_by() -> dict[str, object]:
    """Return every setting's variable with its default."""
    return {
        str(field.validation_alias or f"{Settings.model_config['env_prefix']}{key}".upper()): field.default
        for key, field in Settings.model_fields.items()
    }


def variables_of_commands() -> set[str]:
    """Collect what the options of all commands read from the environment."""
    found: set[str] = set()
    pending = [COMMAND]
    while pending:
        command = pending.pop()
        if isinstance(command, TyperGroup):
            pending += command.commands.values()
        found |= {str(parameter.envvar) for parameter in command.params if parameter.envvar is not None}
    return found


def calls(script: str) -> Iterator[tuple[str, str]]:
    """Yield path and body of every call of a shell script that sends one."""
    path = ""
    words = iter(shlex.split(script, comments=True))
    for word in words:
        if found := re.search(r"(/v1/.*)$", word):
            path = found.group(1)
        elif word == "-d":
            yield path, next(words)


def test_every_page_is_looked_at() -> None:
    """The pages are found where a checkout has them, so that none of the tests below passes on nothing."""
    names = set(map(name, PAGES))
    assert {"README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"} <= names
    assert "ops/adr/0001-append-in-parallel-seal-in-one-place.md" in names


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link names a file of the tree, and a heading that is on that page."""
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text(encoding="utf-8"))):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        found = page.parent / path if path else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_paths_in_backticks_exist(page: Path) -> None:
    """What reads like a path of the tree is one."""
    rooms = "|".join(ROOMS)
    for path in re.findall(rf"`((?:{rooms})/[\w./\-]*)`", page.read_text(encoding="utf-8")):
        assert (ROOT / path).exists() or path.startswith(BUNDLE), path


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_exist_with_their_options(page: Path) -> None:
    """Every `cenotaph …` on a page names a command, and options which that command has."""
    for words in invocations(page.read_text(encoding="utf-8")):
        command = COMMAND
        for word in words:
            if isinstance(command, TyperGroup):
                assert word in command.commands, words
                command = command.commands[word]
            elif word.startswith("--"):
                assert any(word in parameter.opts for parameter in command.params), words


def test_the_readme_shows_every_command() -> None:
    """A command the README never mentions would not be found."""
    assert isinstance(COMMAND, TyperGroup)
    assert {words[0] for words in invocations(README)} | {"demo"} == set(COMMAND.commands)
    assert "make demo" in README


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_make_targets_exist(page: Path) -> None:
    """Every `make …` on a page is a target."""
    targets = set(re.findall(r"^([a-z\-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = {
        word for code in code_of(page.read_text(encoding="utf-8")) for word in re.findall(r"^make ([a-z\-]+)", code)
    }
    assert named <= targets


def test_the_table_of_variables_is_the_settings() -> None:
    """Every setting has its row, and every row is a setting or a variable that a command reads."""
    named = [row.variable for row in variables()]
    assert sorted(named) == sorted({*set_by(), *variables_of_commands()})


def test_the_defaults_in_the_table_are_the_defaults() -> None:
    """A default that is a number or a word is written as it is."""
    defaults = {key: default for key, default in set_by().items() if isinstance(default, int | str)}
    assert len(defaults) > 5
    written = {row.variable: row.default for row in variables()}
    assert {key: written[key] for key in defaults} == {key: f"`{default}`" for key, default in defaults.items()}


def test_the_calls_in_the_readme_are_accepted() -> None:
    """Every body in the README passes the checks of the door it is sent to."""
    sent = list(calls("\n".join(fenced(README, "bash"))))
    assert {path for path, _ in sent} == set(BODIES)
    for path, body in sent:
        filled = re.sub(r"\$[A-Z]+", "131b4c29-3b0f-4a9a-a896-e7981d5042af", body)  # what the shell puts in
        read(BODIES[path], filled.encode(), Limits())


def test_the_answers_in_the_readme_are_json() -> None:
    """What is shown as JSON parses."""
    answers = fenced(README, "json")
    assert answers
    for answer in answers:
        json.loads(answer)


def test_the_table_of_calls_is_the_door() -> None:
    """Every route has its row, and every row is a route."""
    routes = {
        f"{method} {re.sub(r':path', '', route.path)}"
        for noun in (
            *(
                tokens,
                turns,
                facts,
                recall,
                memories,
                profile,
                inbox,
                choices,
                tasks,
                exports,
                receipts,
                traces,
                whole,
                health,
            ),
        )
        for route in noun.router.routes
        if hasattr(route, "methods")
        for method in route.methods
    } | {"GET /openapi.json"}
    assert set(re.findall(r"`((?:GET|POST|PUT|DELETE) /[^`]*)`", README)) == routes


def test_the_python_in_the_readme_imports_what_exists() -> None:
    """Every snippet is Python, and what it takes from our package is there."""
    snippets = fenced(README, "python")
    assert snippets
    for snippet in snippets:
        for node in ast.walk(ast.parse(snippet)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cenotaph"):
                module = import_module(node.module or "")
                assert all(hasattr(module, alias.name) for alias in node.names), node.module


def test_the_guards_exist() -> None:
    """Every test that ARCHITECTURE.md names as a guard is in the file it names before it."""
    assert require_named(r"tests/[\w/]+\.py", ARCHITECTURE) > 10


def test_the_evidence_exists() -> None:
    """Every path that a list of evidence names is there, and every test is in the file it names before it."""
    paths = r"(?:cenotaph|events|ops|projections|services|tests|workers)/[\w/.]+"
    documents = sorted((ROOT / "ops" / "evidence").glob("*.md"))
    assert sum(require_named(paths, document.read_text(encoding="utf-8")) for document in documents) > 50


def require_named(paths: str, document: str) -> int:
    """Require that what stands in backticks is there, a test in the file named before it; return how many tests."""
    tests = 0
    for line in document.splitlines():
        path = None
        for word in re.findall(rf"`({paths}|test_\w+)`", line):
            if not word.startswith("test_"):
                path = ROOT / word
                assert path.exists(), word
                continue
            assert path is not None, word
            assert re.search(rf"^(?:async )?def {word}\(", path.read_text("utf-8"), flags=re.MULTILINE), word
            tests += 1
    return tests


def test_the_event_types_are_named() -> None:
    """ARCHITECTURE.md lists the types of the vocabulary, all of them and no other."""
    (listed,) = re.findall(r"event types exist:\n(.*?)\.\n", ARCHITECTURE, flags=re.DOTALL)
    assert set(re.findall(r"`(\w+)`", listed)) == {kind for kind, _ in EVENT_TYPES}


def test_decisions_are_numbered_without_gaps() -> None:
    """Every decision has a number of its own, a title that repeats it, a date and a state."""
    pages = sorted((ROOT / "ops" / "adr").glob("[0-9]*.md"))
    for number, page in enumerate(pages):
        lines = page.read_text(encoding="utf-8").splitlines()
        assert page.name.startswith(f"{number:04}-"), page.name
        assert lines[0].startswith(f"# {number:04}. " if number else "# NNNN. "), page.name
        assert re.match(r"Date: (?:\d{4}-\d\d-\d\d|YYYY-MM-DD)\. State: ", lines[2]), page.name
