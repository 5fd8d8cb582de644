"""Linear models over all cells, by dense algebra: EASE from targets to targets, ridge regression from features."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import attrs
import numpy as np
import scipy.linalg
import scipy.sparse as sp
from fmfkit_bench.peers.interface import Knobs, Note, Number, Peer, Rows, Settings, Task, best_of
from numpy.typing import NDArray

MOST_COLUMNS = 20_000
"""What is inverted is a dense matrix of so many rows and columns at most: one takes 3 GB."""
QUERIES_AT_ONCE = 512


@attrs.frozen(eq=False)
class Linear:
    """score = rows @ weights."""

    rows: sp.csr_matrix
    """(queries, columns)"""
    weights: NDArray[Any]
    """(columns, targets)"""

    def score(self, query: Rows, target: Rows) -> NDArray[Any]:
        """Return the scores of pairs."""
        score = np.empty(len(query))
        order = np.argsort(query, kind="stable")
        different, begin = np.unique(query[order], return_index=True)
        for some in np.array_split(np.arange(len(different)), -(-len(different) // QUERIES_AT_ONCE)):
            at = order[begin[some[0]] : begin[some[-1] + 1] if some[-1] + 1 < len(begin) else len(order)]
            table = self.rows[different[some]] @ self.weights
            score[at] = table[np.searchsorted(different[some], query[at]), target[at]]
        return score

    def top(self, queries: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
        """Return the best targets, some queries at a time."""
        parts = np.array_split(queries, -(-len(queries) // QUERIES_AT_ONCE))
        return np.concatenate([best_of(self.rows[part] @ self.weights, k, known[part]) for part in parts])


class Dense(Peer):
    """Least squares with a penalty."""

    rates = False
    columns: ClassVar[str]
    """What the columns are that are regressed on."""

    def knobs(self, task: Task) -> Knobs:
        """Return the penalty."""
        return {"penalty": Number(100.0, stride=3.0)}

    @abstractmethod
    def inputs(self, task: Task) -> sp.csr_matrix | None:
        """Return what is regressed on, a row for each query; None where there is nothing."""

    @abstractmethod
    def weights(self, inverse: NDArray[Any], rows: sp.csr_matrix, task: Task) -> NDArray[Any]:
        """Return the weights; ``inverse`` is that of rows' rows plus the penalty."""

    def reason_to_skip(self, task: Task) -> str | None:
        """Return why it cannot take part, if so."""
        if reason := super().reason_to_skip(task):
            return reason
        rows = self.inputs(task)
        if rows is None:
            return f"there are no {self.columns}"
        if rows.shape[1] > MOST_COLUMNS:
            return f"{rows.shape[1]} {self.columns}, more than {MOST_COLUMNS}"
        return None

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Solve."""
        rows = self.inputs(task)
        assert rows is not None
        gram = np.asarray((rows.T @ rows).todense(), np.float64)
        gram[np.diag_indices_from(gram)] += max(settings["penalty"], 1e-6)
        factor, info = scipy.linalg.lapack.dpotrf(gram.T, lower=1, overwrite_a=1)
        if info:
            raise ValueError(f"penalty: {settings['penalty']:g} is too small")
        inverse, _ = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
        model = Linear(rows, self.weights(inverse, rows, task))
        note(lambda: model)


class EASE(Dense):
    """Steck's EASE: a query's targets predict its other targets."""

    columns = "targets"

    def inputs(self, task: Task) -> sp.csr_matrix:
        """Return the training pairs."""
        return sp.csr_matrix(task.matrix, dtype=np.float64)

    def weights(self, inverse: NDArray[Any], rows: sp.csr_matrix, task: Task) -> NDArray[Any]:
        """Return -P_jk / P_kk, with zeros on the diagonal."""
        whole = np.tril(inverse)
        whole += np.tril(inverse, -1).T
        whole /= -np.diag(whole)
        whole[np.diag_indices_from(whole)] = 0
        return whole.astype(np.float32)


class Ridge(Dense):
    """Ridge regression of every target on the queries' features, all cells counted alike."""

    takes_features = True
    columns = "features of queries"

    def inputs(self, task: Task) -> sp.csr_matrix | None:
        """Return the features, without ids and history."""
        features = task.features(0, identity=False, history=False)
        return None if features is None else sp.csr_matrix(features, dtype=np.float64)

    def weights(self, inverse: NDArray[Any], rows: sp.csr_matrix, task: Task) -> NDArray[Any]:
        """Return inverse · rows' Y."""
        right = np.asarray((rows.T @ sp.csr_matrix(task.matrix, dtype=np.float64)).todense())
        return np.asarray(scipy.linalg.blas.dsymm(1.0, inverse, right, lower=1), np.float32)


__all__ = ["EASE", "Linear", "Ridge"]
