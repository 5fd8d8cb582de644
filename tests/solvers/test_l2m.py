"""Algorithm 2."""

from hypothesis import given
from laws import assert_close, well_posed
from problems import cases, few

from fmfkit import fit, solvers


@few
@given(case=cases())
def test_l2m_equals_algorithm_2_of_the_reference(case):
    problem = well_posed(case)
    native, oracle = (fit(problem, solver=s, rounds=3) for s in (solvers.L2M(), solvers.Reference(algorithm=2)))
    assert_close(native, oracle, case.dtype)
