"""Phases that are watched, and gathering as such."""

import threading
import time

import numpy as np
import pytest
from problems import Case, large

from fmfkit import fit, kernels


@pytest.mark.parametrize("threads", [1, 2])
def test_watched_phases_are_those_of_the_fit_and_take_its_time(threads):
    problem = large()
    began = time.perf_counter()
    with kernels.watched_phases() as times:
        assert times == []
        fit(problem, rounds=2, threads=threads)
    elapsed = time.perf_counter() - began
    found = {phase.name: phase for phase in times}
    assert found["panel_pass"].count == 2 * 3  # rounds × (bias and two panels), for the side that shares features
    assert all(phase.seconds >= 0 and phase.count > 0 for phase in times)
    assert 0 < sum(phase.seconds for phase in times) < elapsed


def test_nothing_is_noted_where_nobody_watches_and_by_other_threads():
    problem = Case().build()
    with kernels.watched_phases() as times:
        other = threading.Thread(target=fit, args=(problem,), kwargs={"rounds": 1, "threads": 1})
        other.start()
        other.join()
    fit(problem, rounds=1)
    assert times == []


def test_gathering_adds_the_lines_and_refuses_those_that_are_not_there():
    lines = np.arange(48, dtype=np.float32).reshape(3, 16)
    assert kernels.gather(np.array([2, 0, 2], np.int32), lines) == lines[[2, 0, 2]].sum()
    for index, wrong in ((np.array([3], np.int32), lines), (np.zeros(1, np.int32), lines[:, :8].copy())):
        with pytest.raises(ValueError, match="rows of 16"):
            kernels.gather(index, wrong)
