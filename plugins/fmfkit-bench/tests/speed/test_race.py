import pytest
from fmfkit_bench.speed.race import Run


def test_the_time_to_a_goal_lies_on_the_line_between_rounds():
    run = Run(seconds=[0.0, 2.0, 4.0], objective=[10.0, 6.0, 2.0], test_error=[3.0, 2.0, 2.5])
    assert run.time_to(run.objective, 10.0) == 0.0
    assert run.time_to(run.objective, 8.0) == pytest.approx(1.0)
    assert run.time_to(run.objective, 3.0) == pytest.approx(2.0 + 3.0)
    assert run.time_to(run.objective, 1.0) is None
    assert run.time_to(run.test_error, 2.0) == pytest.approx(2.0)


def test_a_round_on_a_part_of_the_pairs_is_told_for_all_and_reaches_no_goal():
    run = Run(seconds=[0.0, 2.0], objective=[10.0, 6.0], test_error=[3.0, 2.0], sample=0.1)
    assert run.seconds_per_round() == pytest.approx(20.0)
    assert run.time_to(run.objective, 8.0) is None
