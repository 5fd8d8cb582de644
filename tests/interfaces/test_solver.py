"""Solver: what one needs to say, and what it need not."""

import pytest
from problems import Case

from fmfkit import RoundReport, Solver, fit


class Still(Solver):
    """Does nothing."""

    def prepare(self, problem, state):
        return None

    def round(self, problem, state, workspace):
        return RoundReport()


def test_prepare_and_round_must_be_said():
    assert Solver.__abstractmethods__ == {"prepare", "round"}
    with pytest.raises(TypeError, match="abstract"):
        Solver()


def test_the_rest_has_defaults():
    problem = Case().build()
    assert list(Still().refusals(problem)) == []
    assert (Still.monotone, Still.deterministic) == (True, True)
    assert fit(problem, solver=Still(), rounds=2).history[2].objective > 0


def test_memory_that_a_solver_does_not_tell_is_not_told():
    problem = Case().build()
    assert Still().workspace_bytes(problem, 1) is None
    with pytest.raises(ValueError, match=r"memory: .* does not say what it needs"):
        problem.memory(Still())
