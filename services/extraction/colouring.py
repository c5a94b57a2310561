"""Stage 6: what the words around a claim make of it: past, doubtful, for once, sensitive, a correction."""

import re
from dataclasses import replace

from events.model import Assertion
from services.extraction.cues import Tempo, has, lexicon, tempo
from services.extraction.episodes import as_episode
from services.extraction.normalise import Text, normalise
from services.extraction.proposal import Proposal
from services.extraction.request import asked_to_remember
from services.extraction.segment import Sentence
from services.extraction.vocabulary import scope_of, sensitivity_of, topics, vocabulary

_SHORT = 32
_FILLER = re.compile(
    r"(?:(?:the same(?: way)?|like (?:that|this)|this way|that way|keep|should be|for me|please|just|so|and|do|that|"
    r"this|it|too|same|way|ok(?:ay)?|yes)(?![a-z])|[\s,，都就请吧哦了这那样个么对嗯照])+"
)
_KEEP = re.compile(
    r"[\s,]*(?:(?:please|so|just|and|let's|always|i'd like you to|i want you to|make sure (?:to|you)) )*"
    r"(?:(?:do|keep|keep doing|stay with|go with) (?:that|this|it|so)|"
    r"(?:do|keep|have|leave|want|make) (?:that|this|it|things|them) "
    r"(?:(?:in )?(?:that|this|the same) (?:way|order|format|style)|like (?:that|this)|so))"
    r"(?: (?:(?:for|in|on|at|with|to) )?(?:(?:every|each|all|my) )*[a-z]+)?[\s,]*(?:please)?[\s,]*|"
    r"[\s,，]*(?:(?:[给帮替]我)?[写发做弄出画讲排][^,，。]{1,6})?(?:[就都请也一直]|之后|一律|要|得)*"
    r"(?:这样|这么|照这个|按这个|照此|如此|保持)(?:来|做|办|写|弄|着|子)?(?:就好|就行|吧|了)?[\s,，]*"
)
_ABOUT_SELF = re.compile(
    r"(?<![给帮替跟对叫让向为陪问教])我(?!的?(?:周报|邮件|文案|稿))|(?<![a-z])(?:my|i'm|i am|i have|i've)(?![a-z])"
)
_NEVER_PAST = frozenset(
    {
        "origin",
        "graduated",
        "degree",
        "rule",
        "plan",
        "plan_withdrawn",
        "episode",
        "statement",
        "left_home",
        "stopped_hobby",
        "allergy",
    }
)
_BY_CONTEXT = frozenset({"called", "prefer"})  # what one wants to be called depends on who listens


def only_standing(sentence: Sentence) -> bool:
    """Say whether a sentence, or a clause of it, only says that what stands before it is for good ("stick to that")."""
    rest, cues = lexicon()["standing"].subn("", sentence.text)
    return cues > 0 and (not _FILLER.sub("", rest) or any(keeps_it(clause.text) for clause in sentence.clauses))


def keeps_it(clause: str) -> bool:
    """Say whether a clause only says that what stands before it is for good: "please keep doing that"."""
    rest, cues = lexicon()["standing"].subn("", clause)
    return cues > 0 and _KEEP.fullmatch(rest) is not None


def adds_nothing(clause: str) -> bool:
    """Say whether a clause behind a wish only says how long it is meant: "…, from now on", "…，以后都这样"."""
    rest, cues = lexicon()["standing"].subn("", clause)
    return keeps_it(clause) or (cues > 0 and not _FILLER.sub("", rest))


def _only_doubts(clause: str) -> bool:
    own = topics(clause) or has("plan", clause) or has("change", clause)  # it doubts what it says itself
    return len(clause) < _SHORT and has("uncertain", clause) and not own


def coloured(proposal: Proposal, sentence: Sentence, text: Text, *, doubted: bool, for_good: bool) -> Proposal:
    """Return a claim as the words around it colour it.

    `doubted`: the next sentence takes it back with a question; `for_good`: it says that the claim is to stay.
    """
    if has("past", sentence.text[: max(0, proposal.end - sentence.start)]) and proposal.frame not in _NEVER_PAST:
        proposal = as_episode(proposal, sentence, text)
    clauses = [clause.text for clause in sentence.clauses]
    at = sentence.clause_at(proposal.start)
    meant = tempo(clauses, at)
    features = set(proposal.features)
    if has("uncertain", clauses[at]) or (at + 1 < len(clauses) and _only_doubts(clauses[at + 1])):
        features.add("uncertain")
    if doubted:
        features.add("doubted")
    if asked_to_remember(sentence.text) and not has("forget_not", sentence.text):
        features.add("explicit")
    assertion = proposal.assertion
    if has("hypothetical", sentence.text) and (meant is not Tempo.STANDING or proposal.frame != "rule"):
        assertion = Assertion.HYPOTHETICAL
    elif assertion is Assertion.STATED and not proposal.positive:
        assertion = Assertion.NEGATED
    passing = proposal.ephemeral or (
        meant is Tempo.ONCE and proposal.frame in {"rule", "like", "prefer", "called", "habit"}
    )
    return replace(
        proposal,
        features=frozenset(features),
        assertion=assertion,
        ephemeral=passing and not for_good,
        correction=proposal.correction or has("change", sentence.text),
        scope=scope_of(sentence.text) if proposal.frame in _BY_CONTEXT else proposal.scope,
        sensitivity=class_of(proposal, sentence),
    )


def class_of(proposal: Proposal, sentence: Sentence) -> str | None:
    """Return the sensitive class of a claim: of what it corrects, of its key, of its words, or of what was completed.

    A correction ("no wait, 6000") names nothing that is sensitive: what it says is in the content it completes.
    """
    completed = "repaired" in proposal.features or proposal.replaces is not None
    whole = sensitivity_of(normalise(proposal.content).folded) if completed else None
    return proposal.sensitivity or _sensitivity(proposal, sentence) or whole


def _sensitivity(proposal: Proposal, sentence: Sentence) -> str | None:
    named = vocabulary().get(proposal.key or "")
    if named is not None and named.sensitivity:
        return named.sensitivity
    clause = sentence.clauses[sentence.clause_at(proposal.start)].text
    if proposal.frame == "rule" and not _ABOUT_SELF.search(sentence.text):
        return None  # "list the allergens" is about recipes, not about the person
    return sensitivity_of(sentence.text if proposal.frame in {"statement", "rule"} else clause)
