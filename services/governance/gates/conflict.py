"""Gate 12: two claims about one thing (R20). Authority and the person's own time decide, not arrival."""

import re

from events.model import Assertion, Candidate, Claim, Kind, Outcome
from services.governance.reasons import Reason
from services.governance.renewal import renews
from services.governance.sameness import (
    covers,
    favourite_of,
    names,
    one_thing,
    same_thing,
    same_value,
    thing_of,
    within,
)
from services.governance.view import Living, Ruling, View, Writing, rule

_WISHES = frozenset({Kind.PREFERENCE, Kind.FORMAT})
_PURSUED = frozenset({"hobby", "goal"})  # "I am not learning it any more" ends the plan and what came of it
_HABITUAL = re.compile(r"usual|regular|go-to|default|常|惯|默认")  # what is no longer liked is no longer the usual one
_PASSING = frozenset({Kind.PLAN, Kind.EPISODE, Kind.REFLECTION})


def conflict(candidate: Candidate, view: View) -> Ruling | None:
    """Supersede an older contradicting memory, and reject what is older than what it contradicts or withdraws nothing.

    Two turns of one moment decide nothing: their order of arrival is no order.
    """
    against = rivals(candidate, view)
    if not against:
        withdrawn = (
            candidate.amends or _of_a_wish(candidate) or (candidate.kind is Kind.PLAN and not candidate.positive)
        )
        return rule(Outcome.WORKING_ONLY, Reason.NOTHING_TO_WITHDRAW) if withdrawn else None
    latest = max(against, key=lambda living: (living.occurred_at, living.recorded_at))
    # Authority outranks recency: what its owner says of a key replaces what anybody else said of it, whenever that was.
    outranked = candidate.said_by is not None and latest.claim.said_by != candidate.said_by
    if candidate.assertion is Assertion.PAST or (view.turn.occurred_at < latest.occurred_at and not outranked):
        return rule(Outcome.REJECTED, Reason.STALE)
    if candidate.assertion is Assertion.INFERRED:
        return rule(Outcome.HELD, Reason.LOWER_CONFIDENCE, latest)
    same_moment = view.turn.occurred_at == latest.occurred_at and view.turn.turn_id != latest.turn_id
    if same_moment and not candidate.correction and not outranked:
        return rule(Writing.DISPUTE, Reason.UNDECIDABLE, latest)
    reason = Reason.NEWER_STATEMENT if candidate.positive else Reason.WITHDRAWN
    settled = (living.memory_id for living in against if living.in_conflict and living is not latest)
    return rule(Writing.SUPERSEDE, reason, latest, settled)


def rivals(candidate: Candidate, view: View) -> list[Living]:
    """Return the memories a candidate cannot be true beside: those of its key, else the closest that one corrects."""
    if view.succeeds is not None:
        return [living for living in view.living if living.memory_id == view.succeeds]
    against = [living for living in view.living if contradicts(candidate, living.claim)]
    return (
        against
        or _named(candidate, view)
        or _amended(candidate, view)
        or _changed(candidate, view)
        or _renewed(candidate, view)
    )


def _of_a_wish(candidate: Candidate) -> bool:
    """Say whether a candidate does nothing but take back an earlier wish, or ban, whose words it names."""
    return candidate.kind in _WISHES and candidate.key is None and candidate.replaces is not None


def _named(candidate: Candidate, view: View) -> list[Living]:
    """Return the memories that hold the very value which a candidate says is no longer so, whatever their keys."""
    old = candidate.replaces
    if old is None or candidate.kind is Kind.PLAN:
        return []
    gone = candidate.model_copy(update={"value": old})
    banned = _of_a_wish(candidate) and candidate.positive
    lasting = (each for each in view.living if each.claim.kind not in _PASSING and each.claim.scope == candidate.scope)
    return [
        each
        for each in lasting
        if each.claim.positive is not banned
        and (covers(each.claim, gone) or covers(each.claim.model_copy(update={"value": each.claim.content}), gone))
    ]


def _amended(candidate: Candidate, view: View) -> list[Living]:
    """Return the one memory about the thing that a candidate says has changed; two would be about two sides of it."""
    thing = (candidate.key or "").rpartition(".")[0]
    if not candidate.amends or not thing:
        return []
    of_it = [
        each
        for each in view.living
        if (each.claim.key or "").rpartition(".")[0] == thing and each.claim.scope == candidate.scope
    ]
    return of_it if len(of_it) == 1 else []


def _changed(candidate: Candidate, view: View) -> list[Living]:
    """Return the one memory that says what a changed thing was, or where (`one_thing`)."""
    if not candidate.correction or not candidate.positive or candidate.multi_valued or candidate.key is None:
        return []
    of_it = [
        each
        for each in view.living
        if each.claim.positive
        and not each.claim.multi_valued
        and each.claim.scope == candidate.scope
        and one_thing(candidate.key, each.claim.key or "")
        and not _narrower(candidate.key, each.claim.key or "", later=view.turn.occurred_at >= each.occurred_at)
    ]
    return of_it if len(of_it) == 1 else []


def _narrower(key: str, other: str, *, later: bool) -> bool:
    """Say whether the later of two names is the longer one: "my work phone" is another one than "my phone"."""
    new, old = (key, other) if later else (other, key)
    return len(thing_of(new)) > len(thing_of(old))


def _renewed(candidate: Candidate, view: View) -> list[Living]:
    alike, now, policy = view.alike.get(candidate.content, {}), view.turn.occurred_at, view.policy.renewal
    found: list[tuple[float, Living]] = []
    for living in view.living:
        similarity = alike.get(living.memory_id)
        if similarity is None or living.in_conflict or living.occurred_at == now:
            continue
        newer, older = (candidate, living.claim) if living.occurred_at < now else (living.claim, candidate)
        if renews(newer, older, similarity, policy):
            found.append((similarity, living))
    return [max(found, key=lambda pair: pair[0])[1]] if found else []


def contradicts(candidate: Claim, claim: Claim) -> bool:
    """Say whether a new claim cannot be true beside a memory."""
    opposite = candidate.positive != claim.positive
    if candidate.kind is Kind.PLAN and not candidate.positive and (claim.kind is Kind.PLAN or claim.key in _PURSUED):
        return opposite and (covers(claim, candidate) or names(candidate.value, claim.value))
    if _forbids(candidate, claim):
        return True
    favourite = favourite_of(candidate)
    if favourite and favourite == favourite_of(claim) and _tastes(candidate, claim):
        return not same_value(candidate, claim)
    if not same_thing(candidate, claim):
        return _takes_back(candidate, claim)
    if candidate.key is None or candidate.multi_valued:
        return opposite and (same_value(candidate, claim) or (not candidate.positive and covers(claim, candidate)))
    # One value at a time: another value replaces it, its denial ends it, the denial of something else leaves it alone.
    return same_value(candidate, claim) if opposite and not candidate.positive else True


def _tastes(one: Claim, other: Claim) -> bool:
    """Say whether two claims are tastes for the same context, under whatever key of taste each was filed."""
    both = all((each.key or "").startswith("taste.") for each in (one, other))
    return same_thing(one, other) or (both and one.scope == other.scope)


def _forbids(candidate: Claim, claim: Claim) -> bool:
    """Say whether a prohibition takes a standing wish back: every word of what it forbids stands in the wish."""
    wishes = candidate.kind in _WISHES and claim.kind in _WISHES and candidate.scope == claim.scope
    if not wishes or candidate.positive or not claim.positive:
        return False
    return within(candidate.value, claim.content)


def _takes_back(candidate: Claim, claim: Claim) -> bool:
    """Say whether a like or dislike is taken back under another key: the thing is the same, however it is filed."""
    habit = _HABITUAL.search(claim.key or "") is not None and not candidate.positive
    likes = candidate.kind is Kind.PREFERENCE and candidate.multi_valued
    likes = likes and (habit or (claim.kind is Kind.PREFERENCE and claim.multi_valued))
    opposite = candidate.positive != claim.positive and candidate.scope == claim.scope
    return likes and opposite and same_value(candidate, claim)
