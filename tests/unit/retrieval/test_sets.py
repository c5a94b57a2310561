"""Reading the retrieval sets: tiny files of the published shape, and what is refused."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from events.errors import BadInputError
from ops.bench.retrieval.pool import Pool, half_of, sample
from ops.bench.retrieval.sets import Name, load

LOCOMO = [
    {
        "sample_id": f"conv-{number}",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Bo",
            "session_2_date_time": "9:00 pm on 1 July, 2024",
            "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "How is Juniper?"}],
            "session_1_date_time": "12:05 am on 3 June, 2024",
            "session_1": [
                {"speaker": "Ada", "dia_id": "D1:1", "text": "I adopted a goat.", "blip_caption": "a goat"},
                {"speaker": "Bo", "dia_id": "D1:2", "text": "Lovely."},
            ],
        },
        "qa": [
            {"question": "What did Ada adopt?", "evidence": ["D1:1; D2:1"], "category": 4},
            {"question": "Who asked?", "evidence": ["D9:9"], "category": 1},
            {"question": "When?", "category": 2},
        ],
    }
    for number in range(4)
]


def _trajectory(number: int) -> dict[str, Any]:
    times = ("2024年04月02日 周二 08:30", "2024年04月01日 周一 20:58")
    return {
        "tid": number,
        "message_list": [
            {"mid": place, "message": f"第{number}条，第{place}句。", "time": time} for place, time in enumerate(times)
        ],
        "question_list": [
            {"question": f"第{number}条说了什么？", "target_step_id": [1]},
            {"question": "没有答案？", "target_step_id": []},
        ],
    }


NOISE = {
    "张曼婷": {"history": {"2023-04-27": [{"query": "你好。"}, {"query": " "}], "2023-04-28": [{"query": "再见。"}]}}
}
EVENTS: dict[str, list[dict[str, Any]]] = {
    "zh": [
        {"1": {"time": "2023-12-25", "event": "小明跳舞。", "user-id": 1}},
        {"2": {"time": "2023-03-07", "event": "小红唱歌。", "user-id": 2}},
    ],
    "en": [
        {"1": {"time": "2023-12-25", "event": "Bart danced."}},
        {"2": {"time": "2023-03-07", "event": "Lisa sang."}},
    ],
}
DIALOGUE = {
    "dialogue": [
        "<BOD>\n",
        '<Bart>:"我要表演！"\n',
        '<Assistant>:"真棒。"\n',
        '<Bart>:"穿什么好呢？"\n',
        '<Assistant>:"记得去年吗？"\n',
    ],
    "test-turn": [4],
    "relevant-id": [1, 99],
    "user-id": 1,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write all sets side by side, as small as they get."""
    _write(tmp_path / "locomo/data/locomo10.json", LOCOMO)
    below = tmp_path / "memdaily/data_generation/final_dataset/messages_and_QAs"
    _write(below / "01_simple_events.json", [_trajectory(number) for number in range(21)])
    _write(below / "03_comparative_events.json", [_trajectory(0)])
    _write(tmp_path / "memorybank/eval_data/cn/memory_bank_cn.json", NOISE)
    for language, dialect in (("zh", "ch"), ("en", "en")):
        data = tmp_path / f"madial/data/{dialect}"
        _write_lines(data / f"MADial-Bench-{language}-memory.json", EVENTS[language])
        _write_lines(data / f"MADial-Bench-{language}-dialogue.json", [DIALOGUE])
    return tmp_path


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def _write_lines(path: Path, values: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), encoding="utf-8")


def test_locomo_turns_come_in_order_with_speaker_and_picture(folder: Path) -> None:
    """Sessions by number, a minute a turn; questions without evidence in the conversation are left out."""
    first = load("locomo", folder)[0]
    assert [(item.item_id, item.session, item.said) for item in first.items] == [
        ("D1:1", "session-1", "Ada: I adopted a goat. [image: a goat]"),
        ("D1:2", "session-1", "Bo: Lovely."),
        ("D2:1", "session-2", "Bo: How is Juniper?"),
    ]
    assert first.items[1].at == datetime(2024, 6, 3, 0, 6, tzinfo=UTC)
    (question,) = first.questions
    assert (question.evidence, question.category) == (frozenset({"D1:1", "D2:1"}), "4")
    assert load("locomo", folder / "locomo")[0] == first


def test_memdaily_stands_among_the_distractors_of_other_people(folder: Path) -> None:
    """One pool a trajectory, its messages by time, each distractor's day a session, only kinds one message answers."""
    pools = load("memdaily", folder)
    assert len(pools) == 21
    assert [(item.item_id, item.session) for item in pools[3].items] == [
        ("noise:张曼婷:2023-04-27:0", "张曼婷-2023-04-27"),
        ("noise:张曼婷:2023-04-28:0", "张曼婷-2023-04-28"),
        ("3:1", "trajectory-3"),
        ("3:0", "trajectory-3"),
    ]
    assert [(each.evidence, each.category) for each in pools[3].questions] == [(frozenset({"3:1"}), "01")]


def test_memdaily_pooled_holds_twenty_trajectories(folder: Path) -> None:
    """Twenty of one file share a pool; the rest make a smaller one."""
    pools = load("memdaily-pooled", folder)
    assert [(len(pool.items), len(pool.questions)) for pool in pools] == [(40, 20), (2, 1)]
    assert {question.conversation for question in pools[1].questions} == {1}


def test_madial_asks_with_the_dialogue_so_far(folder: Path) -> None:
    """The lines before the test turn with their speakers; in Chinese among the person's own events, else among all."""
    (chinese,), (english,) = load("madial-zh", folder), load("madial-en", folder)
    assert chinese.questions[0].text == "Bart:我要表演！\nAssistant:真棒。\nBart:穿什么好呢？"
    assert chinese.questions[0].evidence == {"1"}
    assert [item.item_id for item in chinese.items] == ["1"]
    assert [item.item_id for item in english.items] == ["2", "1"]
    assert len({item.session for item in english.items}) == 2


def test_the_halves_share_no_conversation(folder: Path) -> None:
    """Even conversations tune, odd ones are held; a pool that has none of the half is not played."""
    pools = load("locomo", folder)
    tune, hold = half_of(pools, "tune"), half_of(pools, "hold")
    assert [pool.name for pool in tune] == ["conv-0", "conv-2"]
    assert [pool.name for pool in hold] == ["conv-1", "conv-3"]
    assert half_of(pools, None) == pools


def test_a_sample_is_the_same_every_time_and_keeps_its_order(folder: Path) -> None:
    """So many pools, those a seed names; all of them where fewer are there."""
    pools = load("memdaily", folder)

    def names(chosen: list[Pool]) -> list[str]:
        return [pool.name for pool in chosen]

    chosen = names(sample(pools, 5))
    assert chosen == names(sample(pools, 5)) == [name for name in names(list(pools)) if name in chosen]
    assert len(chosen) == 5
    assert sample(pools, 99) == list(pools)


@pytest.mark.parametrize("name", ["locomo", "memdaily", "memdaily-pooled", "madial-zh", "madial-en"])
def test_a_folder_without_the_set_is_refused(name: Name, tmp_path: Path) -> None:
    """The error names the folder and the files that were looked for."""
    with pytest.raises(BadInputError, match=r"there is none of .*--path is the folder") as raised:
        load(name, tmp_path)
    assert str(tmp_path) in str(raised.value)


@pytest.mark.parametrize("content", ["", "{", "[]", "[1]", '[{"sample_id": "x", "conversation": {}, "qa": [{}]}]'])
def test_a_file_of_another_shape_is_refused(content: str, tmp_path: Path) -> None:
    """What is not JSON, is empty or lacks fields says that it is not the set."""
    (tmp_path / "locomo10.json").write_text(content, encoding="utf-8")
    with pytest.raises(BadInputError, match="locomo"):
        load("locomo", tmp_path)
