import pytest
from fmfkit_bench.data import shapes
from fmfkit_bench.speed import before, phases
from fmfkit_bench.speed.machine import Rates
from fmfkit_bench.speed.phases import Work


@pytest.mark.parametrize(("name", "wanted"), [("ml10m", {"panel_pass", "rows_of_chunk"}), ("weibo", {"view_features"})])
def test_the_phases_whose_work_is_counted_are_those_of_a_round(name, wanted):
    problem = shapes.generate(name, 0.002).problem(8)
    times, _ = phases.measure(problem, 1, rounds=3)
    assert wanted <= {time.name for time in times} & set(phases.work(problem))
    assert all(one.bytes > 0 for one in phases.work(problem).values())


def test_the_limit_is_what_takes_longest_at_the_best_rate():
    able = Rates(bytes=10.0, lines=2.0, flops=100.0)
    assert (3 * Work(bytes=10.0, lines=1.0)).at_best(able) == ("bytes", 3.0)
    assert (Work(lines=4.0) + Work(flops=100.0)).at_best(able) == ("gathering", 2.0)


def test_an_environment_without_fmfkit_is_said(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'No module named fmfkit' >&2; exit 1\n")
    python.chmod(0o755)
    with pytest.raises(RuntimeError, match="could not train:\nNo module named fmfkit"):
        before.ratios(python, shapes.generate("ml10m", 0.002), 8, (1,), 1, 1, print)
