"""Distinct facts for measuring, half Chinese and half English, that the extractor keeps side by side (invented)."""

from dataclasses import dataclass

_ZH_PLACES = (
    "苏州、成都、杭州、西安、广州、长沙、武汉、昆明、青岛、泉州、"
    "扬州、重庆、天津、福州、贵阳、桂林、大理、洛阳、温州、绍兴"
)
_ZH_THINGS = "豆花、腐乳、米酒、桂花糕、酱鸭、绿豆汤、糯米藕、笋干、烧饼、酸梅汤"
_EN_PLACES = (
    "Lisbon, Vienna, Kyoto, Naples, Bergen, Lyon, Porto, Seville, Ghent, Turin, "
    "Galway, Basel, Krakow, Oaxaca, Hanoi, Tbilisi, Cardiff, Malmo, Bilbao, Quebec"
)
_EN_THINGS = (
    "almond tart, plum jam, rye bread, smoked cheese, ginger beer, "
    "lentil soup, fig cake, pear cider, onion pie, mint tea"
)


@dataclass(frozen=True)
class Fact:
    """One thing somebody likes: what is said, and the words by which it is recognised in an answer."""

    text: str
    value: str


def facts(count: int) -> list[Fact]:
    """Return distinct facts, Chinese and English in turn.

    Raises:
        SystemExit: so many are not known.
    """
    zh = [
        Fact(f"请记住：我喜欢{p}的{t}。", f"{p}的{t}") for t in _ZH_THINGS.split("、") for p in _ZH_PLACES.split("、")
    ]
    en = [
        Fact(f"Please remember that I like the {t} of {p}.", f"the {t} of {p}")
        for t in _EN_THINGS.split(", ")
        for p in _EN_PLACES.split(", ")
    ]
    both = [fact for pair in zip(zh, en, strict=True) for fact in pair]
    if count > len(both):
        raise SystemExit(f"at most {len(both)} turns can be measured; there are no more distinct facts")
    return both[:count]
