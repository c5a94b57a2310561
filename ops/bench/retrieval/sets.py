"""Loaders of the public sets. The data are read where they lie and copied nowhere.

Every message becomes an item, every question names the items that answer it; questions without any are left out. Which
turns are neighbours follows from sessions: those of LoCoMo, a trajectory of MemDaily, a day of a MemoryBank person; an
event of MADial stands alone.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

from events.errors import BadInputError
from ops.bench.retrieval.pool import Item, Pool, Question

Name = Literal["locomo", "memdaily", "memdaily-pooled", "madial-zh", "madial-en"]

_TURN = re.compile(r"D\d+:\d+")
_TRAJECTORIES = 20  # of one file, in one pool
_ASKED = ("01", "02", "06")  # the kinds of MemDaily that one message or some answer; the others take a calculation
_LINES = 9  # of a MADial dialogue, up to the one that a memory should help with
_DIALECTS: Final = {"zh": "ch", "en": "en"}


def load(name: Name, folder: Path) -> list[Pool]:
    """Read a set.

    Args:
        name: which one.
        folder: its own folder, or the one it lies in beside others.

    Raises:
        BadInputError: the folder does not hold it, or a file is not what it should be.
    """
    try:
        pools = [pool for pool in _LOADERS[name](folder) if pool.questions]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise BadInputError(f"{folder} does not hold {name} as it was published: {error!r}") from error
    if not pools:
        raise BadInputError(f"{folder}: {name} has no question there")
    return pools


def _found(folder: Path, *names: str) -> Path:
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise BadInputError(f"{folder}: there is none of {', '.join(names)}; --path is the folder that holds the data set")


def _read(path: Path) -> Any:  # noqa: ANN401 - JSON
    return json.loads(path.read_text(encoding="utf-8"))


def _lines(path: Path) -> Iterator[Any]:
    return (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


def _locomo(folder: Path) -> Iterator[Pool]:
    source = _found(folder, "locomo/data/locomo10.json", "data/locomo10.json", "locomo10.json")
    for number, sample in enumerate(_read(source)):
        items = tuple(_locomo_items(sample["conversation"]))
        known = {item.item_id for item in items}
        questions = ((asked, known & set(_TURN.findall(" ".join(asked.get("evidence", []))))) for asked in sample["qa"])
        yield Pool(
            sample["sample_id"],
            items,
            tuple(
                Question(asked["question"], frozenset(evidence), str(asked["category"]), number)
                for asked, evidence in questions
                if evidence
            ),
        )


def _locomo_items(talk: Mapping[str, Any]) -> Iterator[Item]:
    for number in sorted(int(key.removeprefix("session_")) for key in talk if re.fullmatch(r"session_\d+", key)):
        start = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for minute, said in enumerate(talk[f"session_{number}"]):
            picture = f" [image: {said['blip_caption']}]" if said.get("blip_caption") else ""
            at = start + timedelta(minutes=minute)
            yield Item(said["dia_id"], f"session-{number}", at, said["text"] + picture, said["speaker"])


def _trajectories(folder: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    below = "data_generation/final_dataset/messages_and_QAs"
    source = _found(folder, f"memdaily/{below}", below)
    for path in sorted(source.glob("*.json")):
        if path.name[:2] in _ASKED:
            yield path.stem, _read(path)


def _memdaily(folder: Path) -> Iterator[Pool]:
    noise = tuple(_noise(folder))
    numbered = ((name, one) for name, every in _trajectories(folder) for one in every)
    for number, (name, one) in enumerate(numbered):
        items = sorted((*noise, *_messages(one)), key=lambda item: item.at)
        yield Pool(f"{name}-{one['tid']}", tuple(items), tuple(_asked(name, one, number)))


def _memdaily_pooled(folder: Path) -> Iterator[Pool]:
    number = 0
    for name, every in _trajectories(folder):
        for start in range(0, len(every), _TRAJECTORIES):
            group = every[start : start + _TRAJECTORIES]
            items = sorted((item for one in group for item in _messages(one)), key=lambda item: item.at)
            questions = tuple(question for one in group for question in _asked(name, one, number))
            yield Pool(f"{name}-{group[0]['tid']}", tuple(items), questions)
            number += 1


def _messages(one: Mapping[str, Any]) -> Iterator[Item]:
    for place, said in enumerate(one["message_list"]):
        day, _, hour = said["time"].split()
        at = datetime.strptime(f"{day} {hour}", "%Y年%m月%d日 %H:%M").replace(tzinfo=UTC) + timedelta(seconds=place)
        yield Item(f"{one['tid']}:{said['mid']}", f"trajectory-{one['tid']}", at, said["message"])


def _asked(name: str, one: Mapping[str, Any], number: int) -> Iterator[Question]:
    for asked in one["question_list"]:
        if evidence := frozenset(f"{one['tid']}:{step}" for step in asked["target_step_id"]):
            yield Question(asked["question"], evidence, name[:2], number)


def _noise(folder: Path) -> Iterator[Item]:
    below = "eval_data/cn/memory_bank_cn.json"
    for person, told in _read(_found(folder, f"memorybank/{below}", f"../memorybank/{below}", below)).items():
        for day, turns in told["history"].items():
            start = datetime.fromisoformat(day).replace(tzinfo=UTC)
            for minute, turn in enumerate(turns):
                if turn["query"].strip():
                    at = start + timedelta(minutes=minute)
                    yield Item(f"noise:{person}:{day}:{minute}", f"{person}-{day}", at, turn["query"])


def _madial(folder: Path, language: str) -> Iterator[Pool]:
    below = f"data/{_DIALECTS[language]}/MADial-Bench-{language}"
    memories = _found(folder, f"madial/{below}-memory.json", f"{below}-memory.json")
    dialogues = _found(folder, f"madial/{below}-dialogue.json", f"{below}-dialogue.json")
    known = {key: event for line in _lines(memories) for key, event in line.items()}
    asked: dict[str, list[Question]] = defaultdict(list)
    for number, dialogue in enumerate(_lines(dialogues)):
        lines = [re.sub(r'["<>]', "", line.strip()) for line in dialogue["dialogue"][1:]]
        query = "\n".join(lines[: dialogue["test-turn"][0] - 1][-_LINES:])
        # the English events name no person, so all of them are one pool
        person = str(dialogue["user-id"]) if language == "zh" else ""
        own = {key for key, event in known.items() if not person or str(event["user-id"]) == person}
        if evidence := own & {str(each) for each in dialogue["relevant-id"]}:
            asked[person].append(Question(query, frozenset(evidence), "all", number))
    for person, questions in asked.items():
        events = [(key, each) for key, each in known.items() if not person or str(each["user-id"]) == person]
        items = sorted(
            (
                Item(key, f"event-{key}", datetime.fromisoformat(event["time"]).replace(tzinfo=UTC), event["event"])
                for key, event in events
            ),
            key=lambda item: item.at,
        )
        yield Pool(f"madial-{language}-{person or 'all'}", tuple(items), tuple(questions))


_LOADERS: Final[Mapping[Name, Callable[[Path], Iterator[Pool]]]] = {
    "locomo": _locomo,
    "memdaily": _memdaily,
    "memdaily-pooled": _memdaily_pooled,
    "madial-zh": lambda folder: _madial(folder, "zh"),
    "madial-en": lambda folder: _madial(folder, "en"),
}
