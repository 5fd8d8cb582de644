"""Algorithm 1."""

from hypothesis import given
from laws import assert_close, assert_never_rises, well_posed
from numpy_plugins import BatchBound
from problems import Case, cases, few

from fmfkit import fit, solvers


@few
@given(case=cases())
def test_naive_equals_algorithm_1_of_the_reference(case):
    problem = well_posed(case)
    native, oracle = (fit(problem, solver=s, rounds=2) for s in (solvers.Naive(), solvers.Reference(algorithm=1)))
    assert_close(native, oracle, case.dtype)


@few
@given(case=cases(loss="square", dtype="float64", l2=0.1))
def test_algorithms_1_and_2_agree_on_the_square_loss(case):
    problem = case.build()
    assert_close(fit(problem, solver="naive", rounds=3), fit(problem, solver="l2m", rounds=3))


def test_rows_without_pairs_are_not_shown_to_a_loss():
    problem = Case(seed=4, pairs=6).build(loss=BatchBound())
    assert_never_rises(fit(problem, solver="naive", rounds=2), "float64")
