"""What training returns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from fmfkit import _native, model_file
from fmfkit.checks import whole
from fmfkit.errors import ModelFileError
from fmfkit.interfaces import Loss, Reals
from fmfkit.problem import Features, Problem, features_of
from fmfkit.state import RoundRecord, State


@attrs.frozen(eq=False)
class Ranked:
    """The best targets of some queries, best first; those of equal score, offset apart, by row number."""

    targets: NDArray[np.int32]
    """(queries, k) row numbers; -1 where there are no more."""
    scores: Reals
    """(queries, k); -inf where there are no more."""


@attrs.frozen
class Contribution:
    """What one feature adds to a score."""

    block: str
    feature: int
    """Its column within the block."""
    value: float
    """Its value."""
    adds: float
    name: str = ""
    """What the feature is called, where that is known."""


@attrs.frozen
class Explanation:
    """A score taken apart: offset + the biases + the interaction, which is told twice, by the features of either side.

    ``score`` = ``offset`` + Σ ``query_bias`` + Σ ``target_bias`` + Σ ``by_query``; Σ ``by_query`` = Σ ``by_target``.
    Each list has its largest contributions first.
    """

    score: float
    offset: float
    query_bias: tuple[Contribution, ...]
    target_bias: tuple[Contribution, ...]
    by_query: tuple[Contribution, ...]
    by_target: tuple[Contribution, ...]

    def named(self, query: Mapping[str, Sequence[str]], target: Mapping[str, Sequence[str]]) -> Explanation:
        """Return it with the names of features, by block, of either side."""

        def told(
            contributions: tuple[Contribution, ...], names: Mapping[str, Sequence[str]]
        ) -> tuple[Contribution, ...]:
            return tuple(attrs.evolve(c, name=names[c.block][c.feature]) for c in contributions)

        return attrs.evolve(
            self, query_bias=told(self.query_bias, query), by_query=told(self.by_query, query),
            target_bias=told(self.target_bias, target), by_target=told(self.by_target, target),
        )  # fmt: skip

    def __str__(self) -> str:
        """Return the score and the five largest contributions of each part."""
        lines = [f"score {self.score:.4f}, of which the offset {self.offset:.4f}"]
        for part in ("query_bias", "target_bias", "by_query", "by_target"):
            listed = getattr(self, part)
            lines.append(f"{part.replace('_', ' ')} {sum(c.adds for c in listed):+.4f}")
            lines += [f"  {c.adds:+.4f}  {c.block}: {c.name or c.feature}" for c in listed[:5]]
        return "\n".join(lines)

    def blocks(self, part: str) -> dict[str, float]:
        """Return what each feature block adds in one of the lists."""
        sums: dict[str, float] = {}
        for contribution in getattr(self, part):
            sums[contribution.block] = sums.get(contribution.block, 0.0) + contribution.adds
        return sums


@attrs.frozen(eq=False, kw_only=True)
class Model:
    """A trained model.

    ``P`` is n × (rank + 1) where queries have a bias: one row per query feature, the bias's weights in the last column;
    without a query bias it is n × rank. ``Q`` is the same for targets. With U = X P and V = Z Q, the score of a pair is
    offset + the dot product of the first ``rank`` columns of U_i and V_j + the bias columns of both.
    """

    P: Reals
    Q: Reals
    rank: int
    offset: float
    loss: Loss
    history: tuple[RoundRecord, ...]
    """One record per round; the first is the starting point, round 0."""
    stopped: str | None
    """Why the fit ended before its last round, if it did."""
    state: State = attrs.field(repr=False)
    """Where the training stands: pass it, or the model, as ``fit(..., init=...)`` to go on."""
    X: Features = attrs.field(repr=False)
    """The features of the queries it was trained on."""
    Z: Features = attrs.field(repr=False)
    """The features of the targets."""
    _queries: Reals = attrs.field(repr=False)
    _targets: Reals = attrs.field(repr=False)

    @classmethod
    def of(
        cls, problem: Problem, state: State, history: tuple[RoundRecord, ...] = (), stopped: str | None = None
    ) -> Model:
        """Make the model that a state stands for."""
        embeddings = [
            _native.embed(problem, side, state.parameters(side.name), state.threads) for side in problem.sides
        ]
        return cls(
            P=state.P, Q=state.Q, rank=problem.rank, offset=problem.offset, loss=problem.loss, history=history,
            stopped=stopped, state=state, X=problem.X, Z=problem.Z, queries=embeddings[0], targets=embeddings[1],
        )  # fmt: skip

    def score(self, queries: ArrayLike, targets: ArrayLike) -> Reals:
        """Return the scores of pairs of the problem's queries and targets, by their row numbers; they broadcast."""
        i, j = np.broadcast_arrays(
            _row_numbers("queries", queries, len(self._queries)), _row_numbers("targets", targets, len(self._targets))
        )
        flat = _native.pair_scores(
            np.ascontiguousarray(i.ravel()), np.ascontiguousarray(j.ravel()), self._queries, self._targets, self.offset,
            self.state.threads,
        )  # fmt: skip
        return flat.reshape(i.shape)

    def predict(self, queries: ArrayLike, targets: ArrayLike) -> Reals:
        """Return what the loss predicts for the pairs: their scores through its link."""
        return self.loss.link(self.score(queries, targets))

    def save(
        self, path: str | os.PathLike[str], *, more: Mapping[str, Any] | None = None,
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:  # fmt: skip
        """Write the model, with its features and history, to a safetensors file.

        A loss that no plugin offers is left out: ``load`` must then be given it. Where a composed solver stands is left
        out too: a fit that goes on from the file begins with its first stage. ``more`` (JSON) and ``arrays`` are kept
        for ``load_with``.
        """
        about: dict[str, Any] = {
            "rank": self.rank, "offset": self.offset, "stopped": self.stopped,
            "loss": model_file.loss_to_json(self.loss),
            "history": [model_file.record_to_json(record) for record in self.history],
            "seed": self.state.seed, "round": self.state.round, "more": dict(more or {}),
        }  # fmt: skip
        written: dict[str, Any] = {"P": self.P, "Q": self.Q}
        for name, features in (("X", self.X), ("Z", self.Z)):
            parts, about[name] = model_file.features_to_arrays(name, features)
            written |= parts
        model_file.write(path, written | {f"more.{name}": array for name, array in (arrays or {}).items()}, about)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, loss: Loss | None = None, threads: int | None = None) -> Model:
        """Read a model that ``save`` wrote; nothing in the file is run. ``loss`` is for one that no plugin offers."""
        return cls.load_with(path, loss=loss, threads=threads)[0]

    @classmethod
    def load_with(
        cls, path: str | os.PathLike[str], *, loss: Loss | None = None, threads: int | None = None
    ) -> tuple[Model, dict[str, Any], dict[str, NDArray[Any]]]:
        """Read a model, and what else ``save`` was given."""
        arrays, about = model_file.read(path)
        if about["loss"] is None and loss is None:
            raise ModelFileError(f"{path}: its loss is no plugin's; give it: Model.load(..., loss=...)")
        model_file.check(arrays, about, path)
        P, Q = arrays["P"], arrays["Q"]
        features = [
            features_of(
                name, model_file.blocks_from_arrays(name, arrays, about[name]), len(arrays[f"{name}.ptr"]) - 1, P.dtype
            )
            for name in ("X", "Z")
        ]
        state = State(
            P=P, Q=Q, seed=about["seed"], threads=_native.resolve_threads(threads), round=about["round"]
        )  # fmt: skip
        biases = [W.shape[1] > about["rank"] for W in (P, Q)]
        embeddings = [
            _native.embed_features(part, W, about["rank"], biases, n, state.threads)
            for n, (part, W) in enumerate(zip(features, (P, Q), strict=True))
        ]
        model = cls(
            P=P, Q=Q, rank=about["rank"], offset=about["offset"],
            loss=loss or model_file.loss_from_json(about["loss"], path),
            history=tuple(model_file.record_from_json(record) for record in about["history"]), stopped=about["stopped"],
            state=state, X=features[0], Z=features[1], queries=embeddings[0], targets=embeddings[1],
        )  # fmt: skip
        extra = {name.removeprefix("more."): array for name, array in arrays.items() if name.startswith("more.")}
        return model, about["more"], extra

    @property
    def query_embedding(self) -> Reals:
        """U, one row of ``rank`` numbers per query, without the bias."""
        return self._queries[:, : self.rank]

    @property
    def target_embedding(self) -> Reals:
        """V, one row of ``rank`` numbers per target, without the bias."""
        return self._targets[:, : self.rank]

    def recommend(
        self, queries: ArrayLike | None = None, k: int = 10, *, features: Any = None, exclude: Any = None,
        candidates: ArrayLike | None = None,
    ) -> Ranked:  # fmt: skip
        """Return the ``k`` targets with the highest scores for each of some queries.

        Args:
            queries: row numbers; None means all.
            k: how many, at most.
            features: for queries that training has not seen, instead of ``queries``: a matrix with a row for each and
                the columns of X, or a mapping of some of its blocks to such matrices.
            exclude: sparse matrix; what is stored in it is left out. Its rows are those of the problem, or of
                ``features``; targets are its columns. The training pairs, to recommend only what is new.
            candidates: row numbers of the only targets to choose from; None means all.
        """
        k = whole("k", k, least=1)
        if features is not None and queries is not None:
            raise ValueError("recommend: give queries or features, not both")
        if features is not None:
            own = self._embed_new("X", features)
            rows = np.arange(len(own), dtype=np.int32)
        else:
            every = np.arange(len(self._queries), dtype=np.int32)
            rows = every if queries is None else _flat_rows("queries", queries, len(self._queries))
            own = self._queries[rows]
        chosen = None if candidates is None else np.unique(_flat_rows("candidates", candidates, len(self._targets)))
        return self._top(own, rows, k, _excluded(exclude, len(self._targets)), chosen)

    def _top(
        self, own: Reals, rows: NDArray[np.int32], k: int, exclude: sp.csr_array | None,
        candidates: NDArray[np.int32] | None,
    ) -> Ranked:  # fmt: skip
        if exclude is not None and rows.size and exclude.shape[0] <= int(rows.max()):
            raise ValueError(f"exclude: {exclude.shape[0]} rows for query {int(rows.max())}")
        left_out = None if exclude is None else exclude[rows]
        other = self._targets
        if candidates is not None:
            other = other[candidates]
            left_out = None if left_out is None else left_out[:, candidates]
        targets, scores = _native.top(own, other, self.offset, min(k, len(other)), left_out, self.state.threads)
        if candidates is not None:
            targets = np.where(targets < 0, -1, np.append(candidates, -1)[targets]).astype(np.int32)
        return Ranked(targets, scores)

    def similar(self, targets: ArrayLike | None = None, k: int = 10, *, queries: ArrayLike | None = None) -> Ranked:
        """Return, for some targets or queries, the ``k`` others of their side of the largest cosine."""
        k = whole("k", k, least=1)
        if (targets is None) == (queries is None):
            raise ValueError("similar: give targets or queries")
        name, given = ("targets", targets) if queries is None else ("queries", queries)
        embedding = self.target_embedding if queries is None else self.query_embedding
        rows = _flat_rows(name, given, len(embedding))
        norm = np.linalg.norm(embedding, axis=1, keepdims=True)
        unit = _native.padded(embedding / np.where(norm > 0, norm, 1))
        itself = sp.csr_array((np.ones(len(rows)), rows, np.arange(len(rows) + 1)), shape=(len(rows), len(unit)))
        return Ranked(*_native.top(unit[rows], unit, 0.0, min(k, len(unit)), itself, self.state.threads))

    def _embed_new(self, name: Literal["X", "Z"], given: Any) -> Reals:
        """Return the embedding of instances given by features alone."""
        features, W = (self.X, self.P) if name == "X" else (self.Z, self.Q)
        matrix = features.matrix_of(given, name)
        new = features_of(name, {"features": matrix}, matrix.shape[0], W.dtype)
        biases = [W.shape[1] > self.rank for W in (self.P, self.Q)]
        return _native.embed_features(new, W, self.rank, biases, name == "Z", self.state.threads)

    def explain(self, query: int, target: int) -> Explanation:
        """Return what each feature adds to the score of a pair."""
        i, j = (int(_row_numbers(name, [row], len(table))[0]) for name, row, table in (
            ("query", query, self._queries), ("target", target, self._targets)))  # fmt: skip
        u, v = self._queries[i].astype(np.float64), self._targets[j].astype(np.float64)
        rank = self.rank
        return Explanation(
            score=float(self.score([i], [j])[0]),
            offset=self.offset,
            query_bias=_contributions(self.X, i, lambda columns: self.P[columns, rank:].sum(axis=1)),
            target_bias=_contributions(self.Z, j, lambda columns: self.Q[columns, rank:].sum(axis=1)),
            by_query=_contributions(self.X, i, lambda columns: self.P[columns, :rank] @ v[:rank]),
            by_target=_contributions(self.Z, j, lambda columns: self.Q[columns, :rank] @ u[:rank]),
        )


def _contributions(
    features: Features, row: int, weights_of: Callable[[NDArray[np.int32]], Any]
) -> tuple[Contribution, ...]:
    """Return what the features of a row add, each its value times a weight, the largest first."""
    begin, end = features.row_ptr[row : row + 2]
    columns, values = features.row_index[begin:end], features.values_by_row(row, row + 1)
    adds = values.astype(np.float64) * weights_of(columns)
    found = []
    for n in np.argsort(-np.abs(adds), kind="stable"):
        block, part = next((b, part) for b, part in features.blocks.items() if part.start <= columns[n] < part.stop)
        found.append(Contribution(block, int(columns[n] - part.start), float(values[n]), float(adds[n])))
    return tuple(found)


def _excluded(given: Any, targets: int) -> sp.csr_array | None:
    if given is None:
        return None
    if not sp.issparse(given) or given.ndim != 2 or given.shape[1] != targets:
        raise ValueError(
            f"exclude: expected a sparse matrix with {targets} columns, got {type(given).__name__} "
            f"of shape {getattr(given, 'shape', None)}"
        )
    matrix = sp.csr_array(given, copy=True)
    matrix.sum_duplicates()
    return matrix


def _flat_rows(name: str, given: Any, rows: int) -> NDArray[np.int32]:
    """Return one or several row numbers as a flat array."""
    array = np.atleast_1d(_row_numbers(name, given, rows))
    if array.ndim > 1:
        raise ValueError(f"{name}: expected a flat list of row numbers, got shape {array.shape}")
    return array


def _row_numbers(name: str, given: Any, rows: int) -> NDArray[np.int32]:
    array = np.asarray(given)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"{name}: expected row numbers, got dtype {array.dtype}")
    if array.size and (array.min() < 0 or array.max() >= rows):
        raise ValueError(f"{name}: row numbers run from {array.min()} to {array.max()}, expected 0 to {rows - 1}")
    return array.astype(np.int32)


__all__ = ["Contribution", "Explanation", "Model", "Ranked"]
