"""The constants that turn path scores into relevance, all in one place, with the data they come from.

relevance(d) = (r(d)ⁿ + beside · max r(s)ⁿ + nearby · max r(t)ⁿ)^(1/n), brought back into [0, 1] by its greatest value

r is the fusion of `fusion.py`, joined over what a query asks (`aspects.py`); n is `norm`; s runs over memories said in
the same turn or one turn away in the same session, t over those two turns away. Chosen on every second conversation of
LoCoMo and every second pool of MemDaily, read off on the others; `cenotaph eval retrieval` measures them anew.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_FIRST_CJK: Final = "\u2e80"
_WORDS_A_CHARACTER: Final = 0.5  # a Chinese word has two characters on average


@dataclass(frozen=True, slots=True)
class Blend:
    """How much each path and each neighbour counts.

    A short question names what it wants, so its words count nearly as much as its meaning. A whole dialogue as a query
    shares words with everything, so there they count less. Between the two lengths the weight falls in a straight line.

    Args:
        keyword_short: the keyword weight of a query of up to `short` words (`breadth`).
        keyword_long: that of one of `long` words and more.
        rarity: the exponent of idf for a question, which names what it wants by its rarest word; a dialogue, of several
            lines, says rare words by the way, and has 1.
        short: a question in one sentence.
        long: several things said one after the other.
        last_line: how much the last line of a query of several lines counts beside the whole: a dialogue is asked about
            at its end.
        floor: the cosine up to which a memory that shares no word with the query has nothing to do with it. The zero of
            centring would be too high: of 30 pairs that belong together, six of single words in two languages lie below
            it, none below this, and a fifth of the pairs that do not.
        beside: what the most relevant memory of the same or an adjacent turn adds.
        nearby: what that two turns away adds.
        norm: the exponent under which what a memory is worth by itself and by others adds up. With 1 the neighbours of
            what is hardly relevant rise as if it were; the higher it is, the more only the best count.
        hints: how many memories each path may propose.
        scored: of how many memories the vector index says how near they are. It looks at all of a person's anyway, and
            every one it scores is one whose sealed vector need not be opened.
        seeds: how many of the most relevant lend something to their neighbours; bounds the cost.
    """

    keyword_short: float = 0.5
    keyword_long: float = 0.3
    rarity: float = 1.8
    short: float = 16.0
    long: float = 40.0
    last_line: float = 0.5
    floor: float = -0.1
    beside: float = 0.5
    nearby: float = 0.25
    norm: float = 2.0
    hints: int = 50
    scored: int = 200
    seeds: int = 50

    def __post_init__(self) -> None:
        if not (0 <= self.keyword_long <= 1 and 0 <= self.keyword_short <= 1):
            raise ValueError("a keyword weight lies in [0, 1]")
        if self.rarity <= 0:
            raise ValueError("the exponent of idf is positive")
        if not 0 < self.short < self.long:
            raise ValueError("a short query has fewer words than a long one")
        if not 0 <= self.last_line <= 1:
            raise ValueError("the last line counts no more than the whole")
        if not 0 <= self.nearby <= self.beside:
            raise ValueError("what was said further away adds no more than what was said beside it")
        if self.norm < 1:
            raise ValueError("a norm has an exponent of 1 or more")

    def keyword_weight(self, words: float) -> float:
        """Return the keyword weight of a query of so many words."""
        share = min(1.0, max(0.0, (words - self.short) / (self.long - self.short)))
        return self.keyword_short + share * (self.keyword_long - self.keyword_short)

    def rarity_of(self, query: str) -> float:
        """Return the exponent of idf for a query."""
        return 1.0 if len(lines_of(query)) > 1 else self.rarity


def lines_of(query: str) -> list[str]:
    """Return the lines of a query that say something: those of a dialogue are several."""
    return [line for line in query.splitlines() if line.strip()]


def breadth(tokens: Iterable[str]) -> float:
    """Count the distinct words of a query from its tokens, so that Chinese and English questions compare.

    Of Chinese the single characters count, half a word each; the pairs of them say the same once more.
    """
    distinct = set(tokens)
    chinese = {token for token in distinct if token >= _FIRST_CJK}
    return len(distinct - chinese) + _WORDS_A_CHARACTER * sum(len(token) == 1 for token in chinese)


BLEND: Final = Blend()
