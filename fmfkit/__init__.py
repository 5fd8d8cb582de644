"""fmfkit: feature-based matrix factorization by parallel coordinate descent, with plugins for every part.

Importing it is light: NumPy, the compiled core and plugins are loaded when something first needs them.
"""

from __future__ import annotations

import importlib
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

__version__ = _version("fmfkit")

_HOME = {
    "Problem": "fmfkit.problem",
    "fit": "fmfkit.fitting",
    "RoundEvent": "fmfkit.fitting",
    "Model": "fmfkit.model",
    "FMF": "fmfkit.front",
    "Negatives": "fmfkit.front",
    "Recommender": "fmfkit.recommender",
    "Dataset": "fmfkit.data",
    "State": "fmfkit.state",
    "RoundRecord": "fmfkit.state",
    "RoundReport": "fmfkit.state",
    "Quantiles": "fmfkit.state",
    "Loss": "fmfkit.interfaces",
    "Regularizer": "fmfkit.interfaces",
    "PartitionScheduler": "fmfkit.interfaces",
    "Partition": "fmfkit.interfaces",
    "Solver": "fmfkit.interfaces",
    "Spec": "fmfkit.hookspecs",
    "hookimpl": "fmfkit.hookspecs",
    "get_registry": "fmfkit.registry",
    "build_info": "fmfkit._native",
    "get_include": "fmfkit.native",
}
_MODULES = (
    "callbacks", "data", "errors", "losses", "metrics", "native", "regularizers", "schedulers", "solvers", "testing",
)  # fmt: skip

__all__ = [  # noqa: RUF022 - by theme
    "FMF", "Negatives", "Recommender", "Dataset",
    "Problem", "fit", "Model", "State", "RoundRecord", "RoundReport", "RoundEvent", "Quantiles",
    "losses", "regularizers", "schedulers", "solvers", "callbacks", "data", "metrics", "errors", "native", "testing",
    "Loss", "Regularizer", "PartitionScheduler", "Partition", "Solver",
    "Spec", "hookimpl", "get_registry", "build_info", "get_include",
]  # fmt: skip

if TYPE_CHECKING:
    from fmfkit import callbacks, data, errors, losses, metrics, native, regularizers, schedulers, solvers, testing
    from fmfkit._native import build_info
    from fmfkit.data import Dataset
    from fmfkit.fitting import RoundEvent, fit
    from fmfkit.front import FMF, Negatives
    from fmfkit.hookspecs import Spec, hookimpl
    from fmfkit.interfaces import Loss, Partition, PartitionScheduler, Regularizer, Solver
    from fmfkit.model import Model
    from fmfkit.native import get_include
    from fmfkit.problem import Problem
    from fmfkit.recommender import Recommender
    from fmfkit.registry import get_registry
    from fmfkit.state import Quantiles, RoundRecord, RoundReport, State


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"fmfkit.{name}")
    else:
        raise AttributeError(f"module 'fmfkit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
