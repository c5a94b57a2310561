"""Turn MemoryBank's dialogues into a file for `cenotaph ingest` (arXiv 2305.10250; the data stay where they are).

    python -m ops.bench.memorybank --path FOLDER --language zh --out FILE.jsonl

Each person talks with an assistant on several days; a day is a session. The data give days without a clock or a zone:
a day starts at nine (`--utc-offset`, default +08:00) and its turns are five minutes apart.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from pathlib import Path
from typing import Any

from ops.bench.turnfile import Said, TurnLine, find, write, zone

FOLDERS = {"zh": "cn", "en": "en"}
DAY_STARTS = time(9)


def turns(name: str, person: dict[str, Any], prefix: str, tz: tzinfo) -> Iterator[TurnLine]:
    """Yield the turns of one person, day by day; an exchange in which the person says nothing is left out.

    Args:
        name: the person's name, the `subject` of every line.
        person: that entry of `memory_bank_*.json`.
        prefix: starts every id, so that ids of two persons differ.
        tz: the zone the days are read in.
    """
    for day, exchanges in sorted(person["history"].items()):
        start = datetime.combine(date.fromisoformat(day), DAY_STARTS, tz)
        for index, exchange in enumerate(exchanges):
            if not exchange["query"].strip():
                continue
            answer = exchange["response"]
            said = (Said("m1", "user", exchange["query"]), *((Said("m2", "assistant", answer),) if answer else ()))
            yield TurnLine(
                subject=name,
                turn_id=f"{prefix}-{day}-{index:03}",
                session_id=f"{prefix}-{day}",
                occurred_at=start + timedelta(minutes=5 * index),
                messages=said,
            )


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, convert, say what was written."""
    parser = argparse.ArgumentParser(prog="python -m ops.bench.memorybank", description="MemoryBank to cenotaph.turn/1")
    parser.add_argument("--path", type=Path, required=True, help="the folder that holds eval_data")
    parser.add_argument("--language", choices=sorted(FOLDERS), default="zh")
    parser.add_argument("--conversation", type=int, help="the number of a person, from 0; all of them when left out")
    parser.add_argument("--utc-offset", type=zone, default="+08:00", help="the zone of the days, default +08:00")
    parser.add_argument("--out", type=Path, required=True, help="the .jsonl file to write")
    args = parser.parse_args(argv)
    folder = FOLDERS[args.language]
    name = f"{folder}/memory_bank_{folder}.json"
    people = list(json.loads(find(args.path, f"eval_data/{name}", name).read_text(encoding="utf-8")).items())
    chosen = range(len(people)) if args.conversation is None else [args.conversation]
    if args.conversation is not None and not 0 <= args.conversation < len(people):
        parser.error(f"--conversation is 0 to {len(people) - 1}")
    lines = [
        turn
        for number, (person_name, person) in enumerate(people)
        if number in chosen
        for turn in turns(person_name, person, f"memorybank-{args.language}-{number:02}", args.utc_offset)
    ]
    print(f"{write(args.out, lines)} turns of {len(chosen)} persons written to {args.out}")


if __name__ == "__main__":
    main()
