"""Charts as SVG, drawn by hand: lines, bars, points with intervals, a map."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import attrs

from fmfkit.report.html import Content, Html, number, table, tag

WIDTH, HEIGHT = 440, 250
LEFT, RIGHT, TOP, BOTTOM = 68, 12, 12, 40
"""The margins of a chart, where its axes are told."""


@attrs.frozen
class Line:
    """A line of a chart, through points."""

    name: str
    points: Sequence[tuple[float, float]]


@attrs.frozen
class Scale:
    """From values to places."""

    low: float
    high: float
    begin: float
    end: float

    @classmethod
    def of(cls, values: Iterable[float], begin: float, end: float, *, room: float = 0.05) -> Scale:
        """Fit a scale to values, with some room at its ends."""
        known = [value for value in values if math.isfinite(value)] or [0.0]
        low, high = min(known), max(known)
        margin = (high - low) * room if high > low else abs(high) / 20 or 1.0
        return cls(low - margin, high + margin, begin, end)

    def __call__(self, value: float) -> float:
        """Return the place of a value, rounded: more digits are not seen."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.begin + min(max(share, 0.0), 1.0) * (self.end - self.begin), 2)

    def ticks(self, about: int = 5) -> list[float]:
        """Return round numbers along it."""
        rough = (self.high - self.low) / about
        power = 10 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
        first = math.ceil(self.low / step)
        return [n * step for n in range(first, math.floor(self.high / step) + 1)]


def line_chart(
    title: str,
    lines: Sequence[Line],
    x: str,
    y: str,
    *,
    mark: tuple[float, str] | None = None,
    diagonal: bool = False,
) -> Html:
    """Return lines with their axes, what they are called, and their numbers.

    ``mark`` is a place on the x axis and what it says; ``diagonal`` draws where both axes are the same.
    """
    both = list(zip(*itertools.chain.from_iterable(line.points for line in lines), strict=True))
    spans = [(*both[0], *both[1])] * 2 if diagonal else both
    across = Scale.of(spans[0], LEFT, WIDTH - RIGHT, room=0.02)
    up = Scale.of(spans[1], HEIGHT - BOTTOM, TOP)
    drawn = []
    if diagonal:
        ends = max(across.low, up.low), min(across.high, up.high)
        drawn.append(_path([(across(end), up(end)) for end in ends], "diagonal"))
    if mark is not None:
        at = across(mark[0])
        drawn.append(_path([(at, TOP), (at, HEIGHT - BOTTOM)], "mark"))
    for n, line in enumerate(lines):
        places = [(across(a), up(b)) for a, b in line.points]
        drawn.append(_path(places, f"line s{n}"))
        if len(places) <= 40:
            drawn += [tag("circle", cx=a, cy=b, r=2.5, class_=f"dot s{n}") for a, b in places]
    legend = [(f"s{n}", line.name) for n, line in enumerate(lines) if len(lines) > 1]
    legend += [("mark", mark[1])] if mark else []
    legend += [("diagonal", f"{y} = {x}")] if diagonal else []
    rows = [(line.name, number(a), number(b)) for line in lines for a, b in line.points]
    return _chart(title, [_axes(across, up, x, y), drawn], legend, table(title, ("", x, y), rows))


def histogram(title: str, edges: Sequence[float], counts: Sequence[float], x: str, y: str) -> Html:
    """Return bars over the parts of an axis."""
    across = Scale.of((edges[0], edges[-1]), LEFT, WIDTH - RIGHT, room=0.02)
    up = Scale(0, max(counts) * 1.05 or 1, HEIGHT - BOTTOM, TOP)
    bars = []
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        left, top = across(low), up(count)
        bars.append(
            tag("rect", x=left, y=top, width=_gap(across(high) - left), height=_gap(up(0) - top, 0), class_="bar s0")
        )
    rows = [
        (f"{number(low)} to {number(high)}", number(count))
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    return _chart(title, [_axes(across, up, x, y), bars], [], table(title, (x, y), rows))


def _gap(length: float, gap: float = 1.0) -> float:
    return round(max(length - gap, 0.0), 2)


def _path(places: Sequence[tuple[float, float]], class_: str) -> Html:
    return tag("path", d="M" + "L".join(f"{a} {b}" for a, b in places), class_=class_)


def _axes(across: Scale, up: Scale, x: str, y: str) -> list[Html]:
    bottom, told = HEIGHT - BOTTOM, []
    for value in across.ticks(6):
        told.append(tag("text", number(value), x=across(value), y=bottom + 16, text_anchor="middle"))
    for value in up.ticks():
        told.append(_path([(LEFT, up(value)), (WIDTH - RIGHT, up(value))], "grid"))
        told.append(tag("text", number(value), x=LEFT - 6, y=up(value) + 4, text_anchor="end"))
    told.append(_path([(LEFT, bottom), (WIDTH - RIGHT, bottom)], "axis"))
    told.append(tag("text", x, x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 4, text_anchor="middle", class_="name"))
    middle = (TOP + bottom) / 2
    about = f"rotate(-90 12 {middle})"
    return [*told, tag("text", y, x=12, y=middle, transform=about, text_anchor="middle", class_="name")]


def _chart(title: str, drawn: Content, legend: Sequence[tuple[str, str]], numbers: Html) -> Html:
    """Return a chart as a figure: what it is called, what its colours mean, and its numbers for who cannot see it."""
    picture = tag("svg", drawn, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=title, class_="chart")
    keys = [tag("li", tag("span", class_=f"key {class_}", aria_hidden="true"), name) for class_, name in legend]
    told = tag("details", tag("summary", "Numbers"), numbers)
    return tag("figure", tag("figcaption", title), picture, tag("ul", keys, class_="legend") if keys else None, told)


@attrs.frozen
class Point:
    """A value with its interval, if it has one."""

    value: float
    interval: tuple[float, float] | None = None
    style: str = "s0"

    @property
    def values(self) -> tuple[float, ...]:
        """Everything that must be seen of it."""
        return (self.value, *(self.interval or ()))


def scale_of(rows: Iterable[Sequence[Point]]) -> Scale:
    """Return the scale on which some rows of points can be compared."""
    return Scale.of((value for row in rows for point in row for value in point.values), 4, 196)


def points(scale: Scale, row: Sequence[Point]) -> Html:
    """Return points with their intervals on a line; the numbers stand beside it, in the table it is a cell of."""
    drawn = [_path([(4, 10), (196, 10)], "grid")]
    several = sum(point.interval is not None for point in row) > 1
    for n, point in enumerate(row):
        y = 10 + (8 * n - 4) * several  # one above the other
        if point.interval is not None:
            low, high = map(scale, point.interval)
            drawn.append(
                tag("rect", x=low, y=y - 2, width=_gap(high - low, 0), height=4, class_=f"reach {point.style}")
            )
        drawn.append(tag("circle", cx=scale(point.value), cy=y, r=4, class_=f"dot {point.style}"))
    return _strip(drawn)


def bar(value: float, most: float, style: str = "s0") -> Html:
    """Return a bar from the left; where values may be below 0, from the middle."""
    length = abs(value) / most * 96 if most else 0.0
    left = 100 - length if value < 0 else 100
    drawn = [_path([(100, 1), (100, 19)], "axis")]
    drawn.append(tag("rect", x=round(left, 2), y=4, width=round(length, 2), height=12, class_=f"bar {style}"))
    return _strip(drawn)


def share(value: float, most: float, style: str = "s0") -> Html:
    """Return a bar of what is never below 0."""
    width = round(value / most * 196, 2) if most else 0
    return _strip([tag("rect", x=2, y=4, width=width, height=12, class_=f"bar {style}")])


def _strip(drawn: Content) -> Html:
    return tag("svg", drawn, viewBox="0 0 200 20", aria_hidden="true", class_="strip")


__all__ = ["Line", "Point", "Scale", "bar", "histogram", "line_chart", "points", "scale_of", "share"]
