"""A drill of a restore copies the second place of the log that lives, and touches nothing else of it."""

from pathlib import Path

import pytest

from events.errors import BadInputError
from events.place import Folder
from ops.backup.drill import rehearsal
from ops.settings import Settings, load_settings


def living(tmp_path: Path, **given: Path) -> Settings:
    """Name a fresh data directory, and the second place of a log that lives."""
    (tmp_path / "drill").mkdir()
    Folder(tmp_path / "place").put("tombstones/1.json", b"one")
    return load_settings(**{"data": tmp_path / "drill", "second_place": tmp_path / "place"} | given)


def test_a_drill_works_on_a_copy(tmp_path: Path) -> None:
    """The copy lies where an installation looks of itself; repeated, it takes up what came since and keeps its own."""
    settings = living(tmp_path)
    copied = rehearsal(settings)
    assert copied.second_place == load_settings(data=tmp_path / "drill").second_place
    copy, place = Folder(copied.second_place), Folder(settings.second_place)
    assert copy.get("tombstones/1.json") == b"one"
    copy.put("restored/1.json", b"of the drill")
    place.put("tombstones/2.json", b"two")
    (settings.second_place / "tombstones" / ".unfinished").touch()
    assert rehearsal(settings) == copied
    assert list(copy.names("tombstones")) == ["tombstones/1.json", "tombstones/2.json"]
    assert list(copy.names("restored")) == ["restored/1.json"]
    assert not (copied.second_place / "tombstones" / ".unfinished").exists()
    assert list(place.names("restored")) == []


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("second_place", "drill/second-place", "name it with CENOTAPH_SECOND_PLACE"),
        ("second_place", "none", "there is no second place"),
        ("keys", "keys", "unset"),
    ],
)
def test_a_drill_is_refused_where_it_would_write_to_what_lives(
    tmp_path: Path, name: str, value: str, words: str
) -> None:
    """A second place that is its own, one that is not there, and keys outside its data directory are refused."""
    settings = living(tmp_path, **{name: tmp_path / value})
    with pytest.raises(BadInputError, match=words):
        rehearsal(settings)
    assert list((tmp_path / "drill").iterdir()) == []


def test_a_drill_uses_no_store_that_was_given(tmp_path: Path) -> None:
    """The vector index of the log that lives would be rebuilt under its readers, so stores from outside are refused."""
    settings = living(tmp_path).model_copy(update={"milvus_uri": "http://127.0.0.1:1"})
    with pytest.raises(BadInputError, match="MILVUS_URI"):
        rehearsal(settings)
