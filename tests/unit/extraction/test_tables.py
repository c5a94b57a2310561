"""Pasted rows are no statements; what is said between them is, and short lines of one's own stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.extraction.material import BLANK, own_words
from services.extraction.normalise import normalise
from services.extraction.tables import rows

TABLES = (
    "\n".join(
        f"单号 QX{1000 + n} {what} {n} 箱 {where}"
        for n, (what, where) in enumerate([("山楂", "北库"), ("木耳", "南库")] * 3)
    ),
    "\n".join(f"{n + 1}. shelf B{n} paint {n * 3} tins ok" for n in range(6)),
    "\n".join(f"2026-09-{n:02} 08:{n:02} | gate {n} | open" for n in range(10, 16)),
)


@pytest.mark.parametrize("table", TABLES)
def test_rows_of_one_shape_are_no_statement(table: str) -> None:
    assert set(own_words(normalise(table))) <= {BLANK, "\n"}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "said", ["以后出货单都按库位排序。", "插一句，以后出货单都按库位排序", "Always sort stock lists by shelf."]
)
def test_what_is_said_between_rows_is_a_statement(table: str, said: str) -> None:
    words = own_words(normalise(f"{table}\n{said}\n{table}"))
    assert words.strip(f"{BLANK}\n") == normalise(said).folded


@pytest.mark.parametrize(
    "lines",
    [
        "Mon: gym\nTue: swim\nWed: run\nThu: gym\nFri: yoga",
        "我住常州\n我养了猫\n我开早餐店\n我不吃香菜\n我周三休息",
        "I have 2 cats and 1 dog\nI open at 8 and close at 6",
        "\n".join(TABLES[0].split("\n")[:4]),
    ],
)
def test_few_or_short_lines_stay(lines: str) -> None:
    assert list(rows(normalise(lines).folded)) == []


@given(st.text(alphabet="ab甲乙01 .\n", max_size=200))
def test_spans_are_ordered_and_hold_whole_lines(folded: str) -> None:
    end = -1
    for start, stop in rows(folded):
        assert end < start < stop <= len(folded)
        assert start == 0 or folded[start - 1] == "\n"
        assert stop == len(folded) or folded[stop] == "\n"
        end = stop
