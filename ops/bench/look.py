"""Real conversations through the whole path, to be judged by eye: what was kept, and what is recalled.

    python -m ops.bench.look --path FOLDER --data locomo|memorybank --out FOLDER [--language zh] [--queries 20]

Runs a `cenotaph up` of its own, plays the turns over HTTP, waits until every one was considered, and writes what was
kept and the compiled context of each question into `--out`, which must lie outside this repository: the data may not
be redistributed. Counts are printed.
"""

import argparse
import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cenotaph.answers import Memory
from cenotaph.calls import Turn
from cenotaph.client import AsyncCenotaph
from ops.bench import locomo, memorybank
from ops.bench.running import Up, up
from ops.bench.turnfile import TurnLine, find, zone
from ops.cli.ingest import line_of

_ROOT = Path(__file__).resolve().parents[2]
_PAGE = 50
_POLL_S = 0.2
_UNANSWERABLE = 5  # LoCoMo's category of questions about what was never said
_BUDGET = 800


@dataclass(frozen=True)
class Question:
    """What is asked about whom; `answer` and `evidence` as far as the data give them."""

    subject: str
    text: str
    answer: str = ""
    evidence: str = ""


@dataclass(frozen=True)
class Material:
    """Turns in order, and questions about them."""

    turns: list[TurnLine]
    questions: list[Question]


def of_locomo(folder: Path, conversation: int, count: int) -> Material:
    """Read one conversation and evenly spread questions whose evidence names words of the remembered person."""
    sample = json.loads(find(folder, "data/locomo10.json", "locomo10.json").read_text(encoding="utf-8"))[conversation]
    turns = list(locomo.turns(sample, zone("+00:00")))
    person = sample["conversation"]["speaker_a"]
    said = {
        line["dia_id"]: line
        for name, session in sample["conversation"].items()
        if name.startswith("session_") and isinstance(session, list)
        for line in session
    }
    asked = [
        Question(turns[0].subject, each["question"], str(each["answer"]), _evidence(said, each["evidence"]))
        for each in sample["qa"]
        if each["category"] != _UNANSWERABLE
        and each["evidence"]
        and all(said.get(place, {}).get("speaker") == person for place in each["evidence"])
    ]
    return Material(turns, spread(asked, count))


def _evidence(said: dict[str, dict[str, Any]], places: Iterable[str]) -> str:
    return " | ".join(said[place]["text"] for place in places)


def of_memorybank(folder: Path, language: str, count: int) -> Material:
    """Read the dialogues of everybody and evenly spread probing questions."""
    short = memorybank.FOLDERS[language]
    people = json.loads(
        find(folder, f"eval_data/{short}/memory_bank_{short}.json", f"{short}/memory_bank_{short}.json").read_text(
            encoding="utf-8"
        )
    )
    turns = [
        turn
        for number, (name, person) in enumerate(people.items())
        for turn in memorybank.turns(name, person, f"memorybank-{language}-{number:02}", zone("+08:00"))
    ]
    probing = find(folder, f"eval_data/{short}/probing_questions_{short}.jsonl", f"probing_questions_{short}.jsonl")
    asked = [
        Question(name, text)
        for line in probing.read_text(encoding="utf-8").splitlines()
        if line.strip()
        for name, texts in json.loads(line).items()
        if name in people  # some are asked about who never spoke
        for text in texts
    ]
    return Material(turns, spread(asked, count))


def spread(items: Sequence[Question], count: int) -> list[Question]:
    """Return so many items, evenly spread over all."""
    count = min(count, len(items))
    return [items[index * len(items) // count] for index in range(count)]


async def play(running: Up, material: Material, out: Path) -> dict[str, object]:
    """Play the turns, write what was kept and what is recalled; return the counts."""
    verdicts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    by_person: dict[str, list[TurnLine]] = defaultdict(list)
    for turn in material.turns:
        by_person[turn.subject].append(turn)
    async with AsyncCenotaph(running.url, timeout_s=60) as door:
        people = {subject: door.for_subject(running.key, subject, role="person") for subject in by_person}
        for subject, turns in by_person.items():
            for turn in turns:
                await people[subject].finalize(_turn(turn))
        for subject, turns in by_person.items():
            for turn in turns:
                for verdict in await _verdicts(people[subject], turn.turn_id):
                    verdicts[verdict[0]] += 1
                    reasons["/".join(verdict)] += 1
        kept = [(subject, memory) for subject, person in people.items() for memory in await _all(person)]
        with (out / "recalls.txt").open("w", encoding="utf-8") as written:
            for number, question in enumerate(material.questions, 1):
                context = await people[question.subject].context(question.text, role="chat", token_budget=_BUDGET)
                written.write(
                    f"=== {number} {question.subject}: {question.text}\nanswer: {question.answer}\n"
                    f"evidence: {question.evidence}\n"
                    f"cited {len(context.memories)}, left out {len(context.left_out)}, tokens {context.used_tokens}\n"
                    f"{context.text}\n\n"
                )
    _write_kept(out / "kept.txt", kept, _words(material.turns))
    return {
        "turns": len(material.turns),
        "people": len(people),
        "verdicts": dict(verdicts.most_common()),
        "reasons": dict(reasons.most_common()),
        "memories": dict(Counter(memory.status for _, memory in kept)),
        "kinds": dict(Counter(memory.kind for _, memory in kept)),
    }


def _turn(line: TurnLine) -> Turn:
    return line_of(0, line.to_json().encode(), None).turn


async def _verdicts(person: AsyncCenotaph, turn_id: str) -> list[tuple[str, ...]]:
    while (outcome := await person.outcome(turn_id)).state != "considered":  # noqa: ASYNC110  # another process
        await asyncio.sleep(_POLL_S)
    return [(each.outcome, each.gate or "", each.reason or "", each.kind) for each in outcome.verdicts]


async def _all(person: AsyncCenotaph) -> list[Memory]:
    found: list[Memory] = []
    cursor = None
    while True:
        page = await person.memories(limit=_PAGE, cursor=cursor)
        found += page.memories
        if (cursor := page.next_cursor) is None:
            return found


def _words(turns: Iterable[TurnLine]) -> dict[tuple[str, str], str]:
    return {(turn.turn_id, said.message_id): said.content for turn in turns for said in turn.messages}


def _write_kept(path: Path, kept: Iterable[tuple[str, Memory]], words: dict[tuple[str, str], str]) -> None:
    """Write one memory a paragraph, with the words it rests on."""
    with path.open("w", encoding="utf-8") as written:
        for number, (subject, memory) in enumerate(kept, 1):
            rests_on = " | ".join(
                words.get((source.turn_id, source.message_id), "")[source.start : source.end]
                for source in memory.sources
            )
            written.write(
                f"{number} [{memory.status}] {subject} {memory.kind} key={memory.key} value={memory.value!r} "
                f"positive={memory.positive} assertion={memory.assertion} confidence={memory.confidence}\n"
                f"    says: {memory.content}\n    rests on: {rests_on}\n"
            )


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, play, print the counts."""
    parser = argparse.ArgumentParser(prog="python -m ops.bench.look", description="Real conversations, judged by eye")
    parser.add_argument("--path", type=Path, required=True, help="the folder of the data set")
    parser.add_argument("--data", choices=["locomo", "memorybank"], required=True)
    parser.add_argument("--language", choices=sorted(memorybank.FOLDERS), default="zh", help="of MemoryBank")
    parser.add_argument("--conversation", type=int, default=0, help="of LoCoMo")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--out", type=Path, required=True, help="a folder outside this repository")
    args = parser.parse_args(argv)
    if args.out.resolve().is_relative_to(_ROOT):
        parser.error("--out lies in this repository; the data may not be redistributed, so write elsewhere")
    args.out.mkdir(parents=True, exist_ok=True)
    if args.data == "locomo":
        material = of_locomo(args.path, args.conversation, args.queries)
    else:
        material = of_memorybank(args.path, args.language, args.queries)
    with up() as running:
        counts = asyncio.run(play(running, material, args.out))
    print(json.dumps(counts, ensure_ascii=False, indent=2))


if __name__ == "__main__":
    main()
