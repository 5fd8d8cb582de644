"""The door for native losses and regularizers: what is refused, and that solvers agree with NumPy."""

import ctypes
import functools
import gc

import attrs
import numpy as np
import pytest
from numpy_plugins import NumpyRidge
from problems import Case

from fmfkit import Loss, Regularizer, fit, get_include, solvers
from fmfkit.errors import PluginContractError
from fmfkit.native import MAJOR, NativeLoss, NativeRegularizer, _LossTable


def functions(gradient=2.0, factor=1.0):
    """Return ctypes functions of a factor times the square loss, and their addresses."""
    kept, addresses = [], {}
    for suffix, real in (("f32", ctypes.c_float), ("f64", ctypes.c_double)):
        kind = ctypes.CFUNCTYPE(None, *[ctypes.POINTER(real)] * 3, ctypes.c_int64, ctypes.c_void_p)

        def value(s, y, out, n, params):
            for t in range(n):
                out[t] = factor * (s[t] - y[t]) ** 2

        def slope(s, y, out, n, params):
            for t in range(n):
                out[t] = factor * gradient * (s[t] - y[t])

        for name, function in (("value", value), ("gradient", slope)):
            kept.append(kind(function))
            addresses[f"{name}_{suffix}"] = ctypes.cast(kept[-1], ctypes.c_void_p).value
    return kept, addresses


class NativeSquare(Loss):
    """The square loss by function pointers."""

    kept, addresses = functions()

    def value(self, score, y):
        assert score.size <= 3, "solvers must call the native functions"  # problems try the loss on three pairs
        return (score - y) ** 2

    def gradient(self, score, y):
        assert score.size <= 3, "solvers must call the native functions"
        return 2 * (score - y)

    def curvature(self, score, y):
        return 2.0

    @property
    def native(self):
        return NativeLoss.of_functions(beta=2.0, owner=self.kept, **self.addresses)


@pytest.mark.parametrize(
    "solver", [solvers.Panel(), solvers.PL2M(), solvers.L2M(), solvers.Naive(), solvers.SGD()], ids=repr
)
@pytest.mark.parametrize("weights", [False, True])
def test_solvers_call_native_losses_as_they_do_built_in_ones(solver, weights):
    case = Case(weights=weights, dtype="float64")
    built_in, native = (
        fit(case.build(loss=loss, offset=0.0), solver=solver, rounds=3, threads=1)
        for loss in ("square", NativeSquare())
    )
    np.testing.assert_allclose(native.P, built_in.P, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        [record.objective for record in native.history], [record.objective for record in built_in.history], rtol=1e-9
    )


def table(**changes):
    kept, addresses = functions()
    made = _LossTable(NativeLoss.magic, MAJOR, 0, ctypes.sizeof(_LossTable), 0)
    for name, address in addresses.items():
        setattr(made, name, address)
    for name, value in changes.items():
        setattr(made, name, value)
    return made, kept


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"magic": 7}, "no table of fmfkit.h is there: it begins with 0x00000007"),
        ({"abi_major": MAJOR + 1}, rf"the table is of version {MAJOR + 1}\.0 of the interface"),
        ({"struct_size": 40}, "the table has 40 bytes"),
        ({"gradient_f32": None}, "functions are missing: gradient_f32"),
        ({"params_size": 8}, "the functions read 8 bytes of parameters, 0 were given"),
    ],
)
def test_tables_that_cannot_be_called_are_refused(changes, message):
    made, kept = table(**changes)
    with pytest.raises(PluginContractError, match=message):
        NativeLoss(ctypes.addressof(made), beta=2.0, owner=kept)


def test_a_null_table_and_one_of_another_kind_are_refused():
    with pytest.raises(PluginContractError, match="the address is NULL"):
        NativeLoss(0, beta=2.0)
    made, kept = table()
    with pytest.raises(PluginContractError, match="NativeRegularizer: no table"):
        NativeRegularizer(ctypes.addressof(made), owner=kept)


def native_regularizer(step, cost):
    """Return a regularizer of functions in double precision."""
    real = ctypes.POINTER(ctypes.c_double)
    kept = [ctypes.CFUNCTYPE(None, *[real] * 5, ctypes.c_int64, ctypes.c_void_p)(step)]
    kept.append(ctypes.CFUNCTYPE(None, *[real] * 3, ctypes.c_int64, ctypes.c_void_p)(cost))
    T, penalty = (ctypes.cast(function, ctypes.c_void_p).value for function in kept)
    return NativeRegularizer.of_functions(T_f32=T, T_f64=T, penalty_f32=penalty, penalty_f64=penalty, owner=kept)


@functools.cache
def native_ridge():
    def step(x, y, w, strength, d, n, params):
        for k in range(n):
            d[k] = -(x[k] + 0.1 * strength[k] * w[k]) / (y[k] + 0.1 * strength[k])

    def cost(w, strength, out, n, params):
        for k in range(n):
            out[k] = strength[k] * 0.05 * w[k] ** 2

    return native_regularizer(step, cost)


class NativeRidge(NumpyRidge):
    @property
    def native(self):
        return native_ridge()


@pytest.mark.parametrize("solver", [solvers.Panel(), solvers.PL2M(), solvers.L2M(), solvers.Naive()], ids=str)
def test_a_native_regularizer_is_told_the_strength_of_the_dimension(solver):
    case = Case(growth=0.8, rank=4)
    theirs, ours = (case.build(penalty=case.penalty(kind)) for kind in (NativeRidge(), NumpyRidge(0.1)))
    first, second = (fit(problem, solver=solver, rounds=3, threads=1) for problem in (theirs, ours))
    np.testing.assert_allclose(first.P, second.P, atol=1e-9)
    assert first.history[-1].objective == pytest.approx(second.history[-1].objective, rel=1e-9)


def test_native_functions_take_numbers_and_arrays_of_any_shape():
    def step(x, y, w, strength, d, n, params):
        for k in range(n):
            d[k] = -strength[k] * x[k]

    def cost(w, strength, out, n, params):
        for k in range(n):
            out[k] = strength[k] * w[k]

    made = native_regularizer(step, cost)
    ones = np.ones((4, 3))
    np.testing.assert_array_equal(made.T(ones, ones, ones, 2.0), -2 * ones)
    np.testing.assert_array_equal(made.penalty(ones, 2.0), 2 * ones)


def test_the_header_is_where_it_says_and_agrees_with_the_tables(tmp_path):
    import shutil
    import subprocess

    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    (tmp_path / "sizes.c").write_text(
        '#include <stdio.h>\n#include "fmfkit.h"\n'
        'int main(void) { printf("%zu %zu %d %u", sizeof(fmfkit_loss), sizeof(fmfkit_regularizer), FMFKIT_ABI_MAJOR,'
        " FMFKIT_LOSS_MAGIC); return 0; }\n"
    )
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{get_include()}"]
    subprocess.run(["gcc", *options, "sizes.c", "-o", "sizes"], cwd=tmp_path, check=True)
    told = subprocess.run([tmp_path / "sizes"], capture_output=True, text=True, check=True).stdout.split()
    sizes = [ctypes.sizeof(kind.table_type) for kind in (NativeLoss, NativeRegularizer)]
    assert told == [*map(str, sizes), str(MAJOR), str(NativeLoss.magic)]


def test_the_headers_functions_are_exact(tmp_path):
    import shutil
    import subprocess

    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    (tmp_path / "f.c").write_text(
        '#include "fmfkit.h"\n'
        + "".join(
            f"void {name}_{suffix}(const {real} *x, {real} *out, long n)"
            f" {{ for (long t = 0; t < n; t++) out[t] = fmfkit_{name}_{suffix}(x[t]); }}\n"
            for name in ("exp", "softplus", "sigmoid")
            for suffix, real in (("f32", "float"), ("f64", "double"))
        )
    )
    command = ["gcc", "-O3", "-shared", "-fPIC", f"-I{get_include()}", "f.c", "-o", "f.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "f.so"))
    wanted = {
        "exp": np.exp,
        "softplus": lambda x: np.logaddexp(0, x),
        "sigmoid": lambda x: np.exp(-np.logaddexp(0, -x)),
    }
    for suffix, dtype, close in (("f32", np.float32, 5e-7), ("f64", np.float64, 2e-15)):
        x = np.concatenate([np.linspace(-80, 80, 4001), np.linspace(-1, 1, 2001)]).astype(dtype)
        for name, exact in wanted.items():
            out = np.empty_like(x)
            getattr(library, f"{name}_{suffix}")(
                ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data), ctypes.c_long(len(x))
            )
            np.testing.assert_allclose(out, exact(x.astype(np.float64)), rtol=close * 4, atol=close / 1e20)


# What C points to is owned by what C works for: components need no hash, and may change between two fits.

EVERY_SOLVER = [
    solvers.Panel(),
    solvers.PL2M(),
    solvers.L2M(),
    solvers.Naive(),
    solvers.SGD(),
    solvers.Hogwild(),
]


@attrs.define
class ChangeableSquare(NativeSquare):
    """factor times the square loss, by functions made anew whenever they are asked for; it has no hash."""

    factor: float = 1.0
    notes: dict = attrs.field(factory=dict)
    numbers: np.ndarray = attrs.field(factory=lambda: np.zeros(3), eq=False)

    def value(self, score, y):
        return self.factor * super().value(score, y)

    def gradient(self, score, y):
        return self.factor * super().gradient(score, y)

    def curvature(self, score, y):
        return 2.0 * self.factor

    @property
    def native(self):
        kept, addresses = functions(2.0, self.factor)
        return NativeLoss.of_functions(beta=2.0 * self.factor, owner=kept, **addresses)


@attrs.define
class ChangeableRidge(Regularizer):
    """A ridge by functions made anew whenever they are asked for; it has no hash."""

    l2: float = 0.1
    notes: dict = attrs.field(factory=dict)

    def penalty(self, w, strength=1.0):
        return NumpyRidge(self.l2).penalty(w, strength)

    def T(self, x, y, w, strength=1.0):
        return NumpyRidge(self.l2).T(x, y, w, strength)

    @property
    def native(self):
        l2 = self.l2

        def step(x, y, w, strength, d, n, params):
            for k in range(n):
                d[k] = -(x[k] + l2 * strength[k] * w[k]) / (y[k] + l2 * strength[k])

        def cost(w, strength, out, n, params):
            for k in range(n):
                out[k] = strength[k] * l2 / 2 * w[k] ** 2

        return native_regularizer(step, cost)


def assert_trains_alike(solver, first, second):
    trained, wanted = (fit(problem, solver=solver, rounds=2, threads=1) for problem in (first, second))
    gc.collect()
    np.testing.assert_allclose(trained.P, wanted.P, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(trained.Q, wanted.Q, rtol=1e-7, atol=1e-9)
    assert trained.history[-1].objective == pytest.approx(wanted.history[-1].objective, rel=1e-9)


@pytest.mark.parametrize("solver", EVERY_SOLVER, ids=repr)
def test_native_losses_need_no_hash_and_may_change_between_fits(solver):
    loss, case = ChangeableSquare(), Case(l2=0.1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(loss)
    problem = case.build(loss=loss, offset=0.0)
    for loss.factor in (1.0, 0.5):
        wanted = NumpyScaledSquare(loss.factor)
        assert_trains_alike(solver, problem, case.build(loss=wanted, offset=0.0))


@pytest.mark.parametrize("solver", EVERY_SOLVER, ids=repr)
def test_native_regularizers_need_no_hash_and_may_change_between_fits(solver):
    ridge, case = ChangeableRidge(), Case()
    with pytest.raises(TypeError, match="unhashable"):
        hash(ridge)
    problem = case.build(penalty=ridge)
    for ridge.l2 in (0.1, 0.7):
        assert_trains_alike(solver, problem, case.build(penalty=NumpyRidge(ridge.l2)))


@attrs.frozen
class NumpyScaledSquare(Loss):
    factor: float = 1.0

    @property
    def beta(self):
        return 2.0 * self.factor

    def value(self, score, y):
        return self.factor * (score - y) ** 2

    def gradient(self, score, y):
        return 2 * self.factor * (score - y)

    def curvature(self, score, y):
        return 2 * self.factor


@pytest.mark.parametrize("beta", [-1.0, float("nan"), float("inf")])
def test_a_senseless_beta_is_refused(beta):
    class Senseless(NumpyScaledSquare):
        pass

    Senseless.beta = beta
    with pytest.raises(PluginContractError, match=r"beta is .*, expected a finite number of at least 0, or None"):
        fit(Case().build(loss=Senseless()), rounds=1)
