"""The solvers that the laws are tried on, and what the laws say."""

from __future__ import annotations

import itertools

import attrs
import numpy as np
from hypothesis import strategies as st

from fmfkit import schedulers, solvers

DESCENT = [
    solvers.Naive(),
    solvers.L2M(),
    solvers.PL2M(scheduler=schedulers.RandomPartition(4)),
    solvers.Panel(scheduler=schedulers.RandomPartition(9)),
    solvers.Panel(),
]
BY_DIMENSION = DESCENT[:3]
sizes_or_together = st.one_of(st.none(), st.integers(1, 40))
STOCHASTIC = [solvers.SGD(learning_rate=0.01), solvers.Hogwild(learning_rate=0.01)]
sizes = st.integers(1, 40)


def pl2m(size, kind=schedulers.RandomPartition):
    return solvers.PL2M(scheduler=kind(size))


def panel(size, kind=schedulers.RandomPartition, directions=2):
    return solvers.Panel(scheduler=size and kind(size), directions=directions)


def assert_never_rises(model, dtype):
    objectives = [record.objective for record in model.history]
    slack = (1e-6 if dtype == "float32" else 1e-12) * max(objectives)
    for before, after in itertools.pairwise(objectives):
        assert after <= before + slack, objectives


def assert_same_bits(a, b):
    assert a.P.tobytes() == b.P.tobytes()
    assert a.Q.tobytes() == b.Q.tobytes()


def well_posed(case):
    """Build the problem; in single precision with a penalty, without which nearly equal steps may lead far apart."""
    return (case if case.dtype == "float64" else attrs.evolve(case, l2=max(case.l2, 0.1))).build()


def assert_close(a, b, dtype="float64"):
    tolerance = {"float64": 1e-9, "float32": 1e-4}[str(dtype)]
    scale = max(1.0, np.abs(b.P).max(), np.abs(b.Q).max())
    np.testing.assert_allclose(a.P / scale, b.P / scale, rtol=0, atol=tolerance)
    np.testing.assert_allclose(a.Q / scale, b.Q / scale, rtol=0, atol=tolerance)
