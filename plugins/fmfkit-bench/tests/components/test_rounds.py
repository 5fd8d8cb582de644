import pytest
from fmfkit_bench.components import rounds
from fmfkit_bench.components.rounds import Clock
from fmfkit_bench.data import shapes


def test_every_round_is_timed_and_the_start_is_not():
    plan = rounds.Plan(rounds=3, repeats=2, threads=(1, 2))
    clocks = plan.race({"one": shapes.generate("ml10m", 0.001).problem(2)}, print)
    assert set(clocks) == {("one", 1), ("one", 2)}
    assert all(len(clock.wall) == len(clock.cpu) == 6 for clock in clocks.values())


def test_medians_spreads_and_ratios():
    clocks = {("a", 1): Clock([1.0, 2, 3, 4, 5], [2.0] * 5), ("b", 1): Clock([6.0], [1.0])}
    rows = rounds.table("times", "loss", clocks, "a").rows
    assert rows[0] == ["a", 1, 3.0, pytest.approx(2 / 3), 1.0, 2.0, 0.0, 1.0]
    assert rows[1] == ["b", 1, 6.0, 0.0, 2.0, 1.0, 0.0, 0.5]
