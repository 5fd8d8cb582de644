"""fmfkit: feature-based matrix factorization by parallel coordinate descent, with plugins for every part.

Importing it is light: NumPy, the compiled core and plugins are loaded when something first needs them.
"""

from __future__ import annotations

import importlib
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

__version__ = _version("fmfkit")

_HOMES = {
    "fmfkit.recommend.fmf": ("FMF",),
    "fmfkit.recommend.settings": ("Settings",),
    "fmfkit.recommend.recommender": ("Recommender",),
    "fmfkit.recommend.recipe": ("Recipe",),
    "fmfkit.recommend.evaluation": ("Metric",),
    "fmfkit.recommend.resampling": ("compare_models", "estimate"),
    "fmfkit.recommend.strata": ("by_strata",),
    "fmfkit.recommend.folds": ("cross_validate",),
    "fmfkit.recommend.loading": ("load_data",),
    "fmfkit.data": ("Dataset",),
    "fmfkit.problem": (
        "AllCells",
        "Features",
        "LearntPenalty",
        "Objective",
        "Observations",
        "Penalties",
        "Penalty",
        "Problem",
        "Strengths",
    ),
    "fmfkit.training.loop": ("fit",),
    "fmfkit.training.path": ("path",),
    "fmfkit.training.events": ("RoundEvent",),
    "fmfkit.training.state": ("State",),
    "fmfkit.training.records": ("Quantiles", "RoundRecord", "RoundReport"),
    "fmfkit.model.model": ("Model",),
    "fmfkit.interfaces": ("Loss", "Partition", "PartitionScheduler", "Regularizer", "RowRegularizer", "Solver"),
    "fmfkit.plugins.hookspecs": ("Spec", "hookimpl"),
    "fmfkit.plugins.registry": ("get_registry",),
    "fmfkit._kernels.library": ("build_info",),
    "fmfkit.native": ("get_include",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = {
    "callbacks": "fmfkit.training.callbacks",
    "evaluation": "fmfkit.recommend.evaluation",
    "data": "fmfkit.data",
    "errors": "fmfkit.errors",
    "examples": "fmfkit.examples",
    "kernels": "fmfkit.kernels",
    "losses": "fmfkit.losses",
    "metrics": "fmfkit.metrics",
    "native": "fmfkit.native",
    "regularizers": "fmfkit.regularizers",
    "schedulers": "fmfkit.schedulers",
    "search": "fmfkit.search",
    "solvers": "fmfkit.solvers",
    "testing": "fmfkit.testing",
    "typing": "fmfkit.typing",
}

__all__ = [
    *_HOME,
    *_MODULES,
]

if TYPE_CHECKING:
    from fmfkit import data as data
    from fmfkit import errors as errors
    from fmfkit import examples as examples
    from fmfkit import losses as losses
    from fmfkit import metrics as metrics
    from fmfkit import native as native
    from fmfkit import regularizers as regularizers
    from fmfkit import schedulers as schedulers
    from fmfkit import search as search
    from fmfkit import solvers as solvers
    from fmfkit import testing as testing
    from fmfkit import typing as typing
    from fmfkit._kernels.library import build_info as build_info
    from fmfkit.data import Dataset as Dataset
    from fmfkit.interfaces import Loss as Loss
    from fmfkit.interfaces import Partition as Partition
    from fmfkit.interfaces import PartitionScheduler as PartitionScheduler
    from fmfkit.interfaces import Regularizer as Regularizer
    from fmfkit.interfaces import RowRegularizer as RowRegularizer
    from fmfkit.interfaces import Solver as Solver
    from fmfkit.model.model import Model as Model
    from fmfkit.native import get_include as get_include
    from fmfkit.plugins.hookspecs import Spec as Spec
    from fmfkit.plugins.hookspecs import hookimpl as hookimpl
    from fmfkit.plugins.registry import get_registry as get_registry
    from fmfkit.problem import AllCells as AllCells
    from fmfkit.problem import Features as Features
    from fmfkit.problem import LearntPenalty as LearntPenalty
    from fmfkit.problem import Objective as Objective
    from fmfkit.problem import Observations as Observations
    from fmfkit.problem import Penalties as Penalties
    from fmfkit.problem import Penalty as Penalty
    from fmfkit.problem import Problem as Problem
    from fmfkit.problem import Strengths as Strengths
    from fmfkit.recommend import evaluation as evaluation
    from fmfkit.recommend.evaluation import Metric as Metric
    from fmfkit.recommend.fmf import FMF as FMF
    from fmfkit.recommend.folds import cross_validate as cross_validate
    from fmfkit.recommend.loading import load_data as load_data
    from fmfkit.recommend.recipe import Recipe as Recipe
    from fmfkit.recommend.recommender import Recommender as Recommender
    from fmfkit.recommend.resampling import compare_models as compare_models
    from fmfkit.recommend.resampling import estimate as estimate
    from fmfkit.recommend.settings import Settings as Settings
    from fmfkit.recommend.strata import by_strata as by_strata
    from fmfkit.training import callbacks as callbacks
    from fmfkit.training.events import RoundEvent as RoundEvent
    from fmfkit.training.loop import fit as fit
    from fmfkit.training.path import path as path
    from fmfkit.training.records import Quantiles as Quantiles
    from fmfkit.training.records import RoundRecord as RoundRecord
    from fmfkit.training.records import RoundReport as RoundReport
    from fmfkit.training.state import State as State


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(_MODULES[name])
    else:
        raise AttributeError(f"module 'fmfkit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
