"""A seeded conversation: what is said, and which of it is forgotten again; the same for everybody who plays it."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

_START = datetime(2026, 8, 1, 9, tzinfo=UTC)
_CITIES = ("苏州", "杭州", "成都", "Lisbon", "Utrecht", "Osaka")
_FOODS = ("北京烤鸭", "葱油拌面", "ramen", "minestrone", "小笼包", "burritos")
_SMALL = ("今天电梯又坏了。", "Thanks, that helped!", "外面雨还没停。", "Good morning!")


@dataclass(frozen=True)
class Say:
    """Turns that are handed over at the same time; no two of them speak of the same thing."""

    turns: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Forget:
    """Forget what an earlier turn led to."""

    turn_id: str


def conversation(seed: int, turns: int) -> Iterator[Say | Forget]:
    """Yield batches of three turns and, behind every second one, something to forget."""
    rng = random.Random(seed)  # noqa: S311 - a reproducible conversation, not a secret
    number, kept = 0, []
    while number < turns:
        said = (
            rng.choice(("我住在{}。", "我搬家了，现在住在{}。", "I live in {}.")).format(rng.choice(_CITIES)),
            rng.choice(("请记住：我喜欢{}。", "I love {}.")).format(rng.choice(_FOODS)),
            rng.choice(_SMALL),
        )
        batch = []
        for text in said[: turns - number]:
            batch.append(_turn(number, text))
            number += 1
        yield Say(tuple(batch))
        kept.append(batch[min(1, len(batch) - 1)]["turn_id"])
        if len(kept) % 2 == 0:
            yield Forget(kept.pop(rng.randrange(len(kept))))


def _turn(number: int, text: str) -> dict[str, Any]:
    return {
        "turn_id": f"t{number}",
        "session_id": f"s{number // 10}",
        "occurred_at": (_START + timedelta(minutes=number)).isoformat(),
        "messages": [
            {"message_id": "m1", "role": "user", "content": text},
            {"message_id": "m2", "role": "assistant", "content": "好的。"},
        ],
    }
