"""The chart of a run, as SVG: what there is over the two years, and what of the planted is found again."""

from collections.abc import Mapping, Sequence
from typing import Final

_WIDTH, _HEIGHT, _LEFT, _TOP, _PLOT_W, _PLOT_H = 900, 380, 60, 60, 330, 240
_COLOURS: Final = ("#1f4e79", "#c55a11", "#548235", "#7f7f7f")

Line = tuple[str, Sequence[float]]


def chart(samples: Sequence[Mapping[str, object]], people: int) -> str:
    """Draw the samples of a run.

    Args:
        samples: as `ops/bench/years/run.py` returns them.
        people: how many persons were remembered.
    """
    days = [_number(each["day"]) for each in samples]
    sizes = [_mapping(each["sizes"]) for each in samples]
    found = [_mapping(each["found"]) for each in samples]
    counts: list[Line] = [
        ("memories ever written", [each["written"] for each in sizes]),
        ("memories kept", [each["living"] for each in sizes]),
        ("vectors in the index", [each["living"] - each["cold"] for each in sizes]),
    ]
    shares: list[Line] = [
        ("asked to remember, never used", [100 * each["asked"] for each in found]),
        ("in use", [100 * each["used"] for each in found]),
        ("neither asked nor used", [100 * each["unused"] for each in found]),
    ]
    left = _panel(f"{people} people: how much there is", days, counts, _LEFT)
    right = _panel("planted facts found among the first eight, %", days, shares, _LEFT + 450)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif"'
        f' font-size="11"><rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>{left}{right}</svg>\n'
    )


def _panel(title: str, days: Sequence[float], lines: Sequence[Line], left: float) -> str:
    bottom, last = _TOP + _PLOT_H, max(days)
    most = max(1.0, *(value for _, values in lines for value in values))
    parts = [f'<text x="{left}" y="{_TOP - 18}" font-size="13" font-weight="bold">{title}</text>']
    for step in range(5):
        y, value = bottom - _PLOT_H * step / 4, most * step / 4
        parts.append(f'<line x1="{left}" y1="{y}" x2="{left + _PLOT_W}" y2="{y}" stroke="#dddddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{value:,.0f}</text>')
    for day in days:
        x = left + _PLOT_W * day / last
        parts.append(f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{day:.0f}</text>')
    parts.append(f'<text x="{left + _PLOT_W / 2}" y="{bottom + 30}" text-anchor="middle">days</text>')
    for number, (name, values) in enumerate(lines):
        colour = _COLOURS[number]
        points = " ".join(
            f"{left + _PLOT_W * day / last:.1f},{bottom - _PLOT_H * value / most:.1f}"
            for day, value in zip(days, values, strict=True)
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x, y = left + 165 * (number % 2), bottom + 48 + 16 * (number // 2)
        parts.append(f'<rect x="{x}" y="{y - 8}" width="10" height="3" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14}" y="{y - 3}">{name}</text>')
    return "".join(parts)


def _mapping(value: object) -> dict[str, float]:
    assert isinstance(value, Mapping), "a sample holds numbers by name"  # noqa: S101 - narrows the type
    return {str(name): float(number) for name, number in value.items()}


def _number(value: object) -> float:
    assert isinstance(value, int | float), "a sample holds numbers"  # noqa: S101 - narrows the type
    return float(value)
