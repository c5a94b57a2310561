"""The deterministic extractor: a finished turn in, candidates and suppressions out (R12). Pure, offline, zh and en."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from events.model import (
    Assertion,
    Candidate,
    Evidence,
    Frozen,
    Message,
    Origin,
    StandingWish,
    Suppression,
    Turn,
    TurnStatus,
)
from services.extraction.anaphora import (
    names_nothing,
    orders_it,
    with_antecedent,
    with_exception,
    with_object,
    with_recalled,
)
from services.extraction.attributes import match_attributes
from services.extraction.changes import match_changes
from services.extraction.colouring import class_of, coloured, only_standing
from services.extraction.confidence import confidence_of, importance_of
from services.extraction.cues import has, starts
from services.extraction.dates import Period, resolve
from services.extraction.episodes import match_episodes
from services.extraction.exemplars import Sense, match_exemplars
from services.extraction.frames import match_frames
from services.extraction.jobs import match_jobs
from services.extraction.marks import with_marks
from services.extraction.material import own_words
from services.extraction.naming import subject_name
from services.extraction.normalise import Text, normalise
from services.extraction.plans import match_plans
from services.extraction.projects import in_project, match_projects
from services.extraction.proposal import Proposal
from services.extraction.remarks import is_remark, match_remarks
from services.extraction.repair import Said, corrected, recalled, repaired, restated, succeeded, takes_back
from services.extraction.request import asked_to_remember
from services.extraction.rules import match_rules
from services.extraction.segment import Sentence, sentences
from services.extraction.standing import standing_wishes
from services.extraction.statements import match_statements
from services.extraction.use import with_uses
from services.extraction.vocabulary import default_scope, holds_several, sensitivity_of, topics
from services.extraction.wishes import beside, suppressions
from services.extraction.wording import without_emoji

EXTRACTOR = "rules/1"
_NOT_SO = re.compile(r"(?:or )?not(?: at all| really)?|as if|nope|才怪|骗你的|反话|个鬼")
_OPENING = 30  # who speaks is said at the beginning
_CHANGED = re.compile(r"现在|如今|不再|再也|(?<![a-z])(?:now|any ?more|no longer|these days)(?![a-z])")


class Extraction(Frozen):
    """What an extractor proposes for a turn; `standing` are wishes that outlast it.

    `remarks` tell that something has become another thing: without a key, and nothing unless it is known of.
    """

    candidates: tuple[Candidate, ...]
    suppressions: tuple[Suppression, ...]
    standing: tuple[StandingWish, ...] = ()
    remarks: tuple[Candidate, ...] = ()


def extract(turn: Turn, sense: Sense | None = None) -> Extraction:
    """Propose what a finished turn says about the person; only their own messages are read.

    `sense` judges by example the sentences in which no rule found anything; without it they say nothing.
    """
    candidates: list[Candidate] = []
    wishes: list[Suppression] = []
    standing: list[StandingWish] = []
    if turn.status is TurnStatus.COMPLETED:
        for message in turn.messages:
            if message.origin is Origin.USER:
                text = normalise(message.content)
                asked = standing_wishes(message, text)
                standing += asked
                unsaid = beside(asked, suppressions(message, text))
                wishes += unsaid
                said = _of_message(turn, message, text, None if asked else sense)
                candidates += [each for each in said if not any(_says(wish, each) for wish in asked if wish.lifts)]
    found = distinct(candidates)
    return Extraction(
        candidates=tuple(each for each in found if not is_remark(each)),
        suppressions=tuple(wishes),
        standing=tuple(standing),
        remarks=tuple(each for each in found if is_remark(each)),
    )


def _says(wish: StandingWish, candidate: Candidate) -> bool:
    """Say whether a candidate rests on the words of a wish about what to remember, which is no claim."""
    return any(each.start < wish.evidence.end and wish.evidence.start < each.end for each in candidate.evidence)


def _of_message(turn: Turn, message: Message, text: Text, sense: Sense | None) -> list[Candidate]:
    earlier: str | None = None
    before = _named_before(turn)
    said: list[Said] = []
    unread: list[tuple[int, Sentence]] = []
    read = with_uses(_wished(sentences(own_words(text))))
    for index, sentence in enumerate(read):
        when = resolve(sentence.text, turn.occurred_at)
        ahead = when is not None and when.start > turn.occurred_at
        previous = read[index - 1] if index else None
        pointing = previous is not None and has("standing", sentence.text) and orders_it(sentence, previous)
        repeated = has("polite", sentence.text) and any(_from_now_on(later) for later in read[index + 1 :])
        for_good = pointing or repeated or _stays(index, read, text) or _goes_on(said, index, read, text)
        proposals = (
            []
            if only_standing(sentence) and index
            else _of_sentence(sentence, text, earlier, when, turn.occurred_at, for_good=for_good, ahead=ahead)
        )
        rest = sentence.without([(each.start, each.end) for each in proposals])
        felt: list[Proposal] = []
        if rest is not None and not only_standing(rest) and not names_nothing(rest.text):
            felt = match_exemplars(rest, text, sense) if sense and not takes_back(rest.text) else []
            unread += [] if felt else [(index, rest)]
        more: list[Said] = []
        for each in proposals:
            proposal = with_object(each, sentence, previous, text)
            whole = with_antecedent(proposal, [each.proposal for each in (*said, *more)])
            if whole is None and not index and _CHANGED.search(sentence.text):
                whole = with_recalled(proposal, before)
            more += [] if whole is None else [Said(index, whole)]
        more += [Said(index, each) for each in felt]
        found = any(each.proposal.frame != "exemplar" for each in more)
        whole = None if found else with_exception([each.proposal for each in said], sentence, text)
        said = corrected(said, more, index, read, text) if whole is None else [*said[:-1], Said(said[-1].index, whole)]
        named = topics(sentence.text)
        earlier = proposals[0].key.rpartition(".")[0] if proposals and proposals[0].key else None
        if earlier in {None, "", "taste"} and named:
            earlier = subject_name(named[-1].name)
    said = succeeded(restated(said, before, read))
    if not said and (whole := recalled(before, read, text)) is not None:
        said = [Said(0, whole)]
    said += [Said(index, found) for index, rest in unread for found in match_remarks(rest, text)]
    return [finished(each.proposal, each.index, read, text, message, turn_at=turn.occurred_at) for each in said]


def _wished(read: Sequence[Sentence]) -> list[Sentence]:
    """Let a polite question be the wish that a later sentence makes it: "could you …? Every time, please"."""
    found = list(read)
    for index, sentence in enumerate(read):
        asked = [at for at in range(index) if found[at].asks and has("polite", found[at].text)]
        if asked and _from_now_on(sentence):
            wish = found[asked[-1]]
            found[asked[-1]] = replace(wish, asks=False)
            found[index] = replace(sentence, asks=True)  # it says nothing by itself
    return found


def _from_now_on(sentence: Sentence) -> bool:
    return any(starts("so_from_now_on", part.strip()) for part in (sentence.text, *(c.text for c in sentence.clauses)))


def _stays(index: int, read: Sequence[Sentence], text: Text) -> bool:
    """Say whether what follows a sentence makes it a standing one: "always like that", also behind more such orders."""
    if index + 1 >= len(read):
        return False
    following = read[index + 1]
    joined = ";" in text.folded[read[index].end : following.start]
    return only_standing(following) or (joined and not following.asks and _stays(index + 1, read, text))


def _goes_on(said: Sequence[Said], index: int, read: Sequence[Sentence], text: Text) -> bool:
    """Say whether a sentence goes on with the standing wish before it: after a semicolon, or "and also …"."""
    sentence, last = read[index], said[-1] if said else None
    if last is None or last.index != index - 1 or last.proposal.frame != "rule" or last.proposal.ephemeral:
        return False
    between = text.folded[read[index - 1].end : sentence.start]
    joined = ";" in between or starts("additive", sentence.text)
    return joined and not has("once", sentence.text) and not has("narrative", sentence.text)


def _named_before(turn: Turn) -> list[Proposal]:
    """Return what the person's messages before this turn claim, as the last of them left it.

    Nothing is left where they wanted some of it unsaid.
    """
    named: list[Proposal] = []
    for message in turn.before:
        text = normalise(message.content)
        read = sentences(own_words(text))
        fixed = recalled(named, read, text)
        if suppressions(message, text):
            named = []
        else:
            named = _claimed(read, text, turn.occurred_at) or ([] if fixed is None else [fixed])
    return named


def _claimed(read: Sequence[Sentence], text: Text, now: datetime) -> list[Proposal]:
    return [
        proposal
        for sentence in read
        for proposal in _of_sentence(sentence, text, None, None, now, for_good=False, ahead=False)
        if "pronoun" not in proposal.features
    ]


def finished(
    proposal: Proposal, index: int, read: Sequence[Sentence], text: Text, message: Message, *, turn_at: datetime
) -> Candidate:
    """Make a candidate of a proposal from one sentence of a message: coloured by cues, dated, pointing at its words."""
    sentence, following = read[index], read[index + 1] if index + 1 < len(read) else None
    colour = coloured(
        proposal,
        sentence,
        text,
        doubted=following is not None
        and ((following.asks and starts("doubt", following.text)) or _NOT_SO.fullmatch(following.text) is not None),
        for_good=_stays(index, read, text),
    )
    shown = with_marks(in_project(without_emoji(colour), sentence, text), sentence, text)
    return _candidate(shown, message, text, resolve(sentence.text, turn_at), turn_at)


def _of_sentence(
    sentence: Sentence,
    text: Text,
    earlier: str | None,
    when: Period | None,
    now: datetime,
    *,
    for_good: bool,
    ahead: bool,
) -> list[Proposal]:
    if sentence.asks or has("sarcasm", sentence.text) or has("meta", sentence.text):
        return []
    chosen: list[Proposal] = []
    others = has("reported", sentence.text[:_OPENING])
    attributes = [] if others else match_attributes(sentence, text, earlier)
    if asked_to_remember(sentence.text):  # what is to be remembered says something in any case
        attributes = [p for p in attributes if not p.amends]
    wished = [p for p in attributes if has("standing", sentence.clauses[sentence.clause_at(p.start)].text)]
    _add(chosen, match_plans(sentence, text, when, now, ahead=ahead))
    _add(chosen, [] if others else match_jobs(sentence, text))
    _add(chosen, [] if others else match_projects(sentence, text))
    _add(chosen, [] if others else match_frames(sentence, text))
    _add(chosen, [] if others else match_changes(sentence, text))
    _add(chosen, [p for p in attributes if p not in wished])
    rest = sentence.without([(p.start, p.end) for p in chosen])
    if rest is not None and not others and not sentence.opens:
        _add(chosen, match_rules(rest, text, earlier, for_good=for_good))
    _add(chosen, wished)
    if not others:
        _add(chosen, match_episodes(sentence, text, when, now))
    if not chosen:
        chosen = match_statements(sentence, text)
    else:  # what is sensitive must not slip by because another clause of the sentence was understood
        for clause in sentence.clauses:
            if sensitivity_of(clause.text):
                alone = Sentence(clause.start, clause.end, clause.text, (clause,), asks=False)
                _add(chosen, match_statements(alone, text))
    classed = [replace(each, sensitivity=class_of(each, sentence)) for each in chosen]
    return repaired(classed, sentence, text)


def _add(chosen: list[Proposal], more: list[Proposal]) -> None:
    """Add the proposals that claim other words than those chosen before them."""
    chosen += [p for p in more if not any(_overlap(p, other) for other in chosen)]


def _overlap(one: Proposal, other: Proposal) -> bool:
    return one.start < other.end and other.start < one.end


def _candidate(proposal: Proposal, message: Message, text: Text, when: Period | None, turn_at: datetime) -> Candidate:
    start, end = text.span(proposal.start, proposal.end)
    planned = proposal.assertion is Assertion.PLANNED
    return Candidate(
        kind=proposal.kind,
        key=proposal.key,
        value=proposal.value.strip(),
        content=proposal.content.strip(),
        scope=default_scope(proposal.key) if proposal.scope == "personal" else proposal.scope,
        positive=proposal.positive,
        multi_valued=bool(proposal.key) and holds_several(proposal.key or ""),
        valid_from=when.start
        if when and when.start <= turn_at and proposal.assertion is not Assertion.HYPOTHETICAL
        else None,
        valid_until=when.end if planned and when else None,
        evidence=(Evidence(message_id=message.message_id, start=start, end=end),),
        assertion=proposal.assertion,
        confidence=confidence_of(proposal),
        importance=importance_of(proposal),
        explicit="explicit" in proposal.features,
        ephemeral=proposal.ephemeral,
        correction=proposal.correction,
        sensitivity=proposal.sensitivity,
        replaces=proposal.replaces,
        amends=proposal.amends,
    )


def distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Drop a candidate that says word for word what an earlier one says."""
    seen: set[tuple[str | None, str, bool, str]] = set()
    kept: list[Candidate] = []
    for candidate in candidates:
        mark = (candidate.key, candidate.value, candidate.positive, candidate.content)
        if mark not in seen:
            seen.add(mark)
            kept.append(candidate)
    return kept
