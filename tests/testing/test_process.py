"""What a process shares is watched, put back, and can be made otherwise."""

import os
import random
import time

import numpy as np
import pytest

from fmfkit import testing
from fmfkit.testing import process


def seed():
    np.random.seed(1)  # noqa: NPY002


CHANGES = {
    "numpy's global generator": seed,
    "Python's generator": random.random,
    "np.geterr": lambda: np.seterr(all="ignore"),
    "os.environ": lambda: os.environ.update(OMP_NUM_THREADS="1"),
    "the current folder": lambda: os.chdir("/"),
    "numpy's print options": lambda: np.set_printoptions(precision=3),
}


@pytest.mark.parametrize("what", CHANGES)
def test_changes_of_the_process_are_seen_and_put_back(what):
    before = process.snapshot()
    with pytest.raises(testing.ConformanceError, match="it changes .*" + what), process.unchanged():
        CHANGES[what]()
    process.compare(before, process.snapshot())


def test_changes_that_were_made_before_are_seen_again():
    for _ in range(2):
        with pytest.raises(testing.ConformanceError, match="it changes"), process.unchanged():
            seed()


def test_clocks_and_generators_can_be_others():
    now, before = time.time(), process.snapshot()
    with process.otherwise(1):
        assert time.time() > now + process.LATER
        assert time.monotonic_ns() + 59e9 < time.monotonic_ns()
        first = np.random.rand(), random.random()  # noqa: NPY002
    with process.otherwise(2):
        assert first != (np.random.rand(), random.random())  # noqa: NPY002
    assert time.time() < now + process.LATER
    process.compare(before, process.snapshot())
