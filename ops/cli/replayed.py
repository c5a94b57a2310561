"""What `cenotaph replay` prints: one JSON object a line, or one line to read."""

from datetime import datetime
from typing import Any

import orjson
from rich.text import Text

from ops.cli.output import coloured, out, plain
from services.replay.journal import Entry, Told
from services.replay.state import Remembered

_WORDS = {
    "forgotten": "[forgotten]",
    "expired": "[expired]",
    "consent_withdrawn": "[consent withdrawn]",
    "lost": "[its key is lost]",
    "tampered": "[missing or changed; see `cenotaph verify`]",
}


def event_json(entry: Entry) -> str:
    """Write an event: its position, its envelope, and of every part the state and, where it is `open`, the body."""
    event = entry.event
    digests = {part.name: part.digest.hex() for part in event.parts}
    return _json(
        {
            "record": "event",
            "position": event.position,
            "tenant_id": event.scope.tenant_id,
            "subject_id": event.scope.subject_id,
            "stream": event.stream,
            "version": event.version,
            "event_id": event.event_id,
            "command_id": event.command_id,
            "type": event.type,
            "schema_version": event.schema_version,
            "occurred_at": event.occurred_at,
            "recorded_at": event.recorded_at,
            "actor": event.actor,
            "data": event.document,
            "parts": [_part(part, digests[part.name]) for part in entry.parts],
        }
    )


def memory_json(each: Remembered) -> str:
    """Write a memory version: how it stood then, what may be read of it today, and when it was true."""
    fact = each.fact
    return _json(
        {
            "record": "memory",
            "memory_id": fact.memory_id,
            "version": fact.version,
            "status": fact.status,
            "today": each.today,
            "kind": fact.kind,
            "confidence": fact.confidence / 1000,
            "importance": fact.importance / 1000,
            "reinforced": fact.reinforced,
            "turn_id": fact.turn_id,
            "event_id": fact.event_id,
            "recorded_at": fact.recorded_at,
            "valid_from": each.valid_from,
            "valid_until": each.valid_until,
            "body": None if each.body is None else each.body.model_dump(mode="json"),
        }
    )


def event_line(entry: Entry) -> Text:
    """Write an event as a line, and a line below for each part that says something."""
    event = entry.event
    stream = event.stream.partition("/")[0]
    line = Text.assemble(
        (f"{event.position:>6} ", "bold"),
        (f"{event.type:<16}", "cyan"),
        f" {stream:<8} v{event.version:<4} {event.occurred_at:%Y-%m-%d %H:%M:%S}",
        (f" recorded {event.recorded_at:%Y-%m-%d %H:%M:%S.%f} ", "dim"),
        orjson.dumps(event.document).decode(),
        no_wrap=out.is_terminal,
        overflow="ellipsis",
    )
    for part in entry.parts:
        if part.state != "sealed":
            kind = part.name.partition(":")[0]
            line.append(f"\n       {kind}: ", style="dim").append_text(_said(part))
    return line


def memory_line(each: Remembered) -> Text:
    """Write a memory version as a line."""
    fact = each.fact
    until = "" if each.valid_until is None else f" to {_time(each.valid_until)}"
    said = Text(_WORDS[each.today], "yellow") if each.body is None else plain(each.body.content)
    return Text.assemble(
        coloured(fact.status),
        " ",
        (fact.kind.value, "bold"),
        " ",
        said,
        (f"  {fact.memory_id} v{fact.version}", "dim"),
        f"  valid from {_time(each.valid_from)}{until}",
        (f"  recorded {_time(fact.recorded_at)}", "dim"),
    )


def _said(part: Told) -> Text:
    if part.body is None:
        return Text(_WORDS[part.state], "yellow")
    return plain(str(part.body.get("content", part.body.get("description", ""))))


def _part(part: Told, digest: str) -> dict[str, Any]:
    told = {"part": part.name, "key_id": part.key_id, "sha256": digest, "state": part.state}
    return told if part.body is None else told | {"body": part.body}


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"


def _json(document: dict[str, Any]) -> str:
    return orjson.dumps(document, default=str).decode()
