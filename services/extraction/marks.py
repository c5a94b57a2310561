"""Claims about a secret that ingest replaced: they keep its mark, by which a gate knows them (R10)."""

from dataclasses import replace

from services.extraction.material import SECRET
from services.extraction.normalise import Text
from services.extraction.proposal import Proposal
from services.extraction.segment import Sentence

_BETWEEN = " \t:：=\"'“”「」『』()（）"  # what may stand between a claim and the mark that belongs to it


def with_marks(proposal: Proposal, sentence: Sentence, text: Text) -> Proposal:
    """Return a claim whose clause held a secret with the mark in its content and evidence; any other as it is.

    The mark ends a sentence for the frames, which would leave a stub: "my password is".
    """
    first, last = sentence.clause_at(proposal.start), sentence.clause_at(max(proposal.start, proposal.end - 1))
    begin, stop = sentence.clauses[first].start, max(proposal.end, sentence.clauses[last].end)
    for mark in SECRET.finditer(text.shown):
        before, after = text.shown[mark.end() : begin], text.shown[stop : mark.start()]
        behind = mark.end() <= begin and not before.strip(_BETWEEN)
        ahead = mark.start() >= stop and not after.strip(_BETWEEN)
        if behind or ahead or begin <= mark.start() < stop:
            start, end = min(proposal.start, mark.start()), max(proposal.end, mark.end())
            return replace(proposal, value=mark.group(), content=text.shown[start:end], start=start, end=end)
    return proposal
