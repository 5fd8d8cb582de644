"""Problems can be locked, and looked at."""

import numpy as np
import pytest

from fmfkit import fit
from fmfkit.testing import common, watching


def test_nobody_can_write_to_a_locked_problem_and_training_needs_not():
    free, locked = common.problem(), watching.locked(common.problem())
    with pytest.raises(ValueError, match="read-only"):
        locked.query.pairs.y[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        locked.query.pairs.y.setflags(write=True)
    assert np.array_equal(fit(free, rounds=3).P, fit(locked, rounds=3).P)


def test_changes_of_values_and_exchanges_of_arrays_are_seen():
    problem = common.problem()
    before = watching.fingerprint(problem)
    assert watching.changed(before, problem) == []
    problem.query.factors.strength[0] *= 2
    assert watching.changed(before, problem) == ["query.factors.strength"]
    object.__setattr__(problem.target.pairs, "y", problem.target.pairs.y.copy())
    assert watching.changed(before, problem) == ["query.factors.strength", "target.pairs.y"]
