"""How much each candidate of a turn is about something the person does not want remembered."""

from collections.abc import Collection, Sequence

from events.model import Candidate, Kind, Turn
from services.describing.matcher import Matcher, sentences_of
from services.extraction.subjects import meant_kinds
from services.remembering.likeness import Vectors


async def described(
    turn: Turn, candidates: Sequence[Candidate], descriptions: Collection[str], matcher: Matcher, vectors: Vectors
) -> dict[str, float]:
    """Score each candidate, by its content, against what the person said not to remember; 1 where its kind is meant.

    The sentence it was said in counts as much as its own words: "hobby: chess" no longer says "I play".
    """
    if not candidates or not descriptions:
        return {}
    kinds = frozenset[Kind]().union(*(meant_kinds(description) for description in descriptions))
    wanted = [await matcher.read(description) for description in descriptions]
    texts = [(each.content, text) for each in candidates for text in (each.content, *sentences_of(turn, each))]
    found = await vectors.of([text for _, text in texts])
    keys = {each.content: each.key for each in candidates}
    scores: dict[str, float] = {}
    for (content, text), vector in zip(texts, found, strict=True):
        score = max(matcher.score(each, text, keys[content], vector) for each in wanted)
        scores[content] = max(score, scores.get(content, 0.0))
    return scores | {each.content: 1.0 for each in candidates if each.kind in kinds}
