"""Deciding about the candidates of one turn, one after the other, and the events that say so. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain

from events.envelope import StoredEvent
from events.model import (
    PRIVATE,
    Accepted,
    Audience,
    Candidate,
    CandidateProposed,
    Conflicted,
    Event,
    MemoryBody,
    MemoryId,
    NotWritten,
    Outcome,
    Reinforced,
    Resolved,
    Superseded,
    TurnId,
)
from projections.choices import Consents
from services.extraction.remarks import is_remark
from services.governance.gates.worth import worth_of
from services.governance.inheritance import inheriting
from services.governance.judge import GATES, Gate, Living, Ruling, View, Writing, judge
from services.governance.reasons import Reason
from services.governance.sameness import same_thing, same_value
from services.governance.view import rule
from services.profile.fields import classified
from services.remembering.successors import succeeding


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one candidate, and the numbers it was decided by, in thousandths.

    `memory_id` and `version` are set where it is written, or held (version 1). `audience` says which readers it is for.
    `repeats` is what is there already and says the same, where this becomes nothing of its own.
    """

    candidate: Candidate
    candidate_id: MemoryId
    ruling: Ruling
    memory_id: MemoryId
    version: int
    features: dict[str, int]
    audience: Audience = PRIVATE
    repeats: MemoryId | None = None

    @property
    def body(self) -> MemoryBody | None:
        """The content that is kept: of written and held candidates only."""
        if self.written or self.ruling.outcome is Outcome.HELD:
            return MemoryBody.model_validate({name: getattr(self.candidate, name) for name in MemoryBody.model_fields})
        return None

    @property
    def written(self) -> bool:
        """Whether a memory version comes into being."""
        return self.ruling.outcome in {Writing.ACCEPT, Writing.SUPERSEDE, Writing.DISPUTE}


@dataclass(frozen=True, slots=True)
class Held:
    """What is already held, its content, and which readers it is for."""

    memory_id: MemoryId
    body: MemoryBody
    audience: Audience = PRIVATE


def decide(
    candidates: Mapping[Candidate, Audience],
    view: View,
    held: Sequence[Held],
    new_id: Callable[[], MemoryId],
    gates: Sequence[Gate] = GATES,
) -> list[Decision]:
    """Judge each candidate against a view that holds what the earlier ones became, and is for the same readers.

    So nothing that is said for other readers is changed, or shows in a verdict.

    Args:
        candidates: what the extractor proposed, in order, and which readers each is for.
        view: the turn and the current memories.
        held: what is already held; the same candidate is not held twice.
        new_id: makes random ids.
        gates: the gates of the judge.
    """
    decisions: list[Decision] = []
    waiting = list(held)
    for proposed, meant in candidates.items():
        known = ((each.claim, each.audience) for each in view.living), ((each.body, each.audience) for each in waiting)
        candidate, audience = inheriting(classified(proposed, view.policy.profile), meant, chain(*known))
        met = tuple(each for each in view.living if each.audience == audience)
        consents = Consents(view.consents, purposes=view.purposes).open_for(audience.purpose)
        own = view.model_copy(update={"living": met, "consents": consents})
        candidate, own = succeeding(candidate, own)
        if own.succeeds is None and is_remark(candidate):  # a change is nothing where nothing is known of the thing
            continue
        same = [each for each in waiting if each.audience == audience]
        decision = _settling(replace(_one(candidate, own, same, new_id(), gates), audience=audience), same)
        decisions.append(decision)
        if (body := decision.body) is None:
            continue
        waiting = [each for each in waiting if each.memory_id not in decision.ruling.settles]
        if not decision.written:
            waiting.append(Held(decision.memory_id, body, audience))
            continue
        living = Living(
            memory_id=decision.memory_id,
            version=decision.version,
            claim=body,
            confidence=thousandths(candidate.confidence),
            importance=thousandths(candidate.importance),
            recorded_at=view.turn.occurred_at,
            occurred_at=view.turn.occurred_at,
            turn_id=view.turn.turn_id,
            in_conflict=decision.ruling.outcome is Writing.DISPUTE,
            audience=audience,
        )
        gone = {decision.memory_id, *decision.ruling.settles}
        others = tuple(each for each in view.living if each.memory_id not in gone)
        counts = view.counts | {body.kind: view.counts.get(body.kind, 0) + (decision.version == 1)}
        view = view.model_copy(update={"living": (*others, living), "counts": counts})
    return decisions


def _settling(decision: Decision, held: Iterable[Held]) -> Decision:
    """Let what is kept stand for what is held with the value that it corrects: that waits no longer."""
    candidate, ruling = decision.candidate, decision.ruling
    if decision.body is None or candidate.replaces is None or (ruling.target is not None and not decision.written):
        return decision
    gone = candidate.model_copy(update={"value": candidate.replaces})
    settled = tuple(each.memory_id for each in held if _same(gone, each.body))
    return replace(decision, ruling=ruling.model_copy(update={"settles": (*ruling.settles, *settled)}))


def _one(
    candidate: Candidate, view: View, held: Iterable[Held], candidate_id: MemoryId, gates: Sequence[Gate]
) -> Decision:
    features = _features(candidate, view)
    ruling = judge(candidate, view, gates)
    waits = next((each.memory_id for each in held if _same(candidate, each.body)), None)
    if ruling.outcome is Outcome.HELD and waits is not None:
        ruling = rule(Outcome.REJECTED, Reason.ALREADY_HELD)
    if ruling.target is None or ruling.outcome is Writing.DISPUTE:
        decision = Decision(candidate, candidate_id, ruling, candidate_id, 1, features)
        if decision.body is not None:
            return decision
        lives = next((each.memory_id for each in view.living if _same(candidate, each.claim)), None)
        return replace(decision, repeats=lives if waits is None else waits)
    step = 1 if ruling.outcome is Writing.SUPERSEDE else 0
    return Decision(candidate, candidate_id, ruling, ruling.target.memory_id, ruling.target.version + step, features)


def _features(candidate: Candidate, view: View) -> dict[str, int]:
    """Return what the gates weigh, so that a decision can be explained when the policy is another."""
    found = worth_of(candidate, view.policy, known=view.succeeds is not None)._asdict()
    if candidate.content in view.described:
        found["described"] = view.described[candidate.content]
    if near := view.alike.get(candidate.content):
        found["alike"] = max(0.0, *near.values())
    return {name: thousandths(value) for name, value in found.items()}


def _same(one: Candidate, other: MemoryBody) -> bool:
    return one.positive == other.positive and same_thing(one, other) and same_value(one, other)


def events_of(decision: Decision, turn: TurnId, hold: timedelta, now: StoredEvent) -> list[Event]:
    """Return the events that record a decision; the last of a written or held one carries the body.

    Args:
        decision: what was decided.
        turn: the turn that said it.
        hold: how long a held candidate waits for the person.
        now: the turn's event; its recording starts the wait.
    """
    candidate, ruling = decision.candidate, decision.ruling
    cites = tuple(dict.fromkeys(evidence.message_id for evidence in candidate.evidence))
    events: list[Event] = [
        CandidateProposed(
            candidate_id=decision.candidate_id,
            turn_id=turn,
            kind=candidate.kind,
            assertion=candidate.assertion,
            confidence=thousandths(candidate.confidence),
            importance=thousandths(candidate.importance),
            pointers=candidate.evidence,
            features=decision.features,
        )
    ]
    if isinstance(ruling.outcome, Outcome):
        held = ruling.outcome is Outcome.HELD
        events.append(
            NotWritten(
                candidate_id=decision.candidate_id,
                turn_id=turn,
                outcome=ruling.outcome,
                gate=ruling.gate,
                reason=ruling.reason,
                kind=candidate.kind,
                confidence=thousandths(candidate.confidence),
                importance=thousandths(candidate.importance),
                cites=cites if held else (),
                held_until=now.recorded_at + hold if held else None,
                repeats=decision.repeats,
                audience=decision.audience,
            )
        )
    elif ruling.outcome is Writing.REINFORCE:
        events.append(
            Reinforced(
                candidate_id=decision.candidate_id,
                memory_id=decision.memory_id,
                version=decision.version,
                turn_id=turn,
                explicit=candidate.explicit,
            )
        )
    else:
        if ruling.outcome is Writing.SUPERSEDE:
            events.append(
                Superseded(memory_id=decision.memory_id, version=decision.version - 1, by_version=decision.version)
            )
        events.append(
            Accepted(
                candidate_id=decision.candidate_id,
                memory_id=decision.memory_id,
                version=decision.version,
                turn_id=turn,
                kind=candidate.kind,
                confidence=thousandths(candidate.confidence),
                importance=thousandths(candidate.importance),
                cites=cites,
                explicit=candidate.explicit,
                audience=decision.audience,
            )
        )
    return events


def aftermath_of(decision: Decision) -> list[Event]:
    """Return the events that follow a decision's own: what is in conflict with it now, or no longer."""
    ruling = decision.ruling
    if ruling.outcome is Writing.DISPUTE and ruling.target is not None:
        return [Conflicted(memories=(ruling.target.memory_id, decision.memory_id))]
    if not ruling.settles:
        return []
    return [
        Resolved(decision="restated", memory_id=decision.memory_id, version=decision.version, settled=ruling.settles)
    ]


def counts_of(decisions: Iterable[Decision]) -> dict[str, int]:
    """Count the candidates of a turn by what became of them."""
    return dict(Counter(decision.ruling.outcome.value for decision in decisions))


def thousandths(unit: float) -> int:
    """Write a share of one as thousandths: envelopes hold no floats."""
    return round(unit * 1000)
