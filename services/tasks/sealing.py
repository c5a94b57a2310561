"""Sealing the texts of a task: each a part of its own, under a key of its own, secrets replaced (R52)."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from events.envelope import DataKey, NewEvent, Part
from events.keyring import Keyring
from events.model import ItemBody, ItemHead
from projections.task_state import item_part
from services.governance.secrets import redact
from services.tasks.decide import Written


def parts_of(heads: Iterable[ItemHead], texts: Iterable[str], keys: Iterable[DataKey]) -> tuple[Part, ...]:
    """Seal the texts of items, each under a key of its own, secrets replaced."""
    return tuple(
        Part(item_part(head.item_id), ItemBody(text=redact(text).text), key)
        for head, text, key in zip(heads, texts, keys, strict=True)
    )


async def sealed(keyring: Keyring, written: Sequence[Written], now: datetime) -> tuple[NewEvent, ...]:
    """Seal what was decided."""
    keys = iter(await keyring.lease(sum(len(each.items) for each in written)))
    return tuple(
        NewEvent(
            each.event,
            now,
            parts_of(
                [head for head, _ in each.items], [text for _, text in each.items], [next(keys) for _ in each.items]
            ),
        )
        for each in written
    )
