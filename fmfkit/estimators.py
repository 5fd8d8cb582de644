"""Estimators for scikit-learn: pairs of ids in X, scores in y; tables of attributes are parameters.

They need scikit-learn, which fmfkit does not install: ``python -m pip install scikit-learn``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fmfkit.data import Dataset
from fmfkit.data.tables import read_table
from fmfkit.errors import DataError
from fmfkit.front import FMF
from fmfkit.recommender import Recommender


class _Pairs(BaseEstimator):  # type: ignore[misc]
    """What both estimators share."""

    _loss: str

    def __init__(
        self, rank: int = 32, l2: float = 0.5, bias_l2: float = 5.0, rounds: int = 30, seed: int = 0,
        threads: int | None = None, queries: Any = None, targets: Any = None, query_blocks: Any = "guess",
        target_blocks: Any = "guess", implicit: bool = False,
    ) -> None:  # fmt: skip
        """Keep the parameters, as scikit-learn wants it."""
        self.rank = rank
        self.l2 = l2
        self.bias_l2 = bias_l2
        self.rounds = rounds
        self.seed = seed
        self.threads = threads
        self.queries = queries
        self.targets = targets
        self.query_blocks = query_blocks
        self.target_blocks = target_blocks
        self.implicit = implicit

    def _fit(self, X: Any, y: Any, sample_weight: Any, start: Recommender | None = None) -> None:
        frame = _frame(X).with_columns(pl.Series("__score__", np.asarray(y, np.float64)))
        weight = None
        if sample_weight is not None:
            weight = "__weight__"
            frame = frame.with_columns(pl.Series(weight, np.asarray(sample_weight, np.float64)))
        data = Dataset.of(
            frame, query=frame.columns[0], target=frame.columns[1], score="__score__", weight=weight,
            queries=self.queries, targets=self.targets, query_blocks=self.query_blocks,
            target_blocks=self.target_blocks, implicit=self.implicit, duplicates="mean",
        )  # fmt: skip
        front = FMF(
            rank=self.rank, l2=self.l2, bias_l2=self.bias_l2, rounds=self.rounds, seed=self.seed, threads=self.threads,
            loss=self._loss,
        )  # fmt: skip
        self.recommender_ = front.fit(data, start=start, progress=False)
        self.n_features_in_ = 2

    def _predict(self, X: Any) -> NDArray[Any]:
        """Predict pairs; an id that training has not seen adds nothing: offset and the other side's bias count."""
        check_is_fitted(self)
        frame = _frame(X)
        trained: Recommender = self.recommender_
        i = trained.encoder.queries.ids.rows(frame[frame.columns[0]], "queries")
        j = trained.encoder.targets.ids.rows(frame[frame.columns[1]], "targets")
        model = trained.model
        score = np.full(len(i), model.offset)
        known = (i >= 0) & (j >= 0)
        score[known] = model.score(i[known], j[known])
        biases = [W[:, model.rank :].sum(axis=1) for W in (model.P, model.Q)]
        for rows, other, features, bias in ((i, j, model.X, biases[0]), (j, i, model.Z, biases[1])):
            alone = (rows >= 0) & (other < 0)
            if alone.any():
                score[alone] += _row_sums(features, bias)[rows[alone]]
        return np.asarray(model.loss.link(score))


def _row_sums(features: Any, weight: NDArray[Any]) -> NDArray[np.float64]:
    rows = np.repeat(np.arange(features.rows), np.diff(features.row_ptr))
    values = (features.values_by_row() * weight[features.row_index]).astype(np.float64)
    return np.bincount(rows, weights=values, minlength=features.rows).astype(np.float64)


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
    """Feature-based matrix factorization with the square loss."""

    _loss = "square"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FMFRegressor:
        """Train on pairs of ids, an n × 2 array or a frame of two columns, and their scores."""
        self._fit(X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> FMFRegressor:
        """Go on with further pairs, which may have new ids; ``queries`` and ``targets`` may describe new instances."""
        self._fit(X, y, sample_weight, getattr(self, "recommender_", None))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the scores of pairs."""
        return self._predict(X)


class FMFClassifier(ClassifierMixin, _Pairs):  # type: ignore[misc]
    """Feature-based matrix factorization with the logistic loss, for two classes."""

    _loss = "logistic"

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
        """Return the chance of either class."""
        p = self._predict(X)
        return np.column_stack([1 - p, p])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likelier class."""
        return np.asarray(self.classes_[(self._predict(X) > 0.5).astype(int)])


__all__ = ["FMFClassifier", "FMFRegressor"]
