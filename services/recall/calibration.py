"""The scale on which relevance meets age, importance and the rest (R33): steep where the last place of an answer is.

relevance'(d) = 1 / (1 + exp(−(r(d) − r₁₀) / 0.05))        r₁₀: the tenth highest r, or the lowest where there are fewer

r separates what answers from what does not, but in small steps: between the tenth and the fiftieth memory it falls by
less than a month of age changes the score, so that whatever was new displaced what was meant. On this scale what is
clearly among the best has all of relevance and what is clearly not has none; age and importance decide where r says
little. The order by relevance stays what it is.
"""

from collections.abc import Hashable, Mapping
from heapq import nlargest
from math import exp
from typing import Final, TypeVar

PLACE: Final = 10
WIDTH: Final = 0.05

K = TypeVar("K", bound=Hashable)


def calibrated(relevance: Mapping[K, float]) -> dict[K, float]:
    """Bring relevance in [0, 1] onto its scale in the score, in [0, 1] too; nothing changes places."""
    best = nlargest(PLACE, relevance.values())
    return {key: 1 / (1 + exp((best[-1] - value) / WIDTH)) for key, value in relevance.items()}
