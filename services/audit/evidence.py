"""What was signed: key introductions and checkpoints from every place that has them, judged before they count (R5)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import zip_longest

from events.errors import TamperError
from events.keychain import KeyChain
from events.note import Checkpoint, Note, VerifierKey
from services.audit.faults import Faults, Kind


class Source(StrEnum):
    """Where a note was found."""

    LOG = "the log"
    PLACE = "the second place"
    WITNESS = "a witness"
    HELD = "a checkpoint that was held"


INDEPENDENT = frozenset({Source.PLACE, Source.WITNESS, Source.HELD})
"""Where somebody who owns the database only cannot have changed it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A head that the key in force signed."""

    size: int
    root: bytes
    source: Source


@dataclass(frozen=True, slots=True)
class Trust:
    """What a check starts from: the pinned first key, and the witnesses whose word counts."""

    pinned: VerifierKey | None = None
    witnesses: tuple[VerifierKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What holds of all that was signed; marks are ordered by size."""

    chain: KeyChain
    marks: tuple[Mark, ...]
    cosigned: Mapping[str, tuple[int, datetime]] = field(default_factory=dict)


def judge(
    introductions: Mapping[Source, Sequence[str]],
    checkpoints: Iterable[tuple[Source, str]],
    trust: Trust,
    faults: Faults,
    *,
    partial: bool = False,
) -> Evidence:
    """Follow the keys from the first one and check who signed each checkpoint.

    Args:
        introductions: notes that introduce keys, in order, by source: the log and the second place.
        checkpoints: notes with their source, in any order.
        trust: what to start from; without a pinned key the second place's first key is believed.
        faults: takes what is wrong.
        partial: whether checkpoints may be left out, as in a bundle of some positions.
    """
    chain, problem = KeyChain.follow(_merged(introductions, faults), trust.pinned)
    found = [(source, raw) for source, raw in checkpoints]
    if problem is not None and (found or any(introductions.values())):
        faults.add(Kind.KEY_CHAIN, None, problem)
    marks: list[Mark] = []
    cosigned: dict[str, tuple[int, datetime]] = {}
    for source, raw in found:
        if (mark := _mark(source, raw, chain, faults)) is not None:
            marks.append(mark)
        if source is Source.WITNESS:
            _cosigned(raw, trust, cosigned, faults)
    if not partial:
        _compare(marks, faults)
    return Evidence(chain, tuple(sorted(marks, key=lambda mark: mark.size)), cosigned)


def _merged(introductions: Mapping[Source, Sequence[str]], faults: Faults) -> list[str]:
    """Believe the second place where it has a key; the log may be ahead of it by what was not copied yet."""
    merged = []
    pairs = zip_longest(introductions.get(Source.LOG, ()), introductions.get(Source.PLACE, ()))
    for number, (log, place) in enumerate(pairs):
        if place is not None and log != place:
            what = "is missing in the log" if log is None else "is not the one in the second place: it was replaced"
            faults.add(Kind.KEY_CHAIN, None, f"key {number} {what}")
        merged.append(place or log or "")
    return merged


def _mark(source: Source, raw: str, chain: KeyChain, faults: Faults) -> Mark | None:
    try:
        note = Note.parse(raw)
        checkpoint = Checkpoint.parse(note.text)
    except TamperError as error:
        faults.add(Kind.CHECKPOINT, None, f"in {source}: {error}")
        return None
    last, name = max(checkpoint.size - 1, 0), f"the checkpoint of {checkpoint.size} events in {source}"
    if chain.first is not None and checkpoint.origin != chain.first.name:
        faults.add(Kind.CHECKPOINT, last, f"{name} is of another log, {checkpoint.origin}")
        return None
    key = chain.at(checkpoint.size)
    if key is None or not note.signed_by(key.key):
        whose = "no key that holds" if key is None else f"key {key.number}, which is in force there"
        faults.add(Kind.SIGNATURE, last, f"{name} is not signed by {whose}")
        return None
    return Mark(checkpoint.size, checkpoint.root, source)


def _cosigned(raw: str, trust: Trust, cosigned: dict[str, tuple[int, datetime]], faults: Faults) -> None:
    try:
        note = Note.parse(raw)
        size = Checkpoint.parse(note.text).size
    except TamperError:
        return  # was named as no checkpoint
    for witness in trust.witnesses:
        if any(each.name == witness.name for each in note.signatures):
            at = note.cosigned_by(witness)
            if at is None:
                what = f"the line of witness {witness.name} under the checkpoint of {size} events does not hold"
                faults.add(Kind.COSIGNATURE, max(size - 1, 0), what)
            elif size >= cosigned.get(witness.name, (0, at))[0]:
                cosigned[witness.name] = (size, at)


def _compare(marks: Sequence[Mark], faults: Faults) -> None:
    """Both places must have every checkpoint; the second one may lag behind the log, never the other way round."""
    log = {mark.size for mark in marks if mark.source is Source.LOG}
    place = {mark.size for mark in marks if mark.source is Source.PLACE}
    for size in sorted(place - log):
        faults.add(Kind.COPY, size - 1, f"the log lacks the checkpoint of {size} events that the second place has")
    for size in sorted(each for each in log - place if each < max(place, default=0)):
        faults.add(Kind.COPY, size - 1, f"the second place lacks the checkpoint of {size} events that the log has")
