"""Comparing two sorted readings of a read model, as a pure function of what was read."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Literal

from events.model import Frozen, Position
from projections.mirror import Entry, Key, Pair

Kind = Literal["missing", "extra", "differs"]


class Difference(Frozen):
    """An entry that is not what the log makes of it: ids and names of columns, never what they hold.

    `missing`: the log has it, the read model does not; `extra`: the other way round; `differs`: in these `columns`.
    """

    model: str
    table: str
    kind: Kind
    tenant_id: str
    id: str
    columns: tuple[str, ...] = ()


class Report(Frozen):
    """How a read model compares with the log at one position; `differences` lists the first of them."""

    model: str
    position: Position
    compared: int = 0
    missing: int = 0
    extra: int = 0
    differing: int = 0
    differences: tuple[Difference, ...] = ()

    @property
    def found(self) -> int:
        """How many entries are not what the log makes of them."""
        return self.missing + self.extra + self.differing


async def pairs(live: AsyncIterator[Entry], built: AsyncIterator[Entry]) -> AsyncGenerator[Pair, None]:
    """Bring two readings together, in order of table and key: each entry with the one of the same key, or alone."""
    ours, theirs = await anext(built, None), await anext(live, None)
    while ours is not None or theirs is not None:
        if theirs is None or (ours is not None and _place(ours) < _place(theirs)):
            yield None, ours
            ours = await anext(built, None)
        elif ours is None or _place(theirs) < _place(ours):
            yield theirs, None
            theirs = await anext(live, None)
        else:
            yield theirs, ours
            ours, theirs = await anext(built, None), await anext(live, None)


def difference(model: str, pair: Pair) -> Difference | None:
    """Say how the two entries of a pair differ, None where they do not."""
    live, built = pair
    entry = live or built
    if entry is None:
        return None
    kind: Kind = "missing" if live is None else "extra" if built is None else "differs"
    columns: tuple[str, ...] = ()
    if live is not None and built is not None:
        names = sorted(live.columns.keys() | built.columns.keys())
        columns = tuple(name for name in names if live.columns.get(name) != built.columns.get(name))
        if not columns:
            return None
    return Difference(
        model=model, table=entry.table, kind=kind, tenant_id=entry.tenant_id, id=entry.id, columns=columns
    )


def _place(entry: Entry) -> tuple[str, Key]:
    return entry.table, entry.key
