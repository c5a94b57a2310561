"""Preparing probes: reading what is about to be destroyed, behind the fence, once (R41)."""

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from events.envelope import StoredEvent, open_part
from events.keyring import Keyring
from events.log import read_bodies, read_turns
from events.model import (
    MEMORY_PART,
    Claim,
    EventId,
    IndexBody,
    MemoryBody,
    MessageBody,
    MessageHead,
    Origin,
    TurnFinalized,
)
from events.postgres import Connection
from projections.index import PART as INDEX
from projections.sessions import message_part
from services.forgetting.plan import in_their_own_right, traces
from services.forgetting.question import Question, Target, bare_question


async def prepare(
    connection: Connection, keyring: Keyring, tombstone: StoredEvent, stream: Sequence[StoredEvent]
) -> Question:
    """Read every version and every message that goes. The fence hides them from every other reader by now."""
    question = bare_question(tombstone)
    versions = [version for each in traces(stream, question.memories).values() for version in each.versions]
    turns = await read_turns(connection, question.turns)
    gone = {message_part(message) for message in question.messages}
    raw = await open_raw(connection, keyring, [*versions, *turns])
    targets = targets_of(versions, raw)
    said = tuple(
        content
        for turn, head in _heads(turns)
        if (name := message_part(head.message_id)) in gone and (turn.event_id, name) in raw
        for content in [MessageBody.model_validate_json(raw[turn.event_id, name]).content]
        if head.origin is Origin.USER or _names_one(content, targets)
    )
    return question.model_copy(
        update={
            "targets": targets,
            "messages_said": said,
            "spared": in_their_own_right(stream, tombstone),
            "prepared": len(targets) == len(versions),
        }
    )


def targets_of(versions: Iterable[StoredEvent], raw: Mapping[tuple[EventId, str], bytes]) -> tuple[Target, ...]:
    """Make of every version that opened what the probes ask for."""
    return tuple(
        _target(MemoryBody.model_validate_json(raw[version.event_id, MEMORY_PART]), raw.get((version.event_id, INDEX)))
        for version in versions
        if (version.event_id, MEMORY_PART) in raw
    )


def _heads(turns: Iterable[StoredEvent]) -> Iterator[tuple[StoredEvent, MessageHead]]:
    for turn in turns:
        if isinstance(turn.event, TurnFinalized):
            yield from ((turn, head) for head in turn.event.messages)


def _names_one(content: str, targets: Iterable[Target]) -> bool:
    """Say whether an answer names a forgotten value: "noted" says nothing and would be found in every other turn."""
    return any(target.claim.value.casefold() in content.casefold() for target in targets)


def _target(body: MemoryBody, index: bytes | None) -> Target:
    claim = Claim.model_validate({name: getattr(body, name) for name in Claim.model_fields})
    if index is None:
        return Target(claim=claim)
    found = IndexBody.model_validate_json(index)
    vector = np.frombuffer(b64decode(found.vector), dtype="<f4")
    return Target(claim=claim, vector=tuple(map(float, vector)), model=found.model, tag=found.tag, terms=found.terms)


async def open_raw(
    connection: Connection, keyring: Keyring, events: Iterable[StoredEvent]
) -> dict[tuple[EventId, str], bytes]:
    """Open every part that still opens, whatever the fence says."""
    by_id = {event.event_id: event for event in events}
    ciphertexts = await read_bodies(connection, by_id)
    refs = {(event.event_id, part.name): part for event in by_id.values() for part in event.parts}
    secrets = await keyring.load(part.key_id for part in refs.values())
    return {
        place: open_part(by_id[place[0]], refs[place], ciphertext, secrets[refs[place].key_id])
        for place, ciphertext in ciphertexts.items()
        if refs[place].key_id in secrets
    }
