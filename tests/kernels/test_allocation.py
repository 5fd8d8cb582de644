"""Out of memory: every allocation fails in turn, in C and for the kernels; a MemoryError each, and nothing is lost."""

import numpy as np
import pytest
from laws import DESCENT, STOCHASTIC, assert_same_bits
from problems import Case

from fmfkit import LearntPenalty, fit, kernels, solvers
from fmfkit._core import lib
from fmfkit._kernels import buffers
from fmfkit._kernels.balance import balance
from fmfkit._kernels.keys import number_keys

KEYS = np.arange(5000, dtype=np.uint64)[::-1] % np.uint64(3000)


@pytest.mark.parametrize(
    ("call", "allocations"),
    [
        (lambda: number_keys(KEYS), 3),
        (lambda: balance(np.arange(40, dtype=np.int32), np.arange(40), 7), 2),
    ],
    ids=["number_keys", "balance"],
)
def test_each_allocation_of_c_that_fails_is_a_memory_error_and_leaks_nothing(call, allocations, record_property):
    wanted = call()
    for after in range(allocations):
        lib.fmf_fail_after(after)
        try:
            with pytest.raises(MemoryError, match="could not allocate"):
                call()
        finally:
            lib.fmf_fail_after(-1)
        assert lib.fmf_held() == 0
    record_property("allocations", allocations)
    lib.fmf_fail_after(allocations)
    try:
        found = call()
    finally:
        lib.fmf_fail_after(-1)
    assert all(np.array_equal(a, b) for a, b in zip(np.atleast_2d(wanted[0]), np.atleast_2d(found[0]), strict=True))


@pytest.fixture
def failing(monkeypatch):
    """Return a way to let one of the arrays that kernels are given fail: it returns how many there were."""
    made, count = buffers.aligned, [0, -1]

    def aligned(shape, dtype):
        count[0] += 1
        if count[0] - 1 == count[1]:
            raise MemoryError("no room")
        return made(shape, dtype)

    monkeypatch.setattr(buffers, "ALIGNED", 0)  # all arrays are made by it
    monkeypatch.setattr(buffers, "aligned", aligned)

    def let(which):
        count[:] = [0, which]
        return lambda: count[0]

    return let


CASES = [
    *((repr(solver), solver, {}) for solver in (*DESCENT, *STOCHASTIC)),
    ("panel, all cells", solvers.Panel(), {"cells": "weighed"}),
    ("gibbs", solvers.Gibbs(), {}),
    ("gibbs, exact", solvers.Gibbs(exact=True), {}),
]


@pytest.mark.parametrize(("name", "solver", "changes"), CASES, ids=[name for name, *_ in CASES])
def test_each_array_that_cannot_be_had_is_a_memory_error_and_the_model_goes_on_unharmed(
    name, solver, changes, failing, record_property
):
    problem = Case(**changes).build(**({"penalty": LearntPenalty(rounds=1)} if "gibbs" in name else {}))
    begun = fit(problem, solver=solver, rounds=2, threads=1)
    bits = begun.P.tobytes() + begun.Q.tobytes()
    counted = failing(-1)
    wanted = fit(problem, solver=solver, rounds=1, threads=1, init=begun)
    record_property("allocations", counted())
    for which in range(counted()):
        failing(which)
        with pytest.raises(MemoryError, match="no room"):
            fit(problem, solver=solver, rounds=1, threads=1, init=begun)
        assert begun.P.tobytes() + begun.Q.tobytes() == bits
    failing(-1)
    assert_same_bits(fit(problem, solver=solver, rounds=1, threads=1, init=begun), wanted)


def test_kernels_for_plugins_tell_too(failing):
    counted = failing(-1)
    kernels.sides(Case().build(), 1)
    for which in range(counted()):
        failing(which)
        with pytest.raises(MemoryError, match="no room"):
            kernels.sides(Case().build(), 1)
