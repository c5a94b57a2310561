"""Sentences to fill memories with: half Chinese, half English, of some three thousand words, invented by dice."""

import random
from functools import cache
from typing import Final

from projections.tokens import tokenize

_SENTENCES: Final = 4000
_ZH: Final = "山水云雨风雪花草树木鱼鸟虫石田河海湖桥路门窗灯火茶酒米面糖盐书画琴棋笔墨纸砚车船衣帽鞋包杯碗锅刀"
_EN: Final = "barceldorfengalhonjaskellummornavpelquirossaltamverwilyarzon"
_SYLLABLES: Final = [_EN[at : at + 3] for at in range(0, len(_EN), 3)]
_ZH_FRAMES: Final = ("我喜欢{a}{b}，常去{c}", "我在{c}做{a}的{b}", "周末想去{c}买{a}", "我的{a}放在{c}的{b}旁边")
_EN_FRAMES: Final = (
    "I like the {a} {b} near {c}",
    "My {a} is kept with the {b} in {c}",
    "On weekends I repair the {a} at {c}",
    "I work on {a} and {b} for {c}",
)


@cache
def sentences() -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Make all sentences there are, and split each into its tokens."""
    dice = random.Random(0)  # noqa: S311 - sentences are no secrets
    made: dict[str, tuple[str, ...]] = {}
    while len(made) < _SENTENCES:
        zh = ["".join(dice.choices(_ZH, k=2)) for _ in "abc"]
        en = ["".join(dice.choices(_SYLLABLES, k=2)) for _ in "abc"]
        for text in (
            dice.choice(_ZH_FRAMES).format(a=zh[0], b=zh[1], c=zh[2]),
            dice.choice(_EN_FRAMES).format(a=en[0], b=en[1], c=en[2].title()),
        ):
            made[text] = tuple(tokenize(text))
    return tuple(made), tuple(made.values())
