"""What training returns: rows of features, parameters, embeddings."""

from __future__ import annotations

import functools
import os
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from fmfkit._kernels import scoring
from fmfkit._kernels.scoring import ALONE, PackedTargets, Skip
from fmfkit.arguments import whole
from fmfkit.interfaces import Loss
from fmfkit.model import file
from fmfkit.model.answers import Explanation, Ranked, contributions, to_compare
from fmfkit.model.deviations import deviations
from fmfkit.model.fold_in import Fixed, GivenPairs, fixed_side
from fmfkit.model.intervals import Observed, Uncertainty, half_width
from fmfkit.model.own import Own
from fmfkit.model.parts import check_scores, checked_parts, model_parts
from fmfkit.model.rows import all_but, excluded_rows, flat_rows, row_numbers
from fmfkit.problem.features import FeatureRows, rows_of
from fmfkit.problem.problem import Problem
from fmfkit.training.records import RoundRecord
from fmfkit.training.state import State
from fmfkit.typing import Reals, SideName


@attrs.frozen(eq=False, kw_only=True, repr=False)
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
    """What it was trained with; its link makes predictions of scores."""
    history: tuple[RoundRecord, ...]
    """One record per round; the first is the starting point, round 0."""
    stopped: str | None
    """Why the fit ended before its last round, if it did."""
    state: State
    """Where the training stands: pass it, or the model, as ``fit(..., init=...)`` to go on."""
    X: FeatureRows
    """The features of the queries it was trained on."""
    Z: FeatureRows
    """The features of the targets."""
    observed: Observed | None = None
    """How often features were observed, where strengths were learnt: what intervals are made from."""
    own: Own | None = None
    """What ``fold_in`` needs of the objective; None where the model is the mean of samples, or its file could not hold
    it."""
    _queries: Reals
    _targets: Reals

    @classmethod
    def of(
        cls,
        problem: Problem,
        state: State,
        history: tuple[RoundRecord, ...] = (),
        stopped: str | None = None,
        *,
        embeddings: tuple[Reals, Reals] | None = None,
    ) -> Model:
        """Make the model that a state stands for; ``embeddings`` are those of the state, where they are known."""
        P, Q = (state.P, state.Q) if state.mean is None else state.mean.parameters()
        if state.mean is not None:
            embeddings = scoring.embed_mean(problem, P, Q, state.threads)
        U, V = scoring.embed_both(problem, state) if embeddings is None else embeddings
        return cls(
            P=P,
            Q=Q,
            rank=P.shape[1] - problem.query_bias,
            offset=problem.offset,
            loss=problem.loss,
            history=history,
            stopped=stopped,
            state=state,
            X=problem.X.by_row,
            Z=problem.Z.by_row,
            observed=None if state.strengths is None else Observed.of(problem),
            own=None if state.mean is not None else Own.of(problem, state.strengths),
            queries=U,
            targets=V,
        )

    def __repr__(self) -> str:
        """Return what it is in a line: arrays are not printed."""
        last = f", {self.history[-1].round} rounds, objective {self.history[-1].objective:.6g}" if self.history else ""
        return (
            f"<Model rank {self.rank}, {self.X.rows} queries x {self.Z.rows} targets, "
            f"{self.X.cols} + {self.Z.cols} features, {self.loss!r}{last}>"
        )

    @property
    def biases(self) -> tuple[bool, bool]:
        """Whether queries and targets have a bias."""
        return self.P.shape[1] > self.rank, self.Q.shape[1] > self.rank

    @property
    def samples(self) -> tuple[Model, ...]:
        """The samples that a sampler was asked to keep, each a model of its own; none by default."""
        mean = self.state.mean
        return () if mean is None else tuple(self._sample(P, Q) for P, Q in mean.kept)

    def _sample(self, P: Reals, Q: Reals) -> Model:
        rank, threads = P.shape[1] - self.biases[0], self.state.threads
        embeddings = (
            scoring.embed_rows(features, W, rank, self.biases, side, threads)
            for side, (features, W) in enumerate(((self.X, P), (self.Z, Q)))
        )
        state = attrs.evolve(self.state, P=P, Q=Q, mean=None)
        return attrs.evolve(self, P=P, Q=Q, rank=rank, state=state, queries=next(embeddings), targets=next(embeddings))

    @property
    def query_embedding(self) -> Reals:
        """U, one row of ``rank`` numbers per query, without the bias."""
        return self._queries[:, : self.rank]

    @property
    def target_embedding(self) -> Reals:
        """V, one row of ``rank`` numbers per target, without the bias."""
        return self._targets[:, : self.rank]

    @property
    def query_bias(self) -> Reals:
        """The bias of each query; zeros where queries have none."""
        return self._queries[:, self.rank] if self.biases[0] else np.zeros(self.X.rows, self.P.dtype)

    @property
    def target_bias(self) -> Reals:
        """The bias of each target; zeros where targets have none."""
        column = self.rank + self.biases[0]
        return self._targets[:, column] if self.biases[1] else np.zeros(self.Z.rows, self.Q.dtype)

    @functools.cached_property
    def strengths(self) -> dict[str, float]:
        """By how much scores deviate because of each feature block: the standard deviation, over random pairs, of what
        the block adds to the score; empty where strengths were given."""
        return {} if self.state.strengths is None else deviations(self)

    def score(self, queries: ArrayLike, targets: ArrayLike, *, unknown: bool = False) -> Reals:
        """Return the scores of pairs of the problem's queries and targets, by their row numbers; they broadcast.

        With ``unknown``, a row number of -1 stands for an instance that the model does not know: the score is then the
        offset and the other side's bias.
        """
        i, j = self._pairs(queries, targets, -1 if unknown else 0)
        if unknown and (i.min(initial=0) < 0 or j.min(initial=0) < 0):
            return self._score_with_unknown(i, j)
        rows, others = np.ascontiguousarray(i.ravel()), np.ascontiguousarray(j.ravel())
        score = scoring.pair_scores(rows, others, self._queries, self._targets, self.offset, self.state.threads)
        return score.reshape(i.shape)

    def _pairs(self, queries: ArrayLike, targets: ArrayLike, least: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the row numbers of pairs, broadcast."""
        i = row_numbers("queries", queries, self.X.rows, least)
        j = row_numbers("targets", targets, self.Z.rows, least)
        try:
            i, j = np.broadcast_arrays(i, j)
        except ValueError:
            raise ValueError(f"queries and targets: their shapes {i.shape} and {j.shape} are no pairs") from None
        return i, j

    def _score_with_unknown(self, i: NDArray[np.int32], j: NDArray[np.int32]) -> Reals:
        score, known = np.full(i.shape, self.offset, self.P.dtype), (i >= 0) & (j >= 0)
        score[known] = self.score(i[known], j[known])
        for rows, bias in ((i, self.query_bias), (j, self.target_bias)):
            lone = ~known & (rows >= 0)
            score[lone] += bias[rows[lone]]
        return score

    def predict(self, queries: ArrayLike, targets: ArrayLike, *, unknown: bool = False) -> Reals:
        """Return what the loss predicts for the pairs: their scores through its link."""
        return self.loss.link(self.score(queries, targets, unknown=unknown))

    def interval(self, queries: ArrayLike, targets: ArrayLike, level: float = 0.9) -> tuple[Reals, Reals]:
        """Return, for pairs by their row numbers, the ends of the intervals in which y lies with probability ``level``.

        For a loss that is a likelihood, such as the logistic one, it is the prediction that lies there. Strengths must
        have been learnt: they say how uncertain parameters are.
        """
        if self.state.strengths is None or self.observed is None:
            raise ValueError("interval: it needs strengths that were learnt; train without l2, or with LearntPenalty()")
        width = half_width(level)
        i, j = self._pairs(queries, targets)
        deviation = self._uncertainty.deviation(i.ravel(), j.ravel(), noise=not self.loss.likelihood).reshape(i.shape)
        score, reach = self.score(i, j), (width * deviation).astype(self.P.dtype)
        return self.loss.link(score - reach), self.loss.link(score + reach)

    @functools.cached_property
    def _uncertainty(self) -> Uncertainty:
        state = self.state
        assert state.strengths is not None
        assert self.observed is not None
        noise = 1 / (state.strengths.noise * state.strengths.curvature)
        if state.mean is not None:  # what samples leave, which is less than what was learnt before them
            noise = 2 * state.mean.loss / (state.strengths.curvature * max(self.observed.pairs, 1.0))
        return Uncertainty.of(state.strengths, (self.X, self.Z), self.observed, self._last_embeddings, noise)

    @property
    def _last_embeddings(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The embeddings of the state: for a sampler's model, those of its last sample."""
        state = self.state
        rank = state.P.shape[1] - self.biases[0]
        U, V = (
            scoring.embed_rows(features, W, rank, self.biases, side, state.threads)[:, :rank].astype(np.float64)
            for side, (features, W) in enumerate(((self.X, state.P), (self.Z, state.Q)))
        )
        return U, V

    @functools.cached_property
    def _packed(self) -> PackedTargets:
        return PackedTargets(self._targets, self.offset, self.state.threads)

    def recommend(
        self,
        queries: ArrayLike | None = None,
        k: int = 10,
        *,
        features: Any = None,
        embeddings: Reals | None = None,
        exclude: Any = None,
        candidates: ArrayLike | None = None,
    ) -> Ranked:
        """Return the ``k`` targets with the highest scores for each of some queries.

        Args:
            queries: row numbers; None means all.
            k: how many, at most.
            features: for queries that training has not seen, instead of ``queries``: a matrix with a row for each and
                the columns of X, or a mapping of some of its blocks to such matrices.
            embeddings: instead of both: embeddings of queries, as ``embedded`` and ``fold_in`` return them.
            exclude: sparse matrix; what is stored in it is left out. Its rows are those of the problem, or of
                ``features`` or ``embeddings``, its columns targets. The training pairs, to recommend only what is new.
            candidates: row numbers of the only targets to choose from; None means all.
        """
        k = whole("k", k, least=1)
        if sum(given is not None for given in (queries, features, embeddings)) > 1:
            raise ValueError("recommend: give one of queries, features and embeddings")
        if features is not None or embeddings is not None:
            mine = self.embedded("query", features=features) if embeddings is None else embeddings
            rows = np.arange(len(mine), dtype=np.int32)
        else:
            rows = flat_rows("queries", np.arange(self.X.rows) if queries is None else queries, self.X.rows)
            mine = self._queries if queries is None else self._queries[rows]
        skip = None if exclude is None else excluded_rows(exclude, rows, self.Z.rows)
        if candidates is None:
            return Ranked(*self._packed.best(mine, min(k, self.Z.rows), skip))
        chosen = np.unique(flat_rows("candidates", candidates, self.Z.rows))
        if len(mine) <= ALONE:  # to search all takes less time than to lay some out
            skip = all_but(chosen, len(mine), self.Z.rows, skip)
            return Ranked(*self._packed.best(mine, min(k, len(chosen)), skip))
        packed = PackedTargets(self._targets[chosen], self.offset, self.state.threads)
        targets, scores = packed.best(mine, min(k, len(chosen)), None if skip is None else skip.among(chosen))
        return Ranked(np.where(targets < 0, -1, np.append(chosen, -1)[targets]).astype(np.int32), scores)

    def similar(self, targets: ArrayLike | None = None, k: int = 10, *, queries: ArrayLike | None = None) -> Ranked:
        """Return, for some targets or queries, the ``k`` others of their side of the largest cosine."""
        k = whole("k", k, least=1)
        if (targets is None) == (queries is None):
            raise ValueError("similar: give targets or queries")
        name, given = ("targets", targets) if queries is None else ("queries", queries)
        unit, packed = self._similar_targets if queries is None else self._similar_queries
        rows = flat_rows(name, given, len(unit))
        itself = sp.csr_array((np.ones(len(rows)), rows, np.arange(len(rows) + 1)), shape=(len(rows), len(unit)))
        return Ranked(*packed.best(unit[rows], min(k, len(unit)), Skip.of(itself)))

    @functools.cached_property
    def _similar_targets(self) -> tuple[Reals, PackedTargets]:
        return to_compare(self.target_embedding, self.state.threads)

    @functools.cached_property
    def _similar_queries(self) -> tuple[Reals, PackedTargets]:
        return to_compare(self.query_embedding, self.state.threads)

    def embedded(self, side: SideName, rows: ArrayLike | None = None, *, features: Any = None) -> Reals:
        """Return whole embeddings of one side's instances: all, some by row numbers, or others by their features.

        Beside the latent dimensions they have the columns of the biases, 1 in that of the other side's, and zeros up to
        whole vectors: a score is the offset and the inner product of two. The row number -1 stands for an instance
        without features.
        """
        known = self._queries if side == "query" else self._targets
        matrix, W = (self.X, self.P) if side == "query" else (self.Z, self.Q)
        if features is not None:
            name = "X" if side == "query" else "Z"
            new = rows_of(name, matrix.matrix_of(features, name))
            return scoring.embed_rows(new, W, self.rank, self.biases, side == "target", self.state.threads)
        if rows is None:
            return known
        numbers = np.atleast_1d(row_numbers("rows", rows, len(known), -1))
        found = known[numbers]
        if (numbers < 0).any():
            none = np.zeros(known.shape[1], known.dtype)
            if self.biases[side == "query"]:
                none[self.rank + (self.biases[0] if side == "query" else 0)] = 1
            found[numbers < 0] = none
        return found

    def fold_in(self, pairs: Any, *, weight: Any = None, features: Any = None, side: SideName = "query") -> Reals:
        """Return the embeddings, as ``embedded`` does, of new or changed instances, the other side held as it is.

        What training would find for an instance's own feature, given all that is fixed, is found at once: for the
        square loss by one step, for others by a few. Instances without pairs are embedded by their features.

        Args:
            pairs: sparse matrix of y with a row for each instance and a column for each of the other side's; what is
                stored in it is a pair, zeros too.
            weight: sparse matrix of the pairs' weights, stored alike; None means 1.
            features: their features without an own one, as ``recommend`` takes them; None means that they have none.
            side: whether the instances are queries or targets.
        """
        fixed = self._fixed_targets if side == "query" else self._fixed_queries
        given = GivenPairs.of(pairs, weight, len(fixed.theirs), self.loss)
        none = np.full(len(given), -1)
        base = self.embedded(side, none) if features is None else self.embedded(side, features=features)
        return fixed.embeddings(base, given)

    @functools.cached_property
    def _fixed_targets(self) -> Fixed:
        return fixed_side(self, "query", self._targets)

    @functools.cached_property
    def _fixed_queries(self) -> Fixed:
        return fixed_side(self, "target", self._queries)

    def explain(self, query: int, target: int, *, unknown: bool = False) -> Explanation:
        """Return what each feature adds to the score of a pair; ``unknown`` is as for ``score``."""
        least = -1 if unknown else 0
        i = int(row_numbers("query", [query], self.X.rows, least)[0])
        j = int(row_numbers("target", [target], self.Z.rows, least)[0])
        u, v = self.embedded("query", [i])[0].astype(np.float64), self.embedded("target", [j])[0].astype(np.float64)
        rank = self.rank
        return Explanation(
            score=float(self.score([i], [j], unknown=unknown)[0]),
            offset=self.offset,
            query_bias=contributions(self.X, i, lambda columns: self.P[columns, rank:].sum(axis=1)),
            target_bias=contributions(self.Z, j, lambda columns: self.Q[columns, rank:].sum(axis=1)),
            by_query=contributions(self.X, i, lambda columns: self.P[columns, :rank] @ v[:rank]),
            by_target=contributions(self.Z, j, lambda columns: self.Q[columns, :rank] @ u[:rank]),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, with its features and history, to a safetensors file.

        A loss that no plugin offers is left out: ``load`` must then be given it. Where a composed solver stands is left
        out too: a fit that goes on from the file begins with its first stage.
        """
        file.write(path, {"model": self.section()})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, loss: Loss | None = None, threads: int | None = None) -> Model:
        """Read a model that ``save`` wrote; nothing in the file is run. ``loss`` is for one that no plugin offers."""
        sections = file.read(path)
        with file.checking(path):
            return cls.of_section(file.section_of(sections, "model"), path, loss=loss, threads=threads)

    def section(self) -> file.Section:
        """Return the model as a section of a file."""
        return model_parts(self)

    @classmethod
    def of_section(
        cls, section: file.Section, path: Any, *, loss: Loss | None = None, threads: int | None = None
    ) -> Model:
        """Return the model that a section of a file holds."""
        parts = checked_parts(section, path, loss, threads)
        biases = tuple(W.shape[1] > parts["rank"] for W in (parts["P"], parts["Q"]))
        state: State = parts["state"]
        U, V = (
            scoring.embed_rows(parts[name], W, parts["rank"], biases, name == "Z", state.threads)
            for name, W in (("X", parts["P"]), ("Z", parts["Q"]))
        )
        check_scores(U, V, parts["offset"])
        return cls(**parts, queries=U, targets=V)


__all__ = ["Model"]
