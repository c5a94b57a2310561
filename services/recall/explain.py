"""Explaining a memory or a candidate from the log alone: gates, features, policy, evidence, versions (R13, R14)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from events.envelope import StoredEvent, memory_stream
from events.log import fenced, read_stream
from events.model import (
    Accepted,
    CandidateProposed,
    Conflicted,
    MemoryId,
    NotWritten,
    Reinforced,
    Resolved,
    Scope,
    Tombstoned,
    TurnConsidered,
)
from events.postgres import Database
from events.vault import Vault
from projections.changes import State, fold, within
from services.access.rights import TokenRole
from services.governance.judge import GATES
from services.governance.policy import shipped_policy
from services.governance.reasons import Reason
from services.recall.catalogue import recorded_views
from services.recall.profile import rules_of
from services.wire.explain import Explanation, GateVerdict, Judgement
from services.wire.memories import MemoryView, Source
from services.wire.names import message_of
from services.wire.profile import FieldRules

Fate = Accepted | Reinforced | NotWritten


class Explainer:
    """Explains one person's memories.

    Args:
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys.
    """

    def __init__(self, reader: Database, vault: Vault) -> None:
        self._reader = reader
        self._vault = vault

    async def explain(self, scope: Scope, memory_id: MemoryId, *, reader: TokenRole) -> Explanation | None:
        """Explain a memory by its id, or a candidate by its own; None where this person has neither."""
        keyring = await self._vault.keyring(scope)
        async with self._reader.transaction(scope) as connection:
            stream = await read_stream(connection, scope, memory_stream(scope.subject_id))
            cases = [case for case in _cases(stream) if memory_id in {case.proposed.candidate_id, case.memory}]
            if not cases:
                return None
            every = fold({}, stream)
            state = within(every, scope)
            if not _reaches(scope, every, state, memory_id, cases):
                return None
            facts = sorted(
                (fact for fact in state.values() if fact.memory_id == memory_id), key=lambda fact: fact.version
            )
            views = await recorded_views(connection, keyring, facts, reader, "explain")
            cited = {pointer.message_id for case in cases for pointer in case.proposed.pointers}
            stones = await fenced(connection, scope, cited)
        names = await keyring.outside({*cited, *(case.proposed.turn_id for case in cases)})
        return Explanation(
            memory_id=memory_id,
            judgements=tuple(_judgement(case, names, stones) for case in cases),
            versions=tuple(views),
            reinforced=sum(fact.reinforced for fact in facts),
            rivals=tuple(each for each in _rivals(stream, memory_id) if each in {memory for memory, _ in state}),
            settled=tuple(_decisions(stream, memory_id)),
            field=_field(views),
            forgotten=any(isinstance(each.event, Tombstoned) and memory_id in each.event.memories for each in stream),
        )


@dataclass(frozen=True, slots=True)
class _Case:
    """One candidate and its end, within the command that considered its turn."""

    stored: StoredEvent
    proposed: CandidateProposed
    fate: Fate
    considered: TurnConsidered | None

    @property
    def memory(self) -> MemoryId | None:
        return None if isinstance(self.fate, NotWritten) else self.fate.memory_id


def _reaches(scope: Scope, every: State, state: State, memory_id: MemoryId, cases: Sequence[_Case]) -> bool:
    """Tell whether a memory is within the scope; of a candidate that left none, its own end says so."""
    if any(memory == memory_id for memory, _ in every):
        return any(memory == memory_id for memory, _ in state)
    return all(
        scope.admits(fate.audience)
        if isinstance(fate := case.fate, Accepted | NotWritten)
        else (fate.memory_id, fate.version) in state
        for case in cases
    )


def _cases(stream: Sequence[StoredEvent]) -> list[_Case]:
    cases = []
    for _, group in groupby(stream, key=lambda stored: stored.command_id):
        command = list(group)
        considered = next((each.event for each in command if isinstance(each.event, TurnConsidered)), None)
        fates = {each.event.candidate_id: each.event for each in command if isinstance(each.event, Fate)}
        cases += [
            _Case(each, each.event, fates[each.event.candidate_id], considered)
            for each in command
            if isinstance(each.event, CandidateProposed) and each.event.candidate_id in fates
        ]
    return cases


def _judgement(case: _Case, names: Mapping[UUID, str], stones: set[UUID]) -> Judgement:
    proposed, fate = case.proposed, case.fate
    gate, reason, outcome = _end(fate)
    return Judgement(
        candidate_id=proposed.candidate_id,
        outcome=outcome,
        kind=proposed.kind,
        assertion=proposed.assertion,
        confidence=proposed.confidence / 1000,
        importance=proposed.importance / 1000,
        features={name: value / 1000 for name, value in sorted(proposed.features.items())},
        gates=_gates(gate, reason),
        extractor=None if case.considered is None else case.considered.extractor,
        fallback=None if case.considered is None else case.considered.fallback,
        policy=None if case.considered is None else case.considered.policy_digest,
        turn_id=names.get(proposed.turn_id, ""),
        at=case.stored.recorded_at,
        evidence=tuple(
            Source(
                turn_id=names.get(proposed.turn_id, ""),
                message_id=message_of(names.get(pointer.message_id, "")),
                start=pointer.start,
                end=pointer.end,
                state="forgotten" if pointer.message_id in stones else "readable",
            )
            for pointer in proposed.pointers
        ),
    )


def _end(fate: Fate) -> tuple[str | None, str | None, str]:
    match fate:
        case NotWritten():
            return fate.gate, fate.reason, fate.outcome.value
        case Reinforced():
            return Reason.SAME.gate, Reason.SAME.value, "reinforced"
        case Accepted():
            return None, None, "accepted"


def _gates(deciding: str | None, reason: str | None) -> tuple[GateVerdict, ...]:
    names = [gate.__name__ for gate in GATES]
    last = names.index(deciding) if deciding in names else len(names)
    meanings = {each.value: each.meaning for each in Reason}
    verdicts = [GateVerdict(gate=name, verdict="passed") for name in names[:last]]
    if deciding is not None:
        meaning = meanings.get(reason or "")
        verdicts.append(GateVerdict(gate=deciding, verdict="decided", reason=reason, meaning=meaning))
    return (*verdicts, *(GateVerdict(gate=name, verdict="not_asked") for name in names[last + 1 :]))


def _field(views: Sequence[MemoryView]) -> FieldRules | None:
    key = next((view.key for view in reversed(views) if view.key is not None), None)
    field = shipped_policy().profile.get(key or "")
    return None if key is None or field is None else rules_of(key, field)


def _rivals(stream: Sequence[StoredEvent], memory_id: MemoryId) -> tuple[MemoryId, ...]:
    groups = [each.event.memories for each in stream if isinstance(each.event, Conflicted)]
    return tuple(sorted({each for group in groups if memory_id in group for each in group} - {memory_id}))


def _decisions(stream: Sequence[StoredEvent], memory_id: MemoryId) -> list[str]:
    events = (each.event for each in stream if isinstance(each.event, Resolved))
    return [event.decision for event in events if memory_id in {event.memory_id, *event.settled}]
