"""Word lists as data: YAML files of literal words and small patterns, compiled once."""

import re
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml

_MACRO = re.compile(r"(?<!\?P)<([a-z]+)>")
_LATIN = re.compile(r"[a-z]")


def load(name: str) -> Any:  # noqa: ANN401 - the shape is the file's; each reader validates its own
    """Read one of the data files."""
    return yaml.safe_load((files(__package__) / "data" / name).read_text("utf-8"))


def alternatives(words: list[str]) -> str:
    """Return one pattern for many: longest first, and Latin words only where they are whole words."""
    return "(?:" + "|".join(_edged(str(word)) for word in sorted(words, key=lambda w: -len(str(w)))) + ")"


def compiled(words: list[str]) -> re.Pattern[str]:
    """Compile a word list."""
    return re.compile(alternatives(words))


@lru_cache(maxsize=1)
def macros() -> dict[str, str]:
    """Return the named pieces that patterns of the data files may use as `<name>`."""
    found: dict[str, str] = {}
    for name, value in load("macros.yaml").items():
        found[name] = expand(alternatives(value) if isinstance(value, list) else value, found)
    return found


def expand(pattern: str, known: dict[str, str] | None = None) -> str:
    """Replace `<name>` by the macro of that name; the names of groups, `(?P<name>`, stay."""
    pieces = macros() if known is None else known
    return _MACRO.sub(lambda match: pieces[match.group(1)], pattern)


def _edged(word: str) -> str:
    if word.isascii() and _LATIN.search(word):
        return rf"(?<![a-z0-9])(?:{word})(?:(?<![a-z0-9])|(?![a-z0-9]))"
    return word
