"""Write turns in the documented form `cenotaph.turn/1`, one JSON object a line (tests/golden/README.md)."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path


@dataclass(frozen=True)
class Said:
    """One message. `origin` is written only where it does not follow from the role."""

    message_id: str
    role: str
    content: str
    origin: str | None = None


@dataclass(frozen=True)
class TurnLine:
    """One finished turn of the person `subject`."""

    subject: str
    turn_id: str
    session_id: str
    occurred_at: datetime
    messages: tuple[Said, ...]

    def to_json(self) -> str:
        """Return the line, without its end."""
        messages = [
            {"message_id": said.message_id, "role": said.role}
            | ({"origin": said.origin} if said.origin else {})
            | {"content": said.content}
            for said in self.messages
        ]
        return json.dumps(
            {
                "schema": "cenotaph.turn/1",
                "subject": self.subject,
                "turn_id": self.turn_id,
                "session_id": self.session_id,
                "occurred_at": self.occurred_at.isoformat(),
                "status": "completed",
                "messages": messages,
            },
            ensure_ascii=False,
        )


def write(path: Path, turns: Iterable[TurnLine]) -> int:
    """Write one line a turn and return how many."""
    lines = [turn.to_json() + "\n" for turn in turns]
    path.write_text("".join(lines), encoding="utf-8")
    return len(lines)


def zone(offset: str) -> tzinfo:
    """Read `+08:00`, `-05:30` or `Z`: the data name no zone, so the caller does.

    Raises:
        ValueError: the text is no offset.
    """
    parsed = datetime.strptime(offset, "%z").utcoffset()
    return timezone(parsed or timedelta())


def find(folder: Path, *names: str) -> Path:
    """Return the first of `names` that lies in `folder`.

    Raises:
        SystemExit: none does; the message names what was looked for.
    """
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise SystemExit(f"{folder}: found none of {', '.join(names)}")
