"""Turn LoCoMo's conversations into a file for `cenotaph ingest` (arXiv 2402.17753; the data stay where they are).

    python -m ops.bench.locomo --path FOLDER --conversation 0 --out FILE.jsonl

The data are chats of two persons. One of them (`--user`, by default the first speaker) becomes the person remembered,
the other the assistant. Dates are the sessions' own; they name no zone (`--utc-offset`), and within a session turns are
given one minute each. What a picture shows was written by a captioning model, so it goes in as retrieved text.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from ops.bench.turnfile import Said, TurnLine, find, write, zone

Spoken = dict[str, Any]


def turns(sample: Spoken, tz: tzinfo, user: str | None = None) -> Iterator[TurnLine]:
    """Yield the turns of one conversation, sessions in their numbered order.

    Args:
        sample: one entry of `locomo10.json`.
        tz: the zone its dates are read in.
        user: the speaker who is remembered; the first speaker when None.

    Raises:
        SystemExit: `user` does not speak in this conversation.
    """
    talk = sample["conversation"]
    speakers = (talk["speaker_a"], talk["speaker_b"])
    person = user or speakers[0]
    if person not in speakers:
        raise SystemExit(f"{sample['sample_id']}: {person} does not speak here; choose from {', '.join(speakers)}")
    for number in sorted(int(key.removeprefix("session_")) for key in talk if key.removeprefix("session_").isdigit()):
        start = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=tz)
        for index, spoken in enumerate(group(talk[f"session_{number}"], person)):
            yield TurnLine(
                subject=f"{sample['sample_id']}-{person}",
                turn_id=f"{sample['sample_id']}-{spoken[0]['dia_id']}",
                session_id=f"{sample['sample_id']}-session-{number}",
                occurred_at=start + timedelta(minutes=index),
                messages=tuple(said for line in spoken for said in messages(line, person)),
            )


def group(lines: Sequence[Spoken], person: str) -> Iterator[list[Spoken]]:
    """Cut a session into turns: a new one starts when the person speaks again after an answer.

    What the other says before the person's first word opens the first turn.
    """
    turn: list[Spoken] = []
    heard = False
    for line in lines:
        speaks = line["speaker"] == person
        if speaks and heard and turn[-1]["speaker"] != person:
            yield turn
            turn, heard = [], False
        turn.append(line)
        heard = heard or speaks
    if turn:
        yield turn


def messages(line: Spoken, person: str) -> Iterator[Said]:
    """Yield what was said and, apart, the caption of a picture that was shared."""
    yield Said(line["dia_id"], "user" if line["speaker"] == person else "assistant", line["text"])
    if caption := line.get("blip_caption"):
        yield Said(f"{line['dia_id']}:picture", "tool", f"[picture: {caption}]", origin="retrieved")


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, convert, say what was written."""
    parser = argparse.ArgumentParser(prog="python -m ops.bench.locomo", description="LoCoMo to cenotaph.turn/1")
    parser.add_argument("--path", type=Path, required=True, help="the folder that holds data/locomo10.json")
    parser.add_argument("--conversation", type=int, help="its number, from 0; all of them when left out")
    parser.add_argument("--user", help="which speaker is remembered; the first one when left out")
    parser.add_argument("--utc-offset", type=zone, default="+00:00", help="the zone of the dates, default +00:00")
    parser.add_argument("--out", type=Path, required=True, help="the .jsonl file to write")
    args = parser.parse_args(argv)
    source = find(args.path, "data/locomo10.json", "locomo10.json")
    samples = json.loads(source.read_text(encoding="utf-8"))
    if args.conversation is not None:
        if not 0 <= args.conversation < len(samples):
            parser.error(f"--conversation is 0 to {len(samples) - 1}")
        samples = [samples[args.conversation]]
    count = write(args.out, (turn for sample in samples for turn in turns(sample, args.utc_offset, args.user)))
    print(f"{count} turns of {len(samples)} conversations written to {args.out}")


if __name__ == "__main__":
    main()
