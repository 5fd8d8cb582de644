"""Losses and regularizers as C sees them, and the Python functions that C calls.

A loss that C does not know by heart is a table of functions: a plugin's own, or, for one written in Python, trampolines
that call Python with a handle. What C points to lives as long as the ``LossForm`` or ``PenaltyForm`` that was made of
the component; whoever hands a struct to C keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi, lib
from fmfkit._kernels.buffers import doubles, integers, reals
from fmfkit.arguments import check_batch, frozen
from fmfkit.errors import PluginContractError
from fmfkit.interfaces import Loss, Regularizer
from fmfkit.losses import Logistic, Square
from fmfkit.problem.strengths import Part
from fmfkit.regularizers import ElasticNet
from fmfkit.typing import Reals

PANEL: int = lib.FMF_PANEL
"""Latent dimensions that are updated together."""
BATCH = 1024
"""Pairs, or features, that compiled functions get at once."""
PYTHON_CHUNK = 32768
"""Pairs of a chunk for a loss in Python: long for NumPy, short for the caches."""
PYTHON_BATCH = 2 * PYTHON_CHUNK
"""Pairs that a loss in Python gets at once: a chunk, unless a row has very many."""
EVERYTHING = 2**62
"""A batch for a regularizer in Python: all features of a set."""
BUILT_IN: dict[type, int] = {Square: lib.FMF_SQUARE, Logistic: lib.FMF_LOGISTIC}
"""The losses that C knows by heart (a subclass may differ in anything)."""


class Calls:
    """Serves the calls of C for one component written in Python, and keeps the first error."""

    def __init__(self, component: Any, dtype: np.dtype[Any]) -> None:
        """Keep the component; arrays will have this precision."""
        self.component, self.dtype = component, dtype
        self.error: BaseException | None = None
        self.stop = np.zeros(1, np.int32)
        """Set to 1 with the first error."""
        self.handle = ffi.new_handle(self)

    def views(self, n: int, *pointers: Any) -> list[Reals]:
        """Return arrays of n numbers."""
        size = n * self.dtype.itemsize
        return [np.frombuffer(ffi.buffer(pointer, size), self.dtype) for pointer in pointers]

    def fail(self, error: BaseException) -> None:
        """Keep an error: C goes on with neutral values, and it is raised when C returns."""
        self.error = self.error or error
        self.stop[0] = 1

    def loss(self, wanted: int, score: Reals, y: Reals, out: Reals, h: Reals | None) -> None:
        """Value, or gradient, or gradient and curvature of some pairs."""
        loss, given, targets = self.component, frozen(score), frozen(y)
        name = "value" if wanted == lib.FMF_VALUE else "gradient"
        out[:] = check_batch(loss, name, getattr(loss, name)(given, targets), out.shape)
        if h is not None:
            curvature = loss.curvature(given, targets)
            shape = () if np.ndim(curvature) == 0 else h.shape
            h[:] = check_batch(loss, "curvature", curvature, shape, scalar=True)

    def T(self, x: Reals, y: Reals, w: Reals, strength: Reals, d: Reals) -> None:
        """Steps of some parameters."""
        step = self.component.T(frozen(x), frozen(y), frozen(w), frozen(strength))
        d[:] = check_batch(self.component, "T", step, d.shape)


def _keep_loss_error(exception: Any, error: BaseException, traceback: Any) -> None:
    given = traceback.tb_frame.f_locals
    calls: Calls = ffi.from_handle(given["python"])
    calls.fail(error)
    _neutral_loss(calls, given["out"], given["h"], given["n"])


def _neutral_loss(calls: Calls, out: Any, h: Any, n: int) -> None:
    calls.views(n, out)[0][:] = 0
    if h != ffi.NULL:
        calls.views(n, h)[0][:] = 1


@ffi.def_extern(onerror=_keep_loss_error)  # type: ignore[untyped-decorator]
def fmf_python_call_loss(python: Any, wanted: int, score: Any, y: Any, out: Any, h: Any, n: int) -> None:
    """C asks a loss."""
    calls: Calls = ffi.from_handle(python)
    if calls.error is not None:
        _neutral_loss(calls, out, h, n)
        return
    scores, ys, outs = calls.views(n, score, y, out)
    calls.loss(wanted, scores, ys, outs, None if h == ffi.NULL else calls.views(n, h)[0])


def _keep_T_error(exception: Any, error: BaseException, traceback: Any) -> None:
    given = traceback.tb_frame.f_locals
    calls: Calls = ffi.from_handle(given["python"])
    calls.fail(error)
    calls.views(given["n"], given["d"])[0][:] = 0


@ffi.def_extern(onerror=_keep_T_error)  # type: ignore[untyped-decorator]
def fmf_python_call_T(python: Any, x: Any, y: Any, w: Any, strength: Any, d: Any, n: int) -> None:
    """C asks a regularizer."""
    calls: Calls = ffi.from_handle(python)
    if calls.error is not None:
        calls.views(n, d)[0][:] = 0
        return
    calls.T(*calls.views(n, x, y, w, strength, d))


def raise_errors(forms: Iterable[LossForm | PenaltyForm]) -> None:
    """Raise what functions in Python raised while C ran, an interrupt too."""
    for form in forms:
        if form.calls is not None and form.calls.error is not None:
            raise form.calls.error


@attrs.frozen(eq=False)
class LossForm:
    """A loss as C sees it; keeps alive what C points to."""

    code: int
    beta: float
    """The largest curvature, or -1 where there is none."""
    table: Any = ffi.NULL
    params: Any = ffi.NULL
    batch: int = BATCH
    calls: Calls | None = None
    kept: Any = None

    @classmethod
    def of(cls, loss: Loss, dtype: np.dtype[Any]) -> LossForm:
        """Return the form of a loss for arrays of a precision."""
        beta = _beta(loss)
        if type(loss) in BUILT_IN:
            return cls(BUILT_IN[type(loss)], beta)
        native = loss.native
        if native is None:
            calls = Calls(loss, dtype)
            return cls(lib.FMF_NATIVE, beta, lib.fmf_python_loss(), calls.handle, PYTHON_BATCH, calls)
        table, params = (ffi.cast("void *", address) for address in (native.address, native.params_address))
        return cls(lib.FMF_NATIVE, native.beta, table, params, kept=native)

    @property
    def in_python(self) -> bool:
        """Whether C must call Python for it."""
        return self.calls is not None

    @property
    def chunk(self) -> int | None:
        """How many pairs a chunk should have, if the problem's own chunks will not do."""
        return PYTHON_CHUNK if self.in_python else None

    def fields(self) -> dict[str, Any]:
        """Return the members of fmf_loss."""
        return {
            "code": self.code,
            "beta": self.beta,
            "native": self.table,
            "params": self.params,
            "batch": self.batch,
        }


def _beta(loss: Loss) -> float:
    if loss.beta is None:
        return -1.0
    beta = float(loss.beta)
    if not 0 <= beta < np.inf:
        who = f"{type(loss).__module__}.{type(loss).__qualname__}.beta"
        raise PluginContractError(f"{who} is {loss.beta!r}, expected a finite number of at least 0, or None")
    return beta


def is_elastic_net(regularizer: Regularizer) -> bool:
    """Return whether C knows this regularizer by heart (a subclass may differ in anything)."""
    return type(regularizer) is ElasticNet


def is_smooth(regularizer: Regularizer) -> bool:
    """Return whether it is a sum of squares, which can be minimised along any direction."""
    return type(regularizer) is ElasticNet and regularizer.l1 == 0


def is_in_python(regularizer: Regularizer) -> bool:
    """Return whether C must call Python for it."""
    return not is_elastic_net(regularizer) and regularizer.native is None


@attrs.frozen(eq=False)
class PenaltyForm:
    """A part's penalty as C sees it; keeps alive what C points to."""

    strength: Reals
    growth: Reals
    """(groups, dimensions in whole panels)"""
    group: NDArray[np.int32] | None = None
    shared: NDArray[np.float64] | None = None
    """(dimensions in whole panels) the strengths of shared features, summed; panels need it."""
    l1: float = 0.0
    l2: float = 0.0
    table: Any = ffi.NULL
    params: Any = ffi.NULL
    batch: int = BATCH
    calls: Calls | None = None
    kept: Any = None

    @classmethod
    def of(cls, part: Part, strength: Reals | None = None, shared: NDArray[np.bool_] | None = None) -> PenaltyForm:
        """Return the form of a part's penalty; ``strength`` instead of the part's own, if given.

        ``shared`` says which features are no row's own.
        """
        regularizer, dtype = part.regularizer, part.strength.dtype
        growth = np.pad(part.growth, ((0, 0), (0, -part.growth.shape[1] % PANEL)), constant_values=1)
        made: dict[str, Any] = {
            "strength": part.strength if strength is None else strength,
            "growth": np.ascontiguousarray(growth, dtype),
            "group": part.group,
            "shared": None if shared is None else _by_group(part, shared) @ growth.astype(np.float64),
        }
        if type(regularizer) is ElasticNet:
            return cls(**made, l1=regularizer.l1, l2=regularizer.l2)
        native = regularizer.native
        if native is None:
            calls = Calls(regularizer, dtype)
            table = lib.fmf_python_regularizer()
            return cls(**made, table=table, params=calls.handle, batch=EVERYTHING, calls=calls)
        table, params = (ffi.cast("void *", address) for address in (native.address, native.params_address))
        return cls(**made, table=table, params=params, kept=native)

    @property
    def in_python(self) -> bool:
        """Whether C must call Python for it."""
        return self.calls is not None

    @property
    def has_table(self) -> bool:
        """Whether its T is a function that is called, not the elastic net's."""
        return bool(self.table != ffi.NULL)

    def fields(self) -> dict[str, Any]:
        """Return the members of fmf_penalty."""
        dtype = self.strength.dtype
        return {
            "l1": self.l1,
            "l2": self.l2,
            "native": self.table,
            "params": self.params,
            "batch": self.batch,
            "strength": reals(self.strength, dtype),
            "growth": reals(self.growth, dtype),
            "growth_room": self.growth.shape[1],
            "group": ffi.NULL if self.group is None else integers(self.group, np.int32),
            "shared": ffi.NULL if self.shared is None else doubles(self.shared),
        }


def _by_group(part: Part, some: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the strengths of some features, summed by group."""
    strength = part.strength[some].astype(np.float64)
    if part.group is None:
        return np.array([strength.sum()])
    return np.bincount(part.group[some], weights=strength, minlength=len(part.growth)).astype(np.float64)
