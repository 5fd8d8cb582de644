"""The elastic net: T minimises what it should."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from fmfkit.regularizers import ElasticNet

numbers = st.floats(-5, 5)
strengths = st.sampled_from([0.0, 0.2, 3.0])


@given(
    x=numbers, y=st.floats(0.01, 5), w=numbers, l1=strengths, l2=strengths, strength=st.sampled_from([0.0, 1.0, 2.5])
)
def test_T_minimises_against_brute_force(x, y, w, l1, l2, strength):
    net = ElasticNet(l1=l1, l2=l2)

    def total(d):
        return x * d + y / 2 * d * d + float(net.penalty(np.array([w + d]), strength)[0])

    d = float(net.T(np.array([x]), np.array([y]), np.array([w]), strength)[0])
    reach = 2 * (abs(x) + abs(w) + 1) / y + 10
    best = minimize_scalar(total, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-10}).fun
    assert total(d) <= min(best, total(-w), total(0)) + 1e-8


@given(w=numbers)
def test_T_without_any_curvature_moves_only_for_the_l1_term(w):
    zero = np.zeros(1)
    assert ElasticNet(l1=1, l2=0).T(zero, zero, np.array([w]))[0] == -w
    assert ElasticNet(l1=0, l2=0).T(zero, zero, np.array([w]))[0] == 0


def test_T_is_the_paper_s_two_branch_formula():
    a, lam = 0.3, 0.7
    x, y, w = np.array([1.0, -1.0, 0.1]), np.array([2.0, 2.0, 2.0]), np.array([0.5, 0.5, -0.01])
    expected = [
        max(-(xi + lam * wi + a) / (yi + lam), -wi)
        if wi - (xi + lam * wi) / (yi + lam) >= 0
        else min(-(xi + lam * wi - a) / (yi + lam), -wi)
        for xi, yi, wi in zip(x, y, w, strict=True)
    ]
    np.testing.assert_allclose(ElasticNet(l1=a, l2=lam).T(x, y, w), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l1": -1}, "l1: expected a finite number of at least 0, got -1.0"),
        ({"l2": float("nan")}, "l2: expected a finite number"),
    ],
)
def test_elastic_net_refuses_bad_strengths(options, message):
    with pytest.raises(ValueError, match=message):
        ElasticNet(**options)
