"""Queries that are new, or have new pairs: their features and embeddings, with all else of the model as it is."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.blocks import Instances
from fmfkit.data.cells import attributes
from fmfkit.data.encoder import history_features
from fmfkit.data.ids import Ids, as_text
from fmfkit.data.roles import usable
from fmfkit.data.sampling import draw_pairs
from fmfkit.data.sides import HISTORY, INDICATOR
from fmfkit.data.tables import places, read_table
from fmfkit.errors import DataError
from fmfkit.problem.features import FeatureRows
from fmfkit.recommend.asking import as_column
from fmfkit.typing import Reals

if TYPE_CHECKING:
    from fmfkit.recommend.recommender import Recommender


@attrs.frozen(eq=False)
class Known:
    """What some queries are paired with: y and weights, a row for each query."""

    y: sp.csr_array
    weight: sp.csr_array
    """It stores what ``y`` stores."""

    @classmethod
    def of(cls, rows: Any, targets: Any, y: Any, weight: Any, shape: tuple[int, int], *, add: bool) -> Known:
        """Sort pairs by row and target; of a pair that occurs twice the last counts, or with ``add`` weights do."""
        keys = np.asarray(rows, np.int64) * shape[1] + np.asarray(targets, np.int64)
        order = np.argsort(keys, kind="stable")
        last = np.append(keys[order][1:] != keys[order][:-1], True)[: len(order)]
        each = np.asarray(weight, np.float64)[order]
        weights = np.bincount(np.cumsum(last) - last, weights=each) if add and len(order) else each[last]
        kept = order[last]
        index = (keys[kept] % shape[1]).astype(np.int32)
        ptr = np.searchsorted(keys[kept] // shape[1], np.arange(shape[0] + 1))
        made = [
            sp.csr_array((values, index, ptr), shape=shape) for values in (np.asarray(y, np.float64)[kept], weights)
        ]
        return cls(*made)

    def only(self, rows: NDArray[np.integer[Any]]) -> Known:
        """Return those of some queries; none for -1."""
        some = [sp.vstack([one, sp.csr_array((1, one.shape[1]))], format="csr")[rows] for one in (self.y, self.weight)]
        return Known(*map(sp.csr_array, some))

    @property
    def ones(self) -> sp.csr_array:
        """What is stored, as ones."""
        return sp.csr_array((np.ones(self.y.nnz, np.float32), self.y.indices, self.y.indptr), shape=self.y.shape)


def read_pairs(of: Recommender, given: Any, names: pl.Series | None, first: str) -> tuple[Known, pl.Series]:
    """Return pairs of queries, and what an answer calls these: ``names``, or as the pairs do, or 0.

    ``given`` is a table, or a list of targets' ids that are all paired with one query. Its columns are called as those
    of the training pairs, or the queries as ``first``; else queries come first and targets second.
    """
    if isinstance(given, list | tuple | np.ndarray | pl.Series):
        given = pl.DataFrame({str(of.columns["target"]): given})
    frame = read_table(given, "pairs", bad_rows=None)
    query, target = _ids(of, frame, first)
    targets = of.encoder.targets.ids.known_rows(frame[target], "pairs, targets")
    if query is None:
        if names is not None and len(names) > 1:
            raise DataError(
                f"pairs: expected a column that says whose they are, of {len(names)} queries; got {frame.columns}"
            )
        names = pl.Series([0]) if names is None else names
        rows = np.zeros(frame.height, np.int32)
    else:
        names = as_column(frame[query]).unique(maintain_order=True) if names is None else names
        if names.n_unique() < len(names):
            raise DataError("queries: the first column must have a different value in each row, to be found by pairs")
        rows = Ids.of(as_text(names), what="queries").known_rows(as_text(frame[query]), "pairs, queries")
    y, weight = _values(of, frame, given)
    return Known.of(rows, targets, y, weight, (len(names), of.model.Z.rows), add=of.positives), names


def _ids(of: Recommender, frame: pl.DataFrame, first: str) -> tuple[str | None, str]:
    """Return the columns of the queries, None if there is none, and of the targets."""
    names = of.columns
    named = [name for name in (names.get("query"), first) if name in frame.columns]
    if names.get("target") in frame.columns:
        target = str(names["target"])
        other = {target, names.get("rating"), names.get("weight"), names.get("time")}
        return next((name for name in [*named, frame.columns[0]] if name not in other), None), target
    if frame.width < 2:
        raise DataError(f"pairs: expected a column {names.get('target')!r} of targets' ids, got {frame.columns}")
    return frame.columns[0], frame.columns[1]


def _values(of: Recommender, frame: pl.DataFrame, source: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return y and weights of pairs; without ratings they count as liked, which is the highest y of training."""
    rating, weight = of.columns.get("rating"), of.columns.get("weight")
    roles = {
        "rating": None if of.positives or rating not in frame.columns else rating,
        "weight": weight if weight in frame.columns else None,
        "time": None,
    }
    ones = np.ones(frame.height)
    y = ones if of.positives else ones * of.range_of_y[1]
    if not frame.height:
        return ones, ones
    rated = of.positives and rating in frame.columns
    if rated and bool((usable(frame, roles | {"rating": rating}, None, source)[str(rating)] <= 0).any()):
        raise DataError(
            f"pairs: some values of {rating!r} are 0 or less; the model takes all pairs as positives: leave them out"
        )
    if any(roles.values()):
        frame = usable(frame, roles, None, source)
    if roles["rating"] is not None:
        y = frame[str(rating)].to_numpy()
    return y, ones if roles["weight"] is None else frame[str(weight)].to_numpy()


def new_queries(
    of: Recommender, table: Any, pairs: Any, extra: Mapping[str, Any] | None
) -> tuple[pl.Series, Reals, Known | None]:
    """Return what new queries are called, their embeddings, and what they are paired with; see ``recommend_new``."""
    side, frame, names, matrices = of.encoder.queries, None, None, {}
    if table is not None:
        frame = read_table(table, "queries")
        frame = attributes(frame, frame.columns[:1], "queries", functools.partial(places, table))
        names = as_text(frame[frame.columns[0]])
        matrices = side.matrices(Instances(frame, names, extra or {}))
    elif pairs is None:
        raise ValueError("recommend_new: give a table of queries, or pairs, or both")
    known = None
    if pairs is not None:
        known, names = read_pairs(of, pairs, names, side.key if frame is None else frame.columns[0])
        if of.encoder.history:
            matrices[HISTORY] = history_features(known.ones)
    if known is None and not matrices:
        raise DataError(
            "recommend_new: the model has no features of queries but their ids; train with a table of them, or give "
            "pairs="
        )
    assert names is not None
    mine = (
        of.model.embedded("query", features=matrices) if known is None else embedded_with(of, known, matrices or None)
    )
    if frame is None:
        return names.alias("query"), mine, known
    named = frame.columns[0] in (side.key, of.columns.get("query"))
    return frame[frame.columns[0]] if named else pl.Series(range(frame.height)), mine, known


def with_new_pairs(of: Recommender, pairs: Any, rows: NDArray[np.int32], names: pl.Series) -> tuple[Reals, Known]:
    """Return the embeddings of some queries, rows of -1 being new ones, and all pairs of theirs: those that came after
    training, which change embeddings, and those of training."""
    known = Known.of([], [], [], [], (len(rows), of.model.Z.rows), add=False)
    if pairs is not None:
        given, whose = read_pairs(of, pairs, None, of.encoder.queries.key)
        known = given.only(Ids.of(as_text(whose), what="queries").rows(as_text(names)))
    changed = np.flatnonzero(np.diff(known.y.indptr))
    known, mine = with_training_pairs(of, rows, known), of.model.embedded("query", rows)
    if len(changed):
        some = known.only(changed)
        mine[changed] = embedded_with(of, some, shared_features(of, rows[changed], some))
    return mine, known


def embedded_with(of: Recommender, known: Known, features: Mapping[str, sp.csr_array] | sp.csr_array | None) -> Reals:
    """Return the embeddings of queries by their features and their pairs, history among the features."""
    model = of.model
    if of.encoder.history and (model.own is None or model.own.query is None):
        return model.embedded("query", features=features)  # pairs are features, and nothing more
    known = _weighed(of, _with_negatives(of, known), np.diff(known.y.indptr))
    return model.fold_in(known.y, weight=known.weight, features=features)


def _with_negatives(of: Recommender, known: Known) -> Known:
    """Return pairs with negatives drawn as training draws them."""
    settings, shape = of.settings, known.y.shape
    if not settings.negatives:
        return known
    counts = np.diff(known.y.indptr)
    row = np.repeat(np.arange(shape[0]), counts)
    taken = row * shape[1] + known.y.indices
    often = of.balance.often if settings.negatives_by == "popularity" else np.ones(shape[1])
    drawn = draw_pairs(np.ceil(settings.negatives * counts), often, taken, np.random.default_rng(settings.seed))
    more, targets = np.divmod(drawn, shape[1])
    return Known.of(
        np.append(row, more),
        np.append(known.y.indices, targets),
        np.append(known.y.data, np.zeros(len(drawn))),
        np.append(known.weight.data, np.ones(len(drawn))),
        shape,
        add=False,
    )


def _weighed(of: Recommender, known: Known, given: NDArray[Any]) -> Known:
    """Return pairs with weights against how often instances occur, as training weighs them; ``given`` is how many pairs
    each query has, drawn ones apart."""
    power = of.settings.balance
    if not power:
        return known
    counts = np.repeat(given, np.diff(known.y.indptr))
    factor = of.balance.factor * (counts * np.maximum(of.balance.often[known.y.indices], 1.0)) ** -power
    return attrs.evolve(
        known, weight=sp.csr_array((known.weight.data * factor, *_places(known.y)), shape=known.y.shape)
    )


def _places(matrix: sp.csr_array) -> tuple[Any, Any]:
    return matrix.indices, matrix.indptr


@attrs.frozen(eq=False)
class Balance:
    """How weights against how often instances occur were made in training."""

    often: NDArray[np.float64]
    """How often each target occurs."""
    factor: float
    """What keeps the weights the same on average."""

    @classmethod
    def of(cls, seen: sp.csr_array, weight: NDArray[Any] | None, power: float) -> Balance:
        """Look at the training pairs."""
        often = np.bincount(seen.indices, minlength=seen.shape[1]).astype(np.float64)
        counts = np.repeat(np.diff(seen.indptr), np.diff(seen.indptr)).astype(np.float64)
        before = np.ones(seen.nnz) if weight is None else weight
        total = float(before @ (counts * often[seen.indices]) ** -power) if power else float(before.sum())
        return cls(often, float(before.sum()) / total if total > 0 else 1.0)


def with_training_pairs(of: Recommender, rows: NDArray[np.int32], known: Known) -> Known:
    """Return the pairs of training of some rows, -1 being none, and those that came after it, which count if both."""
    seen, width = of.seen, of.model.Z.rows
    counts = np.array([seen.indptr[row + 1] - seen.indptr[row] if row >= 0 else 0 for row in rows], np.int64)
    places = [np.arange(seen.indptr[row], seen.indptr[row + 1]) for row in rows if row >= 0]
    at = np.concatenate([np.zeros(0, np.int64), *places])
    y = np.ones(len(at)) if of.positives else seen.data[at]
    weight = np.ones(len(at)) if of.weight is None else of.weight[at]
    new = np.repeat(np.arange(len(rows)), np.diff(known.y.indptr))
    return Known.of(
        np.append(np.repeat(np.arange(len(rows)), counts), new),
        np.append(seen.indices[at], known.y.indices),
        np.append(y, known.y.data),
        np.append(weight, known.weight.data),
        (len(rows), width),
        add=False,
    )


def shared_features(of: Recommender, rows: NDArray[np.int32], known: Known) -> sp.csr_array:
    """Return the features of known queries but for their own ones, history made anew of ``known``; none for -1."""
    features: FeatureRows = of.model.X
    left_out = [features.blocks[name] for name in (INDICATOR, HISTORY) if name in features.blocks]
    columns, values = [np.zeros(0, np.int32)], [np.zeros(0, features.dtype)]
    for row in rows:
        begin, end = (0, 0) if row < 0 else features.row_ptr[row : row + 2]
        index = features.row_index[begin:end]
        value = features.values_by_row(row, row + 1) if row >= 0 else np.zeros(0, features.dtype)
        kept = np.ones(len(index), bool)
        for part in left_out:
            kept &= (index < part.start) | (index >= part.stop)
        columns.append(index[kept])
        values.append(value[kept])
    ptr = np.cumsum([len(part) for part in columns])
    shape = (len(rows), features.cols)
    made = sp.csr_array((np.concatenate(values), np.concatenate(columns), ptr), shape=shape)
    made.sort_indices()
    if of.encoder.history:
        part, history = features.blocks[HISTORY], history_features(known.ones)
        made = sp.csr_array(
            made + sp.csr_array((history.data, history.indices + part.start, history.indptr), shape=shape)
        )
    return made


__all__ = ["Balance", "Known", "new_queries", "with_new_pairs"]
