import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ops.bench import locomo, memorybank
from ops.bench.turnfile import zone
from services.wire.limits import Limits
from services.wire.reading import read
from services.wire.turns import TurnIn

SAMPLE = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Bo",
        "session_2_date_time": "12:05 am on 3 June, 2024",
        "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Hi Ada!"}],
        "session_10_date_time": "9:00 pm on 1 July, 2024",
        "session_10": [{"speaker": "Ada", "dia_id": "D10:1", "text": "Back again."}],
        "session_1_date_time": "1:56 pm on 8 May, 2024",
        "session_1": [
            {"speaker": "Bo", "dia_id": "D1:1", "text": "Long time no see."},
            {"speaker": "Ada", "dia_id": "D1:2", "text": "I adopted a goat.", "blip_caption": "a photo of a goat"},
            {"speaker": "Ada", "dia_id": "D1:3", "text": "She is called Juniper."},
            {"speaker": "Bo", "dia_id": "D1:4", "text": "Lovely."},
            {"speaker": "Ada", "dia_id": "D1:5", "text": "Bye!"},
        ],
        "session_11_date_time": "9:00 pm on 1 August, 2024",
    },
}
BANK = {
    "顾小满": {
        "history": {
            "2024-05-02": [{"query": "我学会游泳了。", "response": "太棒了！"}],
            "2024-05-01": [
                {"query": "你好", "response": "你好，小满。"},
                {"query": "  ", "response": "还在吗？"},
                {"query": "我养了一只乌龟。", "response": ""},
            ],
        }
    },
    "Tim Ash": {"history": {"2024-05-01": [{"query": "Hello", "response": "Hi!"}]}},
}


def lines(path: Path) -> list[dict[str, Any]]:
    """Read a converted file back."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def locomo_folder(tmp_path: Path) -> Path:
    """A folder in the shape of LoCoMo's repository."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "locomo10.json").write_text(json.dumps([SAMPLE]), encoding="utf-8")
    return tmp_path


@pytest.fixture
def bank_folder(tmp_path: Path) -> Path:
    """A folder in the shape of MemoryBank's repository."""
    (tmp_path / "eval_data" / "cn").mkdir(parents=True)
    (tmp_path / "eval_data" / "cn" / "memory_bank_cn.json").write_text(json.dumps(BANK), encoding="utf-8")
    return tmp_path


def convert_locomo(folder: Path, *more: str) -> list[dict[str, Any]]:
    """Run the command as a user would."""
    locomo.main(["--path", str(folder), "--conversation", "0", "--out", str(folder / "out.jsonl"), *more])
    return lines(folder / "out.jsonl")


def convert_bank(folder: Path, *more: str) -> list[dict[str, Any]]:
    """Run the command as a user would."""
    memorybank.main(["--path", str(folder), "--out", str(folder / "out.jsonl"), *more])
    return lines(folder / "out.jsonl")


def test_a_locomo_turn_ends_when_the_person_speaks_again(locomo_folder: Path) -> None:
    """A greeting opens the first turn, several lines in a row stay together, an answer closes a turn."""
    turns = convert_locomo(locomo_folder)
    assert [[m["message_id"] for m in turn["messages"]] for turn in turns] == [
        ["D1:1", "D1:2", "D1:2:picture", "D1:3", "D1:4"],
        ["D1:5"],
        ["D2:1"],
        ["D10:1"],
    ]


def test_a_locomo_caption_is_retrieved_text(locomo_folder: Path) -> None:
    """What a captioning model wrote never counts as the person's words."""
    caption = convert_locomo(locomo_folder)[0]["messages"][2]
    assert caption == {
        "message_id": "D1:2:picture",
        "role": "tool",
        "origin": "retrieved",
        "content": "[picture: a photo of a goat]",
    }


def test_locomo_sessions_come_in_numbered_order_with_their_own_dates(locomo_folder: Path) -> None:
    """Session 10 follows session 2, noon and midnight are told apart, and the zone is the one that was asked for."""
    turns = convert_locomo(locomo_folder, "--utc-offset=-05:00")
    assert [turn["occurred_at"] for turn in turns] == [
        "2024-05-08T13:56:00-05:00",
        "2024-05-08T13:57:00-05:00",
        "2024-06-03T00:05:00-05:00",
        "2024-07-01T21:00:00-05:00",
    ]


def test_either_locomo_speaker_can_be_the_person(locomo_folder: Path) -> None:
    """With `--user` the roles change sides, and the subject with them."""
    turn = convert_locomo(locomo_folder, "--user", "Bo")[0]
    assert turn["subject"] == "conv-1-Bo"
    assert [m["role"] for m in turn["messages"]] == ["user", "assistant", "tool", "assistant"]


def test_a_stranger_to_a_locomo_conversation_is_refused(locomo_folder: Path) -> None:
    """A name that does not speak is an error that lists those who do."""
    with pytest.raises(SystemExit, match="choose from Ada, Bo"):
        convert_locomo(locomo_folder, "--user", "Cy")


def test_memorybank_days_become_sessions_in_order(bank_folder: Path) -> None:
    """Days are sorted, exchanges without a word of the person are left out, an empty answer adds no message."""
    turns = [turn for turn in convert_bank(bank_folder) if turn["subject"] == "顾小满"]
    assert [(turn["turn_id"], turn["occurred_at"], len(turn["messages"])) for turn in turns] == [
        ("memorybank-zh-00-2024-05-01-000", "2024-05-01T09:00:00+08:00", 2),
        ("memorybank-zh-00-2024-05-01-002", "2024-05-01T09:10:00+08:00", 1),
        ("memorybank-zh-00-2024-05-02-000", "2024-05-02T09:00:00+08:00", 2),
    ]


def test_one_memorybank_person_has_the_same_ids_as_among_all(bank_folder: Path) -> None:
    """Choosing a person changes what is written, not how it is named, so that runs can be compared."""
    everyone = convert_bank(bank_folder)
    assert convert_bank(bank_folder, "--conversation", "1") == [t for t in everyone if t["subject"] == "Tim Ash"]


@pytest.mark.usefixtures("locomo_folder", "bank_folder")
@pytest.mark.parametrize("convert", [convert_locomo, convert_bank])
def test_converted_lines_have_the_documented_form(
    convert: Callable[[Path], list[dict[str, Any]]], tmp_path: Path
) -> None:
    """The strict reader of the doors takes every line but for its subject; ids are unique."""
    turns = convert(tmp_path)
    assert len({turn["turn_id"] for turn in turns}) == len(turns)
    for turn in turns:
        assert turn.pop("subject")
        assert read(TurnIn, json.dumps(turn).encode(), Limits()).turn_id == turn["turn_id"]


def test_a_missing_data_set_is_named(tmp_path: Path) -> None:
    """The message says which file was looked for."""
    with pytest.raises(SystemExit, match=r"data/locomo10\.json"):
        convert_locomo(tmp_path)


@pytest.mark.parametrize("offset", ["8", "Asia/Shanghai", ""])
def test_a_zone_is_an_offset(offset: str) -> None:
    """Names and bare numbers are refused: they would make the dates depend on the machine."""
    with pytest.raises(ValueError, match="does not match"):
        zone(offset)
