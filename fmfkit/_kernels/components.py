"""What C knows of losses and regularizers."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from fmfkit._core import ffi, lib
from fmfkit.arguments import frozen
from fmfkit.interfaces import Loss, Regularizer
from fmfkit.losses import Logistic, Square
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.regularizers import ElasticNet

SQUARE: int = lib.FMF_SQUARE
LOGISTIC: int = lib.FMF_LOGISTIC
EXTERNAL: int = lib.FMF_EXTERNAL
NATIVE: int = lib.FMF_NATIVE


def loss_code(loss: Loss) -> int:
    """Return the native code of a loss, EXTERNAL for one that only Python has."""
    return LossForm.of(loss).code


def native_form(component: Loss | Regularizer) -> Any:
    """Return the native functions of a loss or regularizer: who points C to them keeps them."""
    return component.native


@attrs.frozen(eq=False)
class LossForm:
    """A loss as C works on it; it keeps the native functions that C points to alive."""

    code: int
    native: Any = None

    @classmethod
    def of(cls, loss: Loss) -> LossForm:
        """Resolve a loss's native functions, once."""
        known = {Square: SQUARE, Logistic: LOGISTIC}.get(type(loss))  # a subclass may differ in anything
        if known is not None:
            return cls(known)
        native = loss.native
        return cls(EXTERNAL if native is None else NATIVE, native)

    @property
    def fields(self) -> dict[str, Any]:
        """The members of C's fmf_loss."""
        if self.native is None:
            return {"code": self.code, "beta": 0.0, "native": ffi.NULL, "params": ffi.NULL}
        return {"code": self.code, "beta": self.native.beta, **pointers_to(self.native)}


def pointers_to(native: Any) -> dict[str, Any]:
    """Return the members of a C struct that point to native functions, which the caller keeps alive."""
    if native is None:
        return {"native": ffi.NULL, "params": ffi.NULL}
    return {"native": ffi.cast("void *", native.address), "params": ffi.cast("void *", native.params_address)}


def beta_or_curvature(problem: Problem) -> Any:
    """Return the loss's largest curvature, or that at the first pair: a number, or an array if it has one for each."""
    if loss_code(problem.loss) == NATIVE:
        return native_form(problem.loss).beta
    if problem.loss.beta is not None:
        return problem.loss.beta
    y = problem.query.pairs.y[:1]
    return problem.loss.curvature(np.zeros_like(y), frozen(y))


def is_native(regularizer: Regularizer) -> bool:
    """Return whether the kernels can call this regularizer's T."""
    return is_elastic_net(regularizer) or native_form(regularizer) is not None


def is_elastic_net(regularizer: Regularizer) -> bool:
    """Return whether the kernels know this regularizer by heart (a subclass may differ in anything)."""
    return type(regularizer) is ElasticNet


def takes_panels(side: Side) -> bool:
    """Return whether a side can be updated by panels."""
    return all(is_elastic_net(part.regularizer) for part in side.parts)


def all_native(problem: Problem, side: Side) -> bool:
    """Return whether a side can be updated without calling Python: the kernels know its loss and its regularizers."""
    return loss_code(problem.loss) != EXTERNAL and all(is_native(part.regularizer) for part in side.parts)


def elastic_net(regularizer: Regularizer) -> tuple[float, float]:
    """Return l1 and l2 of the elastic net; zeros for another regularizer, whose T is called."""
    return (regularizer.l1, regularizer.l2) if isinstance(regularizer, ElasticNet) else (0.0, 0.0)
