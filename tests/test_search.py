"""A search for settings: along one after another, then random steps from the best so far."""

import math

import numpy as np
import pytest

from fmfkit.search import BestSoFar, Choice, Number, Pace, Search, best_place, better, start, step

KNOBS = {"a": Number(2.0, 1.0, 3.0), "n": Number(10, 2, 12, whole=True), "c": Choice(("x", "y"))}


def test_a_search_keeps_to_bounds_and_begins_where_it_is_told():
    assert start(KNOBS) == {"a": 2.0, "n": 10, "c": "x"}
    assert start({"a": Number(9.0, most=3.0)}) == {"a": 3.0}
    rng = np.random.default_rng(0)
    seen = [step(KNOBS, start(KNOBS), rng, n) for n in range(60)]
    assert all(1 <= one["a"] <= 3 and 2 <= one["n"] <= 12 and isinstance(one["n"], int) for one in seen)
    assert {one["c"] for one in seen} == {"x", "y"}
    assert len({one["a"] for one in seen}) > 10


def test_a_step_changes_one_to_three_knobs():
    knobs = {name: Number(1.0) for name in "abcdef"}
    rng = np.random.default_rng(0)
    changes = [sum(value != 1.0 for value in step(knobs, start(knobs), rng, n).values()) for n in range(50)]
    assert set(changes) == {1, 2, 3}


def test_steps_become_smaller():
    pace = Pace(2.0, 0.5, 0.9)
    assert pace.spread(0) == 2.0
    assert pace.spread(1) == pytest.approx(1.8)
    assert pace.spread(1000) == 0.5


def test_a_choice_has_options():
    with pytest.raises(ValueError, match="options"):
        Choice(())


@pytest.mark.parametrize("larger", [False, True])
def test_nan_is_worse_than_any_number(larger):
    assert better(1.0, math.nan, larger=larger)
    assert not better(math.nan, 1.0, larger=larger)
    assert not better(math.nan, math.nan, larger=larger)
    assert better(2.0, 1.0, larger=larger) == larger
    assert not better(1.0, 1.0, larger=larger)
    assert best_place([math.nan, 2.0, math.nan, 1.0, 1.0], larger=larger) == (1 if larger else 3)


def test_the_best_so_far_is_the_first_of_equal_ones():
    best = BestSoFar(False)
    assert [best.note(value, name) for value, name in ((math.nan, "a"), (2.0, "b"), (2.0, "c"))] == [True, True, False]
    assert (best.value, best.item, best.place, best.seen, best.since) == (2.0, "b", 1, 3, 1)
    with pytest.raises(ValueError, match="at least one value"):
        best_place([], larger=True)


def test_a_search_steps_from_the_best_and_finds_better_settings():
    def run():
        search = Search({"a": Number(100.0), "b": Number(0.01)}, np.random.default_rng(0))
        for _ in range(80):
            settings = search.propose()
            search.tell(settings, abs(math.log(settings["a"])) + abs(math.log(settings["b"])))
        return search.best

    best = run()
    assert best.value < 1.0
    assert run() == best


def test_settings_that_failed_are_not_stepped_from():
    search = Search(KNOBS, np.random.default_rng(0), larger=True)
    assert search.propose() == start(KNOBS)
    search.propose()
    assert search.best.item is None
    search.tell({"a": 1.0, "n": 2, "c": "y"}, 1.0)
    assert search.best.item == {"a": 1.0, "n": 2, "c": "y"}


def along(knobs, error):
    """Return what a search tries before random steps."""
    search = Search(knobs, np.random.default_rng(0))
    tried = []
    for settings in search.lines():
        tried.append(settings)
        search.tell(settings, error(settings))
    return tried, search


def test_numbers_with_a_stride_are_multiplied_as_long_as_it_gets_better_one_after_another():
    def error(settings):
        return abs(math.log2(settings["a"] / 4)) + abs(math.log2(settings["b"] * 4))

    knobs = {"a": Number(1.0, stride=2), "b": Number(1.0, stride=2), "c": Number(7.0)}
    tried, search = along(knobs, error)
    assert [one["a"] for one in tried[:5]] == [1, 2, 4, 8, 4]  # the other direction is not tried
    assert [one["b"] for one in tried[4:]] == [2, 0.5, 0.25, 0.125]
    assert search.best.item == {"a": 4, "b": 0.25, "c": 7}
    assert all(one["c"] == 7 for one in tried)


def test_a_line_ends_at_a_bound_and_where_settings_fail():
    tried, _ = along({"a": Number(1.0, 0.5, 4.0, stride=2)}, lambda settings: -settings["a"])
    assert [one["a"] for one in tried] == [1, 2, 4]
    search = Search({"a": Number(1.0, stride=2)}, np.random.default_rng(0))
    assert [one["a"] for one in search.lines()] == [1, 2, 0.5]  # nothing was told


def test_random_steps_follow_from_the_best_of_the_lines():
    search = Search({"a": Number(1.0, stride=2)}, np.random.default_rng(0))
    seen = []
    for _ in range(30):
        seen.append(search.propose()["a"])
        search.tell({"a": seen[-1]}, abs(math.log(seen[-1] / 3)))
    assert seen[:4] == [1, 2, 4, 8]
    assert abs(math.log(search.best.item["a"] / 3)) < 0.1
