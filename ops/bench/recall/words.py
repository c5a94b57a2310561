"""Sentences to fill a memory with: Chinese and English in turn, of some ten thousand words, invented by dice."""

import random
from collections.abc import Iterator
from typing import Final

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


def sentences(dice: random.Random) -> Iterator[str]:
    """Yield sentences without end."""
    while True:
        zh = ["".join(dice.choices(_ZH, k=2)) for _ in "abc"]
        yield dice.choice(_ZH_FRAMES).format(a=zh[0], b=zh[1], c=zh[2])
        en = ["".join(dice.choices(_SYLLABLES, k=2)) for _ in "abc"]
        yield dice.choice(_EN_FRAMES).format(a=en[0], b=en[1], c=en[2].title())
