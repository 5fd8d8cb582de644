"""Charts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import Page

from fmfkit.report.svg import HEIGHT, WIDTH, Line, Point, Scale, bar, histogram, line_chart, points, scale_of, share

FINITE = st.floats(-1e12, 1e12, allow_subnormal=False)


@given(values=st.lists(FINITE, max_size=5), begin=st.floats(0, 10), length=st.floats(10, 500))
def test_all_values_have_a_place_in_order_and_ticks_are_round(values, begin, length):
    scale = Scale.of(values, begin, begin + length)
    places = [scale(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(begin - 0.01 <= place <= begin + length + 0.01 for place in places)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 12
    assert all(scale.low - 1e-9 * abs(scale.low) <= tick <= scale.high + 1e-9 * abs(scale.high) for tick in ticks)


def test_what_is_not_finite_does_not_spoil_a_scale():
    scale = Scale.of([1.0, math.nan, math.inf, 2.0], 0, 100, room=0)
    assert (scale(1.0), scale(2.0)) == (0, 100)


def test_a_chart_of_lines_is_named_and_tells_its_numbers():
    page = Page(
        line_chart("A <title>", [Line("a<b", [(0, 1), (1, 2)]), Line("c", [(0, 3)])], "x", "y", mark=(1, "here"))
    )
    (picture,) = page.all("svg")
    assert (picture["role"], picture["aria-label"]) == ("img", "A <title>")
    for word in ("a<b", "c", "here", "x", "y", "Numbers", "3"):
        assert word in page.words
    paths = [one["d"] for one in page.all("path") if one["class"].startswith("line")]
    assert len(paths) == 2
    numbers = [float(part) for path in paths for part in path.replace("M", "").replace("L", " ").split()]
    assert all(0 <= n <= max(WIDTH, HEIGHT) for n in numbers)


def test_higher_values_are_drawn_higher_up():
    made = line_chart("t", [Line("a", [(0, 1), (1, 5)])], "x", "y")
    (path,) = [one["d"] for one in Page(made).all("path") if one["class"] == "line s0"]
    (x0, y0), (x1, y1) = [map(float, part.split()) for part in path[1:].split("L")]
    assert x0 < x1
    assert y0 > y1


def test_bars_of_a_histogram_are_as_high_as_their_counts():
    rows = Page(histogram("h", [0, 1, 2], [10, 5], "x", "n")).all("rect")
    assert float(rows[0]["height"]) == pytest.approx(2 * float(rows[1]["height"]), rel=1e-3)


def test_intervals_lie_around_their_points_on_one_scale():
    rows = [[Point(2.0, (1.0, 3.0))], [Point(4.0, None, "s1")]]
    scale = scale_of(rows)
    page = Page(points(scale, rows[0]))
    (reach,), (dot,) = page.all("rect"), page.all("circle")
    assert float(reach["x"]) < float(dot["cx"]) < float(reach["x"]) + float(reach["width"])
    assert float(Page(points(scale, rows[1])).all("circle")[0]["cx"]) > float(dot["cx"])
    assert page.all("svg")[0]["aria-hidden"] == "true"  # its numbers stand beside it


def test_bars_have_a_direction_and_a_length():
    left, right = (Page(bar(value, 2.0)).all("rect")[0] for value in (-2.0, 1.0))
    assert float(left["x"]) < 100 == float(right["x"])
    assert float(left["width"]) == 2 * float(right["width"])
    assert float(Page(share(0.0, 0.0)).all("rect")[0]["width"]) == 0
