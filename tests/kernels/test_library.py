import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fmfkit
from fmfkit import losses
from fmfkit._kernels.balance import balance
from fmfkit._kernels.buffers import reals
from fmfkit._kernels.components import LossForm
from fmfkit._kernels.keys import number_keys
from fmfkit._kernels.library import resolve_threads
from fmfkit._kernels.scoring import Scored
from fmfkit.problem import Pairs


def run(code, **environ):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, **environ}
    )


def test_build_info_tells_version_isa_openmp_and_compiler():
    info = fmfkit.build_info()
    assert info["version"] == fmfkit.__version__
    assert info["isa"] in info["isa_available"]
    assert info["isa_available"][0] == "v2"
    assert info["openmp"] is None or info["openmp"] > 200000
    assert info["compiler"].split()[0] in ("gcc", "clang")


FIT = """
import numpy as np, fmfkit
rng = np.random.default_rng(0)
i, j = np.divmod(rng.permutation(2000)[:700], 40)
for loss, y in (("square", rng.normal(size=700)), ("logistic", rng.random(700))):
    for dtype in ("float32", "float64"):
        problem = fmfkit.Problem.from_coo(i, j, y, X=rng.normal(size=(50, 9)), rank=3, loss=loss, dtype=dtype)
        print(fmfkit.build_info()["isa"], repr(fmfkit.fit(problem, rounds=3, threads=2).history[-1].objective))
"""


def test_every_available_isa_can_be_chosen_and_they_agree():
    results = {}
    for isa in fmfkit.build_info()["isa_available"]:
        done = run(FIT, FMFKIT_ISA=isa)
        assert done.returncode == 0, done.stderr
        rows = [line.split() for line in done.stdout.splitlines()]
        assert {row[0] for row in rows} == {isa}
        results[isa] = [float(row[1]) for row in rows]
    for objectives in results.values():
        np.testing.assert_allclose(objectives, results["v2"], rtol=1e-5)


def test_an_isa_that_is_not_there_is_refused_with_those_that_are():
    done = run("import fmfkit; fmfkit.build_info()", FMFKIT_ISA="v9")
    assert "FMFKIT_ISA='v9': this build on this processor has v2" in done.stderr


def test_threads_come_from_the_argument_else_the_environment_else_the_processors(monkeypatch):
    assert resolve_threads(3) == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    assert resolve_threads(None) == 5
    for nonsense in ("nonsense", "²", "-1"):
        monkeypatch.setenv("OMP_NUM_THREADS", nonsense)
        assert resolve_threads(None) >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", "99999999999")
    assert resolve_threads(None) == 1024
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr("fmfkit._kernels.machine.cpu_quota", lambda: None)
    assert resolve_threads(None) == len(os.sched_getaffinity(0))


FORK = """
import os, sys, warnings
import numpy as np, fmfkit
rng = np.random.default_rng(0)
i, j = np.divmod(np.arange(40_000), 40)
problem = fmfkit.Problem.from_coo(i, j, rng.normal(size=40_000), rank=4)
parent = fmfkit.fit(problem, rounds=2, threads=2)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    child = os.fork()
if child == 0:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fmfkit.fit(problem, rounds=2, threads=2)
    same = model.P.tobytes() == parent.P.tobytes()
    told = fmfkit.build_info()["openmp"] is None or sum("forked" in str(w.message) for w in caught) == 1
    os._exit(0 if same and told else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork()")
def test_a_child_forked_after_openmp_ran_does_not_hang_and_gets_the_same_result():
    done = run(FORK)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_buffers_of_another_precision_or_order_are_refused(dtype):
    with pytest.raises(TypeError, match="expected an array of float64, got float32"):
        reals(np.zeros(3, np.float32), np.dtype("float64"))
    with pytest.raises((BufferError, ValueError, TypeError), match="contiguous"):
        reals(np.zeros((4, 4), dtype).T[1:], np.dtype(dtype))
    frozen = np.zeros(3, dtype)
    frozen.flags.writeable = False
    with pytest.raises((BufferError, ValueError), match="read-only"):
        reals(frozen, np.dtype(dtype), writable=True)


def test_pointers_beyond_2_to_the_31_are_followed(tmp_path):
    """A row whose pairs stand past 2³¹, in files that are holes up to there."""
    n = 2**31 + 8
    arrays = {
        name: np.memmap(tmp_path / name, dtype, "w+", shape=(n,))
        for name, dtype in (("other", np.int32), ("y", np.float32), ("score", np.float32))
    }
    arrays["other"][-3:] = [1, 0, 1]
    arrays["y"][-3:] = [1.0, 2.0, 3.0]
    pairs = Pairs(
        rows=2, ptr=np.array([0, n - 3, n]), other=arrays["other"], y=arrays["y"], weight=None, chunk=np.array([1, 2])
    )
    mine, theirs = np.zeros((2, 8), np.float32), np.zeros((2, 8), np.float32)
    mine[1, 0], theirs[:, 0] = 2.0, [1.0, 3.0]
    form = LossForm.of(losses.Square(), np.dtype("float32"))
    loss = Scored.of(pairs, form, 0.5).scores(mine, theirs, arrays["score"], 1)
    np.testing.assert_allclose(arrays["score"][-3:], [5.5, 0.5, 3.5])
    assert loss == pytest.approx(5.5**2 + 0.5**2 + 3.5**2)


@given(sizes=st.lists(st.integers(0, 100), min_size=1, max_size=60), sets=st.integers(1, 10))
def test_balance_always_gives_to_the_lightest_set(sizes, sets):
    order = np.argsort(-np.array(sizes), kind="stable").astype(np.int32)
    set_of = balance(order, np.array(sizes, np.int64), sets)
    load = [0] * sets
    for feature in order:
        lightest = min(range(sets), key=lambda s: (load[s], s))
        assert set_of[feature] == lightest
        load[lightest] += sizes[feature]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(n=st.integers(1, 70), seed=st.integers(0, 99))
def test_logistic_values_are_exact_at_every_length(dtype, n, seed):
    rng = np.random.default_rng(seed)
    y, score = rng.random(n).astype(dtype), (rng.normal(size=n) * rng.choice([0.1, 5, 60])).astype(dtype)
    stride = 32 // np.dtype(dtype).itemsize
    mine, theirs = np.zeros((1, stride), dtype), np.zeros((n, stride), dtype)
    mine[0, 0], theirs[:, 0] = 1, score
    pairs = Pairs(
        rows=1, ptr=np.array([0, n]), other=np.arange(n, dtype=np.int32), y=y, weight=None, chunk=np.array([0, 1])
    )
    scored = Scored.of(pairs, LossForm.of(losses.Logistic(), np.dtype(dtype)), 0.0)
    total = scored.scores(mine, theirs, np.empty(n, dtype), 1)
    exact = losses.Logistic().value(score.astype(np.float64), y.astype(np.float64)).sum()
    assert total == pytest.approx(
        exact, rel=1e-6 if dtype == "float32" else 1e-13, abs=1e-6 if dtype == "float32" else 1e-13
    )


@given(keys=st.lists(st.one_of(st.integers(0, 40), st.integers(0, 2**64 - 1)), max_size=3000))
def test_keys_are_numbered_as_they_come(keys):
    number_of, first = number_keys(np.array(keys, np.uint64))
    known = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    assert number_of.tolist() == [known[key] for key in keys]
    assert [keys[place] for place in first] == list(known)
