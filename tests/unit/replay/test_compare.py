from collections.abc import AsyncIterator, Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from projections.mirror import Entry
from services.replay.compare import difference, pairs

TABLES = st.dictionaries(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), st.sampled_from("xyz"))


async def reading(rows: Iterable[tuple[tuple[str, int], str]]) -> AsyncIterator[Entry]:
    for (table, number), value in sorted(rows):
        yield Entry(table, (number,), "tenant", str(number), None, {"value": value, "same": 1})


@given(live=TABLES, built=TABLES)
async def test_every_difference_is_found_and_no_other(
    live: dict[tuple[str, int], str], built: dict[tuple[str, int], str]
) -> None:
    """Two sorted readings give exactly what two dictionaries give."""
    found: dict[Any, Any] = {}
    count = 0
    async for pair in pairs(reading(live.items()), reading(built.items())):
        count += 1
        if (each := difference("model", pair)) is not None:
            found[each.table, int(each.id)] = (each.kind, each.columns)
    assert count == len(live.keys() | built.keys())
    assert found == (
        dict.fromkeys(live.keys() - built.keys(), ("extra", ()))
        | dict.fromkeys(built.keys() - live.keys(), ("missing", ()))
        | {place: ("differs", ("value",)) for place in live.keys() & built.keys() if live[place] != built[place]}
    )
