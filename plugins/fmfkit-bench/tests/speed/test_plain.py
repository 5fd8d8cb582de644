import pytest
from fmfkit_bench.data import shapes
from fmfkit_bench.speed import plain

pytest.importorskip("libmf")


def test_both_reach_the_test_error_that_is_compared():
    said = []
    race = plain.race(shapes.generate("ml10m", 0.002), plain.Course(4, 1, 3, 1), said.append)
    assert race.best <= race.goal
    assert race.libmf_best <= race.goal
    assert race.seconds > 0
    assert len(said) == 3
    section = plain.section("ml10m", race)
    assert [row[0] for row in section.tables[0].rows] == ["fmfkit", "fmfkit, strengths learnt", "LIBMF"]
