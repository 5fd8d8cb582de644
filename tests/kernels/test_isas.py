"""The kernels of every instruction set that this build and this processor have: the laws hold for each."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import assert_close, assert_never_rises, assert_same_bits
from problems import Case, cases, few, large

from fmfkit import build_info, fit, solvers
from fmfkit.kernels import use_instruction_set

# more rows than vectors have lanes, with fewer and with more pairs than they have
crowded = cases(queries=19, targets=17, l2=2.0, dtype="float64").flatmap(
    lambda case: st.builds(attrs.evolve, st.just(case), pairs=st.integers(1, 250), rank=st.sampled_from([3, 11]))
)


@pytest.fixture(params=build_info()["isa_available"], scope="module")
def isa(request):
    before = build_info()["isa"]
    use_instruction_set(request.param)
    yield request.param
    use_instruction_set(before)


@few
@given(case=crowded)
def test_panels_equal_the_reference_with_every_instruction_set(isa, case):
    oracle = solvers.Reference(algorithm=3, scheduler=None, panel=8, directions=2)
    native, expected = (fit(case.build(), solver=s, rounds=2, threads=2) for s in (solvers.Panel(), oracle))
    assert_close(native, expected, case.dtype)
    assert_never_rises(native, case.dtype)


@few
@given(case=crowded)
def test_algorithm_3_equals_the_reference_with_every_instruction_set(isa, case):
    mine = solvers.PL2M()
    oracle = solvers.Reference(algorithm=3, scheduler=mine.scheduler)
    native, expected = (fit(case.build(), solver=s, rounds=2, threads=2) for s in (mine, oracle))
    assert_close(native, expected, case.dtype)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_single_precision_ends_where_double_does_with_every_instruction_set(isa, loss):
    single, double = (
        fit(large(dtype, loss), rounds=3, seed=1).history[-1].objective for dtype in ("float32", "float64")
    )
    assert single == pytest.approx(double, rel=1e-3)


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_instruction_set_has_the_same_bits_on_any_number_of_threads(isa, dtype, loss):
    problem = large(dtype, loss)
    one, *others = (fit(problem, rounds=2, threads=threads, seed=1) for threads in (1, 2, 3))
    for other in others:
        assert_same_bits(one, other)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_instruction_set_trains_plain_factorization_as_the_reference_does(isa, dtype):
    case = Case(plain=True, queries=19, targets=17, pairs=250, rank=11, weights=True, dtype=dtype)
    oracle = solvers.Reference(algorithm=3, scheduler=None, panel=8, directions=2)
    for loss in ("square", "logistic"):
        problem = attrs.evolve(case, loss=loss).build()
        native, expected = (fit(problem, solver=s, rounds=3, threads=2) for s in (solvers.Panel(), oracle))
        assert_close(native, expected, dtype)
