"""A side as solvers in C have it: the struct of fmfkit.h, read here through a compiler, against ``kernels.Side``."""

import importlib.util
import re
from pathlib import Path

import attrs
import cffi
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_plugins import NativeLasso, NumpyLasso, NumpySquare, PseudoHuber
from problems import Case, cases, few, large

from fmfkit import State, get_include, kernels
from fmfkit._kernels.library import team
from fmfkit.errors import PluginContractError
from fmfkit.native import MAJOR, MINOR
from fmfkit.regularizers import ElasticNet
from fmfkit.solvers.reference.panels import panel_own_step

HEADER = Path(get_include(), "fmfkit.h").read_text(encoding="utf-8")
STRUCT = re.search(r"typedef void fmfkit_work.*?^};", HEADER, re.DOTALL | re.MULTILINE).group()
ABI = 1000 * MAJOR + MINOR


@pytest.fixture(scope="module")
def header(tmp_path_factory):
    """The header, compiled; cffi refuses a struct that is not as the compiler has it."""
    ffi = cffi.FFI()
    ffi.cdef(f"#define FMFKIT_ABI ...\n{STRUCT}\nvoid fmfkit_times_f64(const double *, const double *, double *);")
    ffi.set_source("fmfkit_header", "#include <fmfkit.h>", include_dirs=[get_include()])
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LD_PRELOAD", raising=False)  # sanitizers are for this process, not for the compiler
        built = ffi.compile(str(tmp_path_factory.mktemp("header")))
    spec = importlib.util.spec_from_file_location("fmfkit_header", built)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def array(header, pointer, shape, dtype):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(header.ffi.buffer(pointer, size), dtype).reshape(shape)


def rescored(problem, threads=2):
    """A state, and two query sides with the same scores."""
    state = State.initial(problem, seed=3, scale=0.5)
    both = [kernels.sides(problem, threads) for _ in range(2)]
    for mine, other in both:
        mine.rescore(mine.embed(state.P), other.embed(state.Q))
    return state, both[0][0], both[1][0]


@few
@given(case=cases(), loss=st.sampled_from([None, PseudoHuber(), NumpySquare()]))
def test_each_function_does_what_the_method_does(header, case, loss):
    changes = {} if loss is None else {"loss": loss}
    problem = attrs.evolve(case, rank=9).build(**changes)
    state, side, native = rescored(problem)
    dtype, P, rng = problem.dtype, state.P.copy(), np.random.default_rng(case.seed)
    features = rng.normal(size=(side.features, 8)).astype(dtype)
    out = [np.empty((side.features, 8), dtype), *(np.empty((side.rows, 8), dtype) for _ in range(2))]
    g, h = np.empty(problem.pairs, dtype), np.empty(problem.pairs, dtype)
    with native.native(P, abi=header.lib.FMFKIT_ABI) as address:
        c = header.ffi.cast("fmfkit_side *", address)
        reals = [header.ffi.from_buffer(one) for one in (*out, g, h, features)]
        assert tuple(range(c.first_panel, c.panels)) == side.panels
        for panel in side.panels:
            c.sums(c, panel)
            G, A = (array(header, pointer, (side.rows, n), dtype) for pointer, n in ((c.G, 8), (c.A, 40)))
            for found, expected in zip((G, A), side.sums(panel), strict=True):
                np.testing.assert_array_equal(found, expected)
            c.by_feature(c, c.G, panel % 2, reals[0])
            c.by_row(c, reals[5], reals[1])
            c.times(c, c.A, c.G, reals[2])
            np.testing.assert_array_equal(out[0], side.by_feature(G, squared=bool(panel % 2)))
            np.testing.assert_array_equal(out[1], side.by_row(features))
            np.testing.assert_array_equal(out[2], side.times(A, G))
            c.own_steps(c, panel)
            c.move_scores(c, panel)
            side.move(side.own_steps(state.P, G.copy(), A.copy(), panel), panel)
            np.testing.assert_array_equal(P, state.P)
        c.gradients(c, reals[3], reals[4])
        score = array(header, c.score, (problem.pairs,), dtype) + c.less_y * problem.query.pairs.y
    np.testing.assert_array_equal(score, side.scores)
    for found, expected in zip((g, h), side.gradients(), strict=True):
        np.testing.assert_array_equal(found, expected)


@few
@given(case=cases())
def test_its_numbers_and_arrays_are_those_of_the_problem(header, case):
    problem = case.build()
    state, side, _ = rescored(problem)
    X, pairs, dtype = problem.X, problem.query.pairs, problem.dtype
    with side.native(state.P, abi=ABI) as address:
        c = header.ffi.cast("fmfkit_side *", address)
        assert (c.real_bytes, c.threads) == (dtype.itemsize, team(2))
        assert (c.rows, c.features) == (side.rows, side.features)
        assert (c.pairs, c.their_rows, c.rank) == (problem.pairs, problem.target.pairs.rows, problem.rank)
        assert c.width == state.P.shape[1]
        assert c.offset == problem.offset
        named = {"pair_ptr": pairs.ptr, "other": pairs.other, "y": pairs.y, "parameters": state.P, "own": X.own}
        named |= {name: getattr(X, name) for name in ("row_ptr", "row_index", "col_ptr", "col_index", "own_value")}
        named |= {name: getattr(X, name) for name in ("row_value", "col_value", "row_scale")} | {"weight": pairs.weight}
        named |= {"mine": side.embed(state.P), "theirs": kernels.sides(problem)[1].embed(state.Q)}
        for name, expected in named.items():
            pointer = getattr(c, name)
            assert (pointer == header.ffi.NULL) == (expected is None), name
            if expected is not None:
                np.testing.assert_array_equal(array(header, pointer, expected.shape, expected.dtype), expected, name)
        assert c.stride == named["mine"].shape[1]


@pytest.mark.parametrize("regularizer", [ElasticNet(l2=0.3), ElasticNet(l1=0.1), NumpyLasso(), NativeLasso()], ids=repr)
def test_a_step_is_the_oracle_s_for_any_regularizer(header, regularizer):
    case = Case(growth=0.7, rank=9)
    problem = case.build(penalty=case.penalty(regularizer))
    state, side, _ = rescored(problem)
    rng = np.random.default_rng(0)
    for panel in side.panels:
        columns, strengths = side.columns(panel), side.strengths(panel)
        size, s, W = columns.stop - columns.start, int(np.flatnonzero(side.shared)[1]), state.P.copy()
        half, G, d = rng.normal(size=(8, 8)), rng.normal(size=8), np.full(8, 7.0)
        full, k = half @ half.T, np.arange(8)
        full[size:], full[:, size:] = 0, 0
        A = np.concatenate([full[k, (k + turn) % 8] for turn in range(5)])
        with side.native(W, abi=ABI) as address:
            c = header.ffi.cast("fmfkit_side *", address)
            c.step(c, panel, s, *(header.ffi.from_buffer(one) for one in (G, A, d)))
        w = state.P[s, columns]
        expected = panel_own_step(regularizer, strengths[s], 1.0, G[:size], full[:size, :size], w)
        np.testing.assert_allclose(d[:size], expected, atol=1e-8)
        assert not d[size:].any()
        state.P[s, columns] += d[:size]
        np.testing.assert_array_equal(W, state.P)


def test_the_product_of_one_row_is_that_of_all(header):
    side = kernels.sides(Case().build())[0]
    A, u = np.random.default_rng(0).normal(size=(side.rows, 40)), np.ones((side.rows, 8)) + np.arange(8)
    A[:, 36:] = A[:, 32:36]  # A_kl and A_lk, four apart
    found, pointer = np.empty_like(u), header.ffi.from_buffer
    for i in range(side.rows):
        row = [header.ffi.cast("double *", pointer(one[i])) for one in (A, u, found)]
        header.lib.fmfkit_times_f64(*row)
    np.testing.assert_allclose(found, side.times(A, u), rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_portions_are_shared_out_each_once(header, threads):
    state, side, _ = rescored(large(), threads)
    done = []

    @header.ffi.callback("fmfkit_work")
    def work(context, portion, thread):
        done.append((portion, thread))

    with side.native(state.P, abi=ABI) as address:
        c = header.ffi.cast("fmfkit_side *", address)
        c.share_out(c, 100, work, header.ffi.NULL)
    assert sorted(portion for portion, _ in done) == list(range(100))
    assert {thread for _, thread in done} <= set(range(threads))


class Failing(NumpySquare):
    """A loss that fails on more than the three pairs that problems try it on."""

    def gradient(self, score, y):
        if len(score) > 3:
            raise ArithmeticError("no gradient today")
        return super().gradient(score, y)


def test_errors_of_components_in_python_are_raised_when_the_solver_is_done(header):
    state, side, _ = rescored(Case().build(loss=Failing()))
    context = side.native(state.P, abi=ABI)
    c = header.ffi.cast("fmfkit_side *", context.__enter__())
    c.sums(c, 0)
    with pytest.raises(ArithmeticError, match="no gradient today"):
        context.__exit__(None, None, None)


@pytest.mark.parametrize("abi", [ABI + 1, ABI + 1000, ABI - 1000])
def test_a_solver_for_another_header_is_refused(abi):
    state, side, _ = rescored(Case().build())
    told = rf"compiled against version {abi // 1000}\.{abi % 1000} of fmfkit.h, this fmfkit has {MAJOR}\.{MINOR}"
    with pytest.raises(PluginContractError, match=told):
        side.native(state.P, abi=abi)


def test_a_solver_in_c_needs_scores_and_whole_parameters():
    problem = Case().build()
    state, side, _ = rescored(problem)
    with pytest.raises(ValueError, match="there are no scores yet"):
        kernels.sides(problem)[0].native(state.P, abi=ABI)
    with pytest.raises(ValueError, match="W: expected float64 of shape"):
        side.native(state.P[:1], abi=ABI)
