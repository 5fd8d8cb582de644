"""Estimators for scikit-learn: pairs of ids in X, ratings in y; tables of attributes are parameters.

They need scikit-learn: ``python -m pip install fmfkit[sklearn]``.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fmfkit.data.dataset import Dataset
from fmfkit.data.positives import DataKind, all_positive
from fmfkit.data.tables import read_table
from fmfkit.errors import DataError
from fmfkit.recommend.fmf import FMF, say, shows, trained, warn_of_collapse
from fmfkit.recommend.positives import settled
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.settings import default_of, names

DATA = {"queries": None, "targets": None, "history": False}
"""What describes the data, as ``Dataset.of`` takes it, and the defaults."""


class _Pairs(BaseEstimator):  # type: ignore[misc]
    """What both estimators share. Parameters: those of ``FMF``, and ``queries``, ``targets`` and ``history``."""

    _loss = "square"
    _data: DataKind = "auto"
    """What the data is taken as, unless a parameter says so."""

    def __init__(self, **parameters: Any) -> None:
        """Keep the parameters, as scikit-learn wants it."""
        known = {name: default_of(name) for name in names()} | {"loss": self._loss} | DATA
        for name in parameters:
            if name not in known:
                raise TypeError(f"{type(self).__name__}: there is no parameter {name!r}; there are {sorted(known)}")
        for name, default in known.items():
            setattr(self, name, parameters.get(name, default))

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*names(), *DATA])

    def _fit(self, X: Any, y: Any, sample_weight: Any, start: Recommender | None = None) -> None:
        values = np.asarray(y, np.float64)
        frame = _frame(X).with_columns(pl.Series("__y__", values))
        front = self._front()
        taken = front.data if start is None else start.settings.data
        counted = taken == "positives" or (taken == "auto" and all_positive(values))
        weight = None
        if sample_weight is not None:
            weight = "__weight__"
            frame = frame.with_columns(pl.Series(weight, np.asarray(sample_weight, np.float64)))
        data = Dataset.of(
            frame,
            query=frame.columns[0],
            target=frame.columns[1],
            rating="__y__",
            weight=weight,
            duplicates="count" if counted else "mean",
            **{name: getattr(self, name) for name in DATA},
        )
        decided = settled(front, data, start)
        if self._data == "auto":
            say(decided.found, shown=shows(None))
        self.recommender_ = trained(
            decided, data, validate=None, metric=None, start=start, progress=False, callbacks=()
        )
        warn_of_collapse(self.recommender_, chosen=decided.choose)
        self.n_features_in_ = 2

    def _front(self) -> FMF:
        """Return the settings; a parameter that is the default counts as not given."""
        values = {name: getattr(self, name) for name in names()}
        given = {name: value for name, value in values.items() if value != default_of(name)}
        return FMF(**{"data": self._data} | given)

    def _predict(self, X: Any) -> NDArray[Any]:
        """Predict pairs; an id that training has not seen adds nothing: offset and the other side's bias count."""
        check_is_fitted(self)
        frame = _frame(X)
        trained: Recommender = self.recommender_
        return trained.predict(frame[frame.columns[0]], frame[frame.columns[1]], unknown="features")


def _frame(X: Any) -> pl.DataFrame:
    if hasattr(X, "columns"):
        frame = read_table(X, "X")
    else:
        array = np.asarray(X)
        if array.ndim != 2 or array.shape[1] != 2:
            raise DataError(f"X: expected two columns, queries' and targets' ids, got shape {array.shape}")
        frame = read_table({"query": array[:, 0], "target": array[:, 1]}, "X")
    if frame.width != 2:
        raise DataError(f"X: expected two columns, queries' and targets' ids, got {frame.columns}")
    return frame


class FMFRegressor(RegressorMixin, _Pairs):  # type: ignore[misc]
    """Feature-based matrix factorization of ratings, or of positives only: y that are all one number above 0."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FMFRegressor:
        """Train on pairs of ids, an n × 2 array or a frame of two columns, and their ratings."""
        self._fit(X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> FMFRegressor:
        """Go on with further pairs, which may have new ids; ``queries`` and ``targets`` may describe new instances."""
        self._fit(X, y, sample_weight, getattr(self, "recommender_", None))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the ratings of pairs; of positives, scores to rank by."""
        return self._predict(X)


class FMFClassifier(ClassifierMixin, _Pairs):  # type: ignore[misc]
    """Feature-based matrix factorization for two classes."""

    _loss = "logistic"
    _data = "ratings"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FMFClassifier:
        """Train on pairs of ids and the class of each."""
        self.classes_ = np.unique(np.asarray(y))
        if len(self.classes_) != 2:
            raise DataError(f"y: expected two classes, got {len(self.classes_)}: {self.classes_[:5].tolist()}")
        self._fit(X, np.asarray(y) == self.classes_[1], sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> FMFClassifier:
        """Go on with further pairs, which may have new ids; the first call needs ``classes``, or both in ``y``."""
        start = getattr(self, "recommender_", None)
        if start is None:
            self.classes_ = np.unique(np.asarray(y if classes is None else classes))
        if len(self.classes_) != 2 or not np.isin(y, self.classes_).all():
            raise DataError(f"y: expected two classes, {self.classes_[:5].tolist()}, got {np.unique(y)[:5].tolist()}")
        self._fit(X, np.asarray(y) == self.classes_[1], sample_weight, start)
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of either class."""
        p = self._predict(X)
        return np.column_stack([1 - p, p])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likelier class."""
        likely = self._predict(X) > 0.5
        return np.asarray(self.classes_[likely.astype(int)])


for _estimator in (FMFRegressor, FMFClassifier):
    _defaults = {name: default_of(name) for name in names()} | {"loss": _estimator._loss} | DATA
    _estimator.__signature__ = inspect.Signature(  # what help() shows
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=d) for name, d in _defaults.items()]
    )

__all__ = ["FMFClassifier", "FMFRegressor"]
