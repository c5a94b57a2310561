"""What `cenotaph audit residue` says of a search, and its exit code; the search itself meets real files elsewhere."""

import json
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from ops.cli import app
from services.residue.needle import Doubt, Find, Needle
from services.residue.search import Search

FIND = Find(Needle("pomegranate", name="line 1"), "log/base/1", "utf-8")
DOUBT = Doubt("milvus/cut.parquet", "cut short")


@pytest.mark.parametrize(
    ("search", "code"),
    [(Search(), 0), (Search(found={FIND}), 3), (Search(doubts={DOUBT}), 4), (Search(found={FIND}, doubts={DOUBT}), 3)],
    ids=["clean", "found", "cannot_prove", "both"],
)
def test_the_exit_code_says_clean_found_or_cannot_prove(
    search: Search, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Places are named, words never are; every line of the text file is looked for."""
    asked: list[list[str]] = []
    command = import_module("ops.cli.residue")  # its name in the package is the function's

    async def look_for(_composition: object, _receipt: object, texts: list[str], *_: object) -> Search:
        asked.append(texts)
        return search

    async def close() -> None:
        pass

    monkeypatch.setattr(command, "look_for", look_for)
    monkeypatch.setattr(command, "compose", lambda *_: SimpleNamespace(close=close))
    monkeypatch.setattr(command, "stores_of", lambda _: None)
    monkeypatch.setattr(command.logs, "configure", lambda _: None)
    texts = tmp_path / "texts"
    texts.write_text("pomegranate\n\n我喜欢龙井茶\n", encoding="utf-8")
    arguments = ["audit", "residue", "--receipt", str(uuid4()), "--text-file", str(texts), "--data", str(tmp_path)]
    plain = CliRunner().invoke(app, arguments)
    assert plain.exit_code == code
    assert [word in plain.output for word in ("log/base/1", "cut.parquet")] == [bool(search.found), bool(search.doubts)]
    assert "pomegranate" not in plain.output
    listed = CliRunner().invoke(app, [*arguments, "--json"])
    assert listed.exit_code == code
    assert json.loads(listed.output)["clean"] is (code == 0)
    assert asked == [["pomegranate", "我喜欢龙井茶"]] * 2
