"""What a fit needs of the data: encoded once and laid out once, whatever settings are tried on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.dataset import Dataset
from fmfkit.data.encoder import Encoder
from fmfkit.data.positives import as_positives, usual_split
from fmfkit.errors import DataError
from fmfkit.model.model import Model
from fmfkit.plugins.registry import resolve, resolve_callbacks
from fmfkit.problem.cells import AllCells
from fmfkit.problem.objective import LearntPenalty, Objective, Penalties, Penalty
from fmfkit.problem.observations import Observations
from fmfkit.problem.problem import Problem
from fmfkit.recommend.attributes import kept_attributes
from fmfkit.recommend.evaluation import Judged, Metric, metric_of, suitable_metrics
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.settings import AnySettings, Settings, resolved_loss
from fmfkit.recommend.warm_start import WarmStart
from fmfkit.regularizers import ElasticNet
from fmfkit.training.callbacks import KeepBest
from fmfkit.training.events import AnyCallback
from fmfkit.training.loop import fit_with
from fmfkit.training.state import State

MOST_JUDGED = 2000
"""Queries by which a ranking is judged after each round: to rank for all can take longer than the round."""


def parts(data: Dataset, validate: Dataset | float | None, settings: Settings) -> tuple[Dataset, Dataset | None]:
    """Return the training part, and the validation part: a data set with the same ids, or a share that is drawn."""
    positives = settings.data == "positives"
    data = as_positives(data) if positives else data
    if validate is None:
        return data, None
    if not isinstance(validate, Dataset | Real):
        raise TypeError(f"validate: expected a share, such as 0.1, or a Dataset, got {type(validate).__name__}")
    if not isinstance(validate, Dataset):
        return data.split(usual_split(data, positives=positives), float(validate), settings.seed)
    if not (validate.queries.ids is data.queries.ids and validate.targets.ids is data.targets.ids):
        raise DataError("validate: expected a part of the same data, or data.with_pairs(...): its ids are others")
    return data, as_positives(validate) if positives else validate


def penalties(settings: Settings, encoder: Encoder) -> Penalties | LearntPenalty:
    """Return the penalties that settings stand for."""
    given = settings.regularizer
    if isinstance(given, Penalty | Penalties):
        return Penalties.of(given)
    query, target = encoder.strengths(settings.strengths)
    if given is None and settings.l2 == "auto":
        named = {f"query.{name}": factor for name, factor in query.items()}
        named |= {f"target.{name}": factor for name, factor in target.items()}
        changed = {name: factor for name, factor in named.items() if factor != 1}
        return LearntPenalty(shrink=settings.shrink, spread=settings.spread, strengths=changed)
    net = ElasticNet(l2=settings.fixed_l2) if given is None else given
    bias = ElasticNet(l2=settings.bias_l2) if given is None else given
    # cells count as observations: by this factor a strength is still one per given pair
    per_pair = 1.0 if settings.scale == "uniform" else 1 / (1 + (settings.cells or 0))

    def factors(blocks: Mapping[str, float]) -> Penalty:
        strengths = {name: per_pair * strength for name, strength in blocks.items()}
        return Penalty(net, strengths=strengths, scale=settings.scale, growth=settings.growth)

    return Penalties(
        P=factors(query),
        Q=factors(target),
        query_bias=Penalty(bias, strengths=query, scale="uniform"),
        target_bias=Penalty(bias, strengths=target, scale="uniform"),
    )


def with_features(settings: AnySettings, encoder: Encoder, factor: float) -> AnySettings:
    """Return settings in which the strengths of all blocks that describe instances are multiplied by a factor."""
    sides = zip(("query", "target"), encoder.strengths(settings.strengths), strict=True)
    now = {f"{side}.{name}": strength for side, blocks in sides for name, strength in blocks.items()}
    scaled = {name: factor * now[name] for name in encoder.described()}
    return settings.replace(strengths=dict(settings.strengths) | scaled)


@attrs.define(eq=False)
class Prepared:
    """A training part, encoded and laid out, and a validation part."""

    train: Dataset
    held_out: Dataset | None
    encoder: Encoder
    observations: Observations
    """The given pairs of the training part: negatives are not among them."""
    start: WarmStart | None = None
    _judged: Dataset | None = attrs.field(default=None, init=False)
    _drawn: tuple[Any, Observations, Dataset] | None = attrs.field(default=None, init=False)
    """The negatives that were drawn last: for which settings, laid out, and as data."""
    _weighed: tuple[float, Observations] | None = attrs.field(default=None, init=False)
    """The given pairs with the weights of the balance that was asked for last."""

    @classmethod
    def of(
        cls, data: Dataset, validate: Dataset | float | None, settings: Settings, start: Recommender | None
    ) -> Prepared:
        """Encode and lay out; of the settings only the seed counts, and what the data is taken as."""
        train, held_out = parts(data, validate, settings)
        warm = None if start is None else WarmStart.of(start, train)
        if warm is not None:
            held_out = None if held_out is None else warm.moved(held_out)
            train = warm.with_remembered(warm.moved(train), held_out)
        encoder = Encoder.learn(train) if warm is None else warm.encoder
        X, Z = encoder.features(train) if warm is None else warm.features(train)
        observations = Observations.from_coo(
            train.query, train.target, train.y, shape=train.shape, X=X, Z=Z, weight=train.weight
        )
        return cls(train, held_out, encoder, observations, warm)

    @property
    def seen(self) -> sp.csr_array:
        """The given pairs of the training part, y by query."""
        if self.train.sampled is not None:
            given = self.train.only(~self.train.sampled)
            order = given.order
            ptr = np.searchsorted(given.query[order], np.arange(given.shape[0] + 1))
            return sp.csr_array((given.y[order].astype(np.float32), given.target[order], ptr), shape=given.shape)
        pairs = self.observations.by_query
        return sp.csr_array((pairs.y, pairs.other, pairs.ptr), shape=self.train.shape)

    @property
    def seen_weight(self) -> NDArray[np.float64] | None:
        """Their weights."""
        if self.train.weight is None:
            return None
        order = self.train.order
        if self.train.sampled is not None:
            order = order[~self.train.sampled[order]]
        return self.train.weight[order]

    @property
    def judged(self) -> Dataset:
        """The validation part as rankings are judged by it: of very many queries, some that are drawn."""
        if self._judged is None:
            assert self.held_out is not None
            self._judged = some_queries(self.held_out)
        return self._judged

    def problem(self, settings: Settings) -> Problem:
        """Return the problem that settings make of the data, in the first round."""
        objective = self._objective(settings)
        if settings.negatives:
            return Problem(self._with_negatives(settings, settings.seed), objective)
        laid = self._given(settings)
        return Problem(laid, attrs.evolve(objective, cells=_all_cells(settings, laid)))

    def fresh(self, settings: Settings, first: Problem) -> Callable[[int], Problem] | None:
        """Return what makes the problems of later rounds, if negatives are drawn anew for each; their offset is the
        first's.

        Held-out pairs may be drawn like any other: to spare them would reveal which they are.
        """
        if not (settings.negatives and settings.negatives_fresh):
            return None
        objective = attrs.evolve(self._objective(settings), offset=first.offset)
        return lambda n: Problem(self._with_negatives(settings, settings.seed + n), objective)

    def _objective(self, settings: Settings) -> Objective:
        return Objective(
            rank=settings.rank,
            loss=settings.loss,
            penalty=penalties(settings, self.encoder),
            offset=None if self.start is None else self.start.start.model.offset,
        )

    def _given(self, settings: Settings) -> Observations:
        """Return the given pairs, balanced; the same balance is laid out once."""
        if self._weighed is None or self._weighed[0] != settings.balance:
            self._weighed = settings.balance, _balanced(settings, self.train, self.observations)
        return self._weighed[1]

    def _with_negatives(self, settings: Settings, seed: int) -> Observations:
        """Return the pairs with negatives drawn, laid out; the same draws are laid out once."""
        drawn = (settings.negatives, settings.negatives_by, seed)
        if self._drawn is None or self._drawn[0] != drawn:
            data = draw_negatives(settings, self.train, None, seed)
            laid = self.observations.with_pairs(data.query, data.target, data.y, weight=data.weight)
            self._drawn = drawn, laid, data
        _, laid, data = self._drawn
        return _balanced(settings, data, laid)

    def watch(self, settings: Settings, metric: str | Metric | None) -> KeepBest | None:
        """Return what chooses the round on the validation part, if there is one."""
        if self.held_out is None:
            return None
        held_out, seen = self.held_out, self.seen
        positives = settings.data == "positives"
        chosen = None if metric is None else metric_of(metric)
        ranks = positives if chosen is None else chosen.ranks
        if settings.negatives and not ranks:
            held_out = draw_negatives(settings, held_out, seen, settings.seed)
        chosen = chosen or suitable_metrics(resolved_loss(settings), held_out.y, positives=positives)[0]
        if (reason := chosen.refusal(held_out.y)) is not None:
            raise ValueError(f"{chosen.name}: {reason}")
        held_out, measure = self.judged if chosen.ranks else held_out, chosen.measure

        def on_held_out(model: Model) -> float:
            return measure(Judged(model, held_out, seen))

        patience = settings.rounds if is_sampler(settings) else settings.patience
        return KeepBest(on_held_out, chosen.larger, chosen.name, patience)

    def run(
        self,
        settings: Settings,
        watch: KeepBest | None,
        callbacks: Sequence[AnyCallback],
        begin: State | None = None,
    ) -> Model:
        """Train; with a watch, return the model of the best round. ``begin`` is where earlier rounds ended."""
        init = begin
        if init is None and self.start is not None:
            init = self.start.state(settings, self.observations)
        problem = self.problem(settings)
        model = fit_with(
            problem,
            self.fresh(settings, problem),
            solver=settings.solver,
            rounds=settings.rounds - (0 if begin is None else begin.round),
            seed=settings.seed,
            threads=settings.threads,
            callbacks=[*([watch] if watch else []), *resolve_callbacks(callbacks)],
            init=init,
        )
        return model if watch is None or is_sampler(settings) else watch.restore(problem, model)

    def fit(self, settings: Settings, metric: str | Metric | None, callbacks: Sequence[AnyCallback]) -> Recommender:
        """Train, and return what answers by ids."""
        watch = self.watch(settings, metric)
        model = self.run(settings, watch, callbacks)
        return Recommender(
            model=model,
            encoder=self.encoder,
            seen=self.seen,
            weight=self.seen_weight,
            validation=() if watch is None else tuple(watch.values),
            metric=None if watch is None else watch.name,
            columns=self._columns(),
            attributes=kept_attributes(self.train.targets, None if self.start is None else self.start.start.attributes),
            settings=Settings(**{name: getattr(settings, name) for name in settings.given} | {"loss": model.loss}),
        )

    def _columns(self) -> dict[str, str | None]:
        """Return the columns of the pairs; those that an update of a model has not are the model's."""
        before = {} if self.start is None else self.start.start.columns
        return {role: name or before.get(role) for role, name in self.train.columns.items()}


def is_sampler(settings: Settings) -> bool:
    """Return whether the solver's model is that of the last round, whatever a validation part says."""
    return resolve("solver", settings.solver).sampler


def draw_negatives(settings: Settings, data: Dataset, known: sp.csr_array | None, seed: int) -> Dataset:
    """Return data with negatives as settings say."""
    by: Any = settings.negatives_by
    return data.with_negatives(settings.negatives, by=by, seed=seed, known=known)


def _all_cells(settings: Settings, laid: Observations) -> AllCells | None:
    """Return the term over all cells: together they weigh ``cells`` times what the pairs weigh together."""
    if not settings.cells:
        return None
    queries, targets = (np.count_nonzero(np.diff(pairs.ptr)) for pairs in (laid.by_query, laid.by_target))
    return AllCells(settings.cells * float(laid.by_query.totals.sum()) / (int(queries) * int(targets)))


def some_queries(data: Dataset) -> Dataset:
    """Return the pairs of some queries, drawn from those that have a relevant pair, if there are very many."""
    queries = np.unique(data.query[data.y > 0])
    if len(queries) <= MOST_JUDGED:
        return data
    drawn = np.random.default_rng(5).choice(queries, MOST_JUDGED, replace=False)
    return data.only(np.isin(data.query, drawn))


def _balanced(settings: Settings, data: Dataset, laid: Observations) -> Observations:
    """Return observations with weights against how often instances occur, as settings say."""
    if not settings.balance:
        return laid
    weight = data.balanced(settings.balance).weight
    assert weight is not None
    return laid.with_weight(weight[data.order])


__all__ = ["Prepared", "parts", "penalties", "some_queries", "with_features"]
