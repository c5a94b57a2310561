"""What takes the place of a memory by its words alone: "switched to Go", 换苹果了. Pure.

The extractor reads a turn without knowing what is remembered. So what only tells of a change reaches the gates as a
remark, and becomes a claim here, under the key of the one memory that it makes untrue; where there is none, or two that
are as likely, it is nothing. The same is asked of a claim that met nothing under its own key.
"""

from events.model import Assertion, Candidate, Kind, MemoryBody
from services.extraction.remarks import is_remark, value_in
from services.extraction.signs import signs_of
from services.extraction.vocabulary import vocabulary
from services.extraction.wording import is_chinese
from services.governance.audience import EVERYWHERE
from services.governance.folding import plain
from services.governance.gates.conflict import rivals
from services.governance.policy import SuccessionPolicy
from services.governance.view import Living, View
from services.remembering.succession import features, likelihood, tells

_STATED = frozenset({Assertion.STATED, Assertion.PLANNED})
_PAST = frozenset({Kind.EPISODE, Kind.REFLECTION})
_CERTAIN = 1.0
_SUREST = 0.95


def may_succeed(candidate: Candidate, body: MemoryBody, policy: SuccessionPolicy) -> bool:
    """Say whether one of two claims could take the place of the other if their vectors were as close as can be."""
    if not _comparable(candidate, body):
        return False
    if tells(candidate.content):
        onwards = features(
            _told(candidate, body), body.content, body.value, _CERTAIN, pointed=is_remark(candidate), key=body.key
        )
        if likelihood(onwards, policy.weights) >= policy.threshold:
            return True
    if is_remark(candidate) or not tells(body.content):
        return False
    back = features(body.content, candidate.content, candidate.value, _CERTAIN)
    return likelihood(back, policy.weights) >= policy.threshold


def succeeding(candidate: Candidate, view: View) -> tuple[Candidate, View]:
    """Return a candidate as the next version of the memory whose place it takes, and a view that says which.

    Both are as they were where there is none, or two that are as likely.

    Args:
        candidate: what is proposed.
        view: what is remembered for the same readers, with the cosines that `comparable` asked for.
    """
    alike = view.alike.get(candidate.content, {})
    if not alike or (not is_remark(candidate) and rivals(candidate, view)):
        return candidate, view
    found = sorted(
        (
            (chance, living)
            for living in view.living
            if living.memory_id in alike and (chance := _chance(candidate, living, alike[living.memory_id], view)) > 0
        ),
        key=lambda pair: (-pair[0], pair[1].memory_id.bytes),
    )
    policy = view.policy.succession
    if not found or found[0][0] < policy.threshold:
        return candidate, view
    best, living = found[0]
    if found[1:] and best - found[1][0] < policy.margin:
        return candidate, view
    telling = view.model_copy(update={"succeeds": living.memory_id})
    if living.occurred_at > view.turn.occurred_at:
        return candidate, telling
    return _heir(candidate, living, best), telling


def _chance(candidate: Candidate, living: Living, cosine: float, view: View) -> float:
    """Return how likely the later one of the two takes the place of the other; of one moment neither is later."""
    body, now = living.claim, view.turn.occurred_at
    if living.in_conflict or living.occurred_at == now or not _comparable(candidate, body):
        return 0.0
    weights = view.policy.succession.weights
    if living.occurred_at < now:
        said, pointed = _told(candidate, body), is_remark(candidate) and _just_said(body, view)
        return likelihood(features(said, body.content, body.value, cosine, pointed=pointed, key=body.key), weights)
    if is_remark(candidate):
        return 0.0
    return likelihood(features(body.content, candidate.content, candidate.value, cosine), weights)


def _told(candidate: Candidate, body: MemoryBody) -> str:
    """Return what a candidate says, with the 了 that claims drop where it tells of a change of the memory's thing."""
    said = plain(candidate.content)
    if not candidate.correction or is_remark(candidate) or not is_chinese(said):
        return candidate.content
    named = any(each.thing is not None and each.thing in plain(body.content) for each in signs_of(said).telling)
    return f"{candidate.content}了" if named else candidate.content


def _just_said(body: MemoryBody, view: View) -> bool:
    """Say whether a memory rests on what the person said in the turn that this one points back to."""
    before = {message.message_id for message in view.turn.before[-1:]}
    return any(pointer.message_id in before for pointer in body.evidence)


def _comparable(candidate: Candidate, body: MemoryBody) -> bool:
    """Say whether two claims of the person may be about one thing: stated, lasting, of one scope and no two keys."""
    own = candidate.said_by is None and body.said_by is None and candidate.assertion in _STATED
    lasting = body.kind not in _PAST and candidate.kind not in _PAST
    scoped = candidate.scope == body.scope or (is_remark(candidate) and _unbound(candidate.scope, body.scope))
    return own and lasting and scoped and candidate.positive and _may_share(candidate.key, body.key)


def _unbound(said: str, remembered: str) -> bool:
    """Say whether what names no context may be about a memory: what is known of a project is changed by its name."""
    return said == EVERYWHERE and not remembered.startswith("project:")


def _may_share(key: str | None, other: str | None) -> bool:
    named = vocabulary()
    return key is None or other is None or key == other or not (key in named and other in named)


def _heir(candidate: Candidate, living: Living, chance: float) -> Candidate:
    """Return a candidate under the key of a memory; a remark also gets its value, and is as important as that was."""
    body = living.claim
    heir = candidate.model_copy(
        update={
            "key": body.key,
            "kind": body.kind,
            "multi_valued": body.multi_valued,
            "scope": body.scope,
            "correction": True,
            "sensitivity": candidate.sensitivity or body.sensitivity,
        }
    )
    if not is_remark(candidate):
        return heir
    now = value_in(candidate.content, body.value, body.content)
    ends = candidate.valid_until or (body.valid_until if body.kind is Kind.PLAN else None)
    return heir.model_copy(
        update={
            "value": now.value,
            "content": now.content,
            "importance": living.importance / 1000,
            "confidence": round(min(_SUREST, chance), 3),
            "assertion": body.assertion,
            "valid_until": ends,
        }
    )
