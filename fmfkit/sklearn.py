"""Estimators for scikit-learn: pairs of ids in X, ratings in y; tables of attributes are parameters.

They need scikit-learn: ``python -m pip install fmfkit[sklearn]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fmfkit.data.dataset import Dataset
from fmfkit.data.positives import DataKind, all_positive
from fmfkit.data.tables import read_table, require
from fmfkit.errors import DataError
from fmfkit.recommend.fmf import FMF, say, shows, trained, warn_of_collapse
from fmfkit.recommend.positives import settled
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.settings import default_of, documented, names

DATA = {"queries": None, "targets": None, "history": False}
"""What describes the data, as ``Dataset.of`` takes it, and the defaults."""
OWN = {**DATA, "columns": None}
"""The parameters that are no settings, and the defaults."""
HELP = {
    "queries": "What describes the queries, as for ``Dataset.of``.",
    "targets": "What describes the targets.",
    "history": "Whether queries have the targets that they are paired with as features (SVD++).",
    "columns": "The two columns of X with the queries' and the targets' ids, by place or name; None: X has no others.",
}
Y, WEIGHT = "__y__", "__weight__"
"""Columns that no X has."""


class _Pairs(BaseEstimator):  # type: ignore[misc]
    """What both estimators share."""

    _loss = "square"
    _data: DataKind = "auto"
    """What the data is taken as, unless a parameter says so."""

    def __init__(self, **parameters: Any) -> None:
        """Keep the parameters, as scikit-learn wants it."""
        known = {name: default_of(name) for name in names()} | {"loss": self._loss} | OWN
        for name in parameters:
            if name not in known:
                raise TypeError(f"{type(self).__name__}: there is no parameter {name!r}; there are {sorted(known)}")
        for name, default in known.items():
            setattr(self, name, parameters.get(name, default))

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*names(), *OWN])

    def __sklearn_tags__(self) -> Tags:
        """Say what it takes: pairs of ids, whole numbers or text."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.target_tags.required = True
        return tags

    def _fit(self, X: Any, y: NDArray[Any], sample_weight: Any, start: Recommender | None = None) -> None:
        """Train on pairs, their ratings, and their weights; pairs of weight 0 are left out."""
        frame = self._pairs(X, reset=start is None).with_columns(pl.Series(Y, y))
        weight = None
        if sample_weight is not None:
            weight, weights = WEIGHT, _weights(sample_weight, y)
            frame = frame.with_columns(pl.Series(WEIGHT, weights)).filter(weights != 0)
        front = self._front()
        taken = front.data if start is None else start.settings.data
        counted = taken == "positives" or (taken == "auto" and all_positive(frame[Y].to_numpy()))
        data = Dataset.of(
            frame,
            query=frame.columns[0],
            target=frame.columns[1],
            rating=Y,
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

    def _front(self) -> FMF:
        """Return the settings; a parameter that is the default counts as not given."""
        values = {name: getattr(self, name) for name in names()}
        given = {name: value for name, value in values.items() if value != default_of(name)}
        return FMF(**{"data": self._data} | given)

    def _predict(self, X: Any) -> NDArray[Any]:
        """Predict pairs; an id that training has not seen adds nothing: offset and the other side's bias count."""
        check_is_fitted(self, "recommender_")
        frame = self._pairs(X, reset=False)
        trained: Recommender = self.recommender_
        return trained.predict(frame[frame.columns[0]], frame[frame.columns[1]], unknown="features")

    def _pairs(self, X: Any, *, reset: bool) -> pl.DataFrame:
        """Return the two columns of X with ids; ``reset`` notes its columns, else they must be as noted."""
        columns = (0, 1) if self.columns is None else tuple(self.columns)
        if len(columns) != 2:
            raise ValueError(f"columns: expected two, of the queries' and the targets' ids, got {self.columns!r}")
        if not hasattr(X, "columns"):
            X = check_array(X, dtype=None, ensure_min_features=2 if reset else 0, estimator=self, input_name="X")
        validate_data(self, X, skip_check_array=True, reset=reset)
        frame = read_table(X if hasattr(X, "columns") else {str(n): X[:, n] for n in range(X.shape[1])}, "X")
        if self.columns is None and frame.width != 2:
            raise DataError(
                f"X: expected two columns, queries' and targets' ids, got {frame.width}; columns=(0, 1) takes the "
                "first two of them"
            )
        chosen = [frame.columns[one] if isinstance(one, int) and one < frame.width else str(one) for one in columns]
        require(frame, dict(zip(("query", "target"), chosen, strict=True)), "X")
        return frame.select(chosen)


def _weights(given: Any, y: NDArray[Any]) -> NDArray[np.float64]:
    """Return a weight for each pair, of which some are above 0."""
    weights = np.asarray(given, np.float64)
    weights = np.full(len(y), weights) if weights.ndim == 0 else weights
    if weights.ndim != 1:
        raise ValueError(f"sample_weight: expected one weight for each pair, got shape {weights.shape}")
    check_consistent_length(y, weights)
    if not (weights >= 0).all() or not np.isfinite(weights).all():
        raise ValueError("sample_weight: expected finite numbers of at least 0")
    if not weights.any():
        raise ValueError("sample_weight: all weights are zero, so that no pair is left to learn from")
    return weights


class FMFRegressor(RegressorMixin, _Pairs):  # type: ignore[misc]
    """Feature-based matrix factorization of ratings, or of positives only: y that are all one number above 0."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FMFRegressor:
        """Train on pairs of ids, an n × 2 array or a frame of two columns, and their ratings."""
        self._fit(X, self._ratings(X, y), sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> FMFRegressor:
        """Go on with further pairs, which may have new ids; ``queries`` and ``targets`` may describe new instances."""
        self._fit(X, self._ratings(X, y), sample_weight, getattr(self, "recommender_", None))
        return self

    def _ratings(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Return a finite rating for each pair."""
        ratings = column_or_1d(
            check_array(_given(self, y), ensure_2d=False, dtype=np.float64, input_name="y"), warn=True
        )
        check_consistent_length(X, ratings)
        return np.asarray(ratings)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the ratings of pairs; of positives, scores to rank by."""
        return self._predict(X)


class FMFClassifier(ClassifierMixin, _Pairs):  # type: ignore[misc]
    """Feature-based matrix factorization for two classes."""

    _loss = "logistic"
    _data = "ratings"

    def __sklearn_tags__(self) -> Tags:
        """Say that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FMFClassifier:
        """Train on pairs of ids and the class of each."""
        labels = self._labels(X, y)
        counted = labels if sample_weight is None else labels[_weights(sample_weight, labels) != 0]
        classes = _two_classes(counted)
        self._fit(X, labels == classes[1], sample_weight)
        self.classes_ = classes
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> FMFClassifier:
        """Go on with further pairs, which may have new ids; the first call needs ``classes``, or both in ``y``."""
        start, labels = getattr(self, "recommender_", None), self._labels(X, y)
        two = _two_classes(labels if classes is None else np.asarray(classes)) if start is None else self.classes_
        if not np.isin(labels, two).all():
            raise DataError(f"y: expected two classes, {two.tolist()}, got {np.unique(labels)[:5].tolist()}")
        self._fit(X, labels == two[1], sample_weight, start)
        self.classes_ = two
        return self

    def _labels(self, X: Any, y: Any) -> NDArray[Any]:
        """Return the class of each pair."""
        labels = column_or_1d(check_array(_given(self, y), ensure_2d=False, dtype=None, input_name="y"), warn=True)
        check_classification_targets(labels)
        check_consistent_length(X, labels)
        return np.asarray(labels)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of either class."""
        p = self._predict(X)
        return np.column_stack([1 - p, p])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likelier class."""
        likely = self._predict(X) > 0.5
        return np.asarray(self.classes_[likely.astype(int)])


def _given(estimator: Any, y: Any) -> Any:
    """Return y, which must be given."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    return y


def _two_classes(labels: NDArray[Any]) -> NDArray[Any]:
    classes = np.unique(labels)
    if len(classes) > 2:
        raise DataError(
            "y: Only binary classification is supported. Expected two classes, got "
            f"{len(classes)}: {classes[:5].tolist()}"
        )
    if len(classes) < 2:
        raise DataError(f"y: expected two classes, got 1 class: {classes.tolist()}")
    return classes


for _estimator in (FMFRegressor, FMFClassifier):
    documented(_estimator, {name: (default, HELP[name]) for name, default in OWN.items()}, loss=_estimator._loss)

__all__ = ["FMFClassifier", "FMFRegressor"]
