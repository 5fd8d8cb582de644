"""The friendly front: from a data set to a model that speaks in ids, in one call."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import attrs
import scipy.sparse as sp
from attrs import validators

from fmfkit.callbacks import Progress
from fmfkit.checks import whole
from fmfkit.data.dataset import Dataset
from fmfkit.data.encoder import Encoder, Sides
from fmfkit.errors import DataError
from fmfkit.fitting import RoundEvent, fit
from fmfkit.interfaces import Loss, Reals, Regularizer, Solver
from fmfkit.model import Model
from fmfkit.problem import Problem
from fmfkit.recommender import Recommender, better, check_metric, default_metrics, measure
from fmfkit.registry import resolve
from fmfkit.regularizers import ElasticNet, Regularization
from fmfkit.state import RoundRecord, State
from fmfkit.tuning import Tuned, search
from fmfkit.warm_start import Grown

Callback = Callable[[RoundEvent], None]


def _at_least_one(instance: Any, attribute: attrs.Attribute[int], value: int) -> None:
    whole(attribute.name, value, least=1)


def _floats(given: Mapping[str, float]) -> dict[str, float]:
    return {str(name): float(value) for name, value in given.items()}


@attrs.frozen(kw_only=True)
class Negatives:
    """Pairs to be drawn beside the positives, score 0; never a pair of the training data."""

    ratio: float = attrs.field(default=4.0, converter=float, validator=validators.gt(0))
    """How many for each positive, query by query."""
    by: Literal["uniform", "popularity"] = attrs.field(
        default="uniform", validator=validators.in_(("uniform", "popularity"))
    )
    """Targets are drawn alike, or as often as they occur in the pairs."""
    fresh: bool = False
    """Whether each round draws anew. The objective is then another one in each round, and may rise between them."""


@attrs.frozen(kw_only=True)
class FMF:
    """Feature-based matrix factorization with good defaults.

    ``fit(data, validate=0.1)`` keeps the round that is best on a validation part, and stops after ``patience`` rounds
    without a better one. ``tune(data)`` searches for better settings than the defaults.
    """

    rank: int = attrs.field(default=32, validator=_at_least_one)
    loss: Loss | str = "square"
    l2: float = attrs.field(default=0.5, converter=float, validator=validators.ge(0))
    """The strength of the factors' penalty. The default suits some hundred thousand ratings; the more there are, the
    less is needed."""
    scale: Literal["observations", "uniform"] = attrs.field(
        default="observations", validator=validators.in_(("observations", "uniform"))
    )
    """Whether ``l2`` is multiplied by how often a feature is observed, which is better for ratings, or the same for all
    features, which is better for data that has positives only."""
    bias_l2: float = attrs.field(default=5.0, converter=float, validator=validators.ge(0))
    """The strength of the biases' penalty, the same for every feature: as if each had been seen so many times more,
    without effect."""
    growth: float = attrs.field(default=0.0, converter=float, validator=validators.ge(0))
    """Above 0, the factors' penalty grows with the dimension: that of the k-th is k^growth times that of the first.
    Good where a lower rank would do; ``l2`` should then be lower too."""
    strengths: Mapping[str, float] = attrs.field(
        factory=dict,
        converter=_floats,
        validator=validators.deep_mapping(validators.instance_of(str), validators.ge(0)),
        hash=False,
    )
    """Factors of the penalty of feature blocks, such as {"target.genres": 0.3}; they go before the blocks' own."""
    regularizer: Regularizer | Regularization | None = None
    """Instead of ``l2``, ``bias_l2``, ``growth`` and ``strengths``: any regularizer."""
    rounds: int = attrs.field(default=30, validator=_at_least_one)
    patience: int = attrs.field(default=3, validator=_at_least_one)
    negatives: Negatives | None = None
    """For data that has positives only."""
    balance: float = attrs.field(default=0.0, converter=float, validator=[validators.ge(0), validators.le(1)])
    """Pairs are weighed by how often their query and their target occur, to the power of minus this: above 0, rare
    ones count for more. 0.3 is good for data that has positives only."""
    solver: Solver | str = "pl2m"
    seed: int = 0
    threads: int | None = None

    def problem(self, data: Dataset, encoder: Encoder | None = None) -> Problem:
        """Return the problem of a data set."""
        encoder = Encoder.learn(data) if encoder is None else encoder
        return self._problem(data, encoder, encoder.features(data))

    def _problem(self, data: Dataset, encoder: Encoder, sides: Sides, offset: float | None = None) -> Problem:
        regularizer = self.regularizer or self._regularization(encoder)
        data = data.balanced(self.balance) if self.balance else data
        return Problem.from_coo(
            data.query, data.target, data.score, shape=data.shape, X=sides[0], Z=sides[1], weight=data.weight,
            rank=self.rank, loss=self.loss, regularizer=regularizer, offset=offset,
        )  # fmt: skip

    def _regularization(self, encoder: Encoder) -> Regularization:
        query, target = encoder.strengths(self.strengths)
        return Regularization(
            P=ElasticNet(l2=self.l2, blocks=query, scale=self.scale, growth=self.growth),
            Q=ElasticNet(l2=self.l2, blocks=target, scale=self.scale, growth=self.growth),
            query_bias=ElasticNet(l2=self.bias_l2, blocks=query, scale="uniform"),
            target_bias=ElasticNet(l2=self.bias_l2, blocks=target, scale="uniform"),
        )

    def fit(
        self, data: Dataset, *, validate: Dataset | float | None = None, metric: str | None = None,
        start: Recommender | None = None, progress: bool | None = None,
        callbacks: Callback | Sequence[Callback] = (),
    ) -> Recommender:  # fmt: skip
        """Train.

        Args:
            data: the training data.
            validate: a data set with the same ids, or the share of ``data`` to set aside, at random, for choosing the
                round; None trains all rounds on all data.
            metric: what decides on the validation part: "rmse", "mae", "log_loss", "auc", "ndcg@10", ...; by default
                what suits the loss.
            start: a model to go on from. ``data`` has what is new: pairs, queries, targets, features. The pairs that
                the model was trained on are remembered, but for those that ``data`` has too, and so are the features
                of instances that ``data`` tells nothing of.
            progress: whether to show it on stderr; by default if that is a terminal.
            callbacks: as for ``fmfkit.fit``.
        """
        train, held_out = self.parts(data, validate)
        grown = None if start is None else Grown.of(start, train)
        if grown is not None:
            held_out = None if held_out is None else grown.moved(held_out)
            train = grown.with_remembered(grown.moved(train), held_out)
        encoder = Encoder.learn(train) if grown is None else grown.encoder
        sides = encoder.features(train) if grown is None else grown.features(train)
        seen, weight = train.by_query()
        watch = self._watch(held_out, metric, seen)
        callbacks = [callbacks] if callable(callbacks) else list(callbacks)
        shown = [Progress()] if (sys.stderr.isatty() if progress is None else progress) else []
        init: State | float = 0.05 if grown is None else grown.state(self, sides)
        problems = self._problems(train, encoder, sides, None if start is None else start.model.offset)
        problem, model = self._rounds(problems, init, [*([watch] if watch else []), *shown, *callbacks])
        if watch is not None:
            model = watch.restore(problem, model)
        values = () if watch is None else tuple(watch.values)
        metric = None if watch is None else watch.metric
        return Recommender(model, encoder, seen, weight, values, metric, data.columns, self._numbers())

    def _numbers(self) -> dict[str, Any]:
        """Return the settings that are numbers or words."""
        names = ("rank", "l2", "scale", "bias_l2", "growth", "strengths", "balance", "rounds", "patience", "seed")
        return {name: getattr(self, name) for name in names}

    def tune(
        self, data: Dataset, *, trials: int = 30, validate: Dataset | float = 0.1, metric: str | None = None,
        progress: bool | None = None, callbacks: Callback | Sequence[Callback] = (),
    ) -> Tuned:  # fmt: skip
        """Search for the ``l2``, ``bias_l2`` and ``strengths`` that are best on a validation part; ``growth`` and
        ``balance`` too, where they are above 0.

        It begins with these settings, and takes random steps from the best so far. Then train with what it found:
        ``FMF(rank=32).tune(data).best.fit(data)``.

        Args:
            data: the training data; it must not hold what the model will be tested on.
            trials: how many settings to try.
            validate: as for ``fit``.
            metric: as for ``fit``.
            progress: as for ``fit``.
            callbacks: as for ``fit``; one that stops a fit ends the search.
        """
        callbacks = [callbacks] if callable(callbacks) else list(callbacks)
        return search(
            self, data, trials=trials, validate=validate, metric=metric, progress=progress, callbacks=callbacks
        )

    def parts(self, data: Dataset, validate: Dataset | float | None) -> tuple[Dataset, Dataset | None]:
        """Return the training part and the one that chooses the round, as ``fit`` takes them."""
        if not isinstance(validate, Dataset):
            return (data, None) if validate is None else data.split_random(float(validate), self.seed)
        if not (validate.queries.ids is data.queries.ids and validate.targets.ids is data.targets.ids):
            raise DataError("validate: expected a part of the same data, or data.with_pairs(...): its ids are others")
        return data, validate

    def _watch(self, held_out: Dataset | None, metric: str | None, seen: sp.csr_array) -> _Best | None:
        if held_out is None:
            return None
        metric = metric or default_metrics(resolve("loss", self.loss))[0]
        check_metric(metric)
        if self.negatives is not None and "@" not in metric:
            held_out = self._with_negatives(held_out, seen, self.seed)
        return _Best(held_out, metric, self.patience, seen)

    def _with_negatives(self, data: Dataset, known: sp.csr_array | None, seed: int) -> Dataset:
        assert self.negatives is not None
        return data.with_negatives(self.negatives.ratio, by=self.negatives.by, seed=seed, known=known)

    def _problems(self, train: Dataset, encoder: Encoder, sides: Sides, offset: float | None) -> Iterator[Problem]:
        """Return one problem for all rounds, or one for each, with negatives drawn anew.

        Held-out pairs may be drawn like any other: to spare them would tell which they are.
        """
        if self.negatives is None:
            yield self._problem(train, encoder, sides, offset)
            return
        for n in range(self.rounds if self.negatives.fresh else 1):
            drawn = self._with_negatives(train, None, self.seed + n)
            problem = self._problem(drawn, encoder, sides, offset)
            offset = problem.offset  # the same in all rounds
            yield problem

    def _rounds(
        self, problems: Iterator[Problem], init: State | float, callbacks: Sequence[Callback]
    ) -> tuple[Problem, Model]:
        """Train, on one problem or on one after the other."""
        fresh = self.negatives is not None and self.negatives.fresh
        together = _Together(callbacks, self.rounds) if fresh else None
        for problem in problems:
            model = fit(
                problem, solver=self.solver, rounds=1 if fresh else self.rounds, seed=self.seed, threads=self.threads,
                init=init, callbacks=callbacks if together is None else together,
            )  # fmt: skip
            init = model.state
            if model.stopped:
                break
        return problem, model if together is None else attrs.evolve(model, history=tuple(together.history))


class _Together:
    """Makes fits of one round each look like one fit to callbacks."""

    def __init__(self, callbacks: Sequence[Callback], rounds: int) -> None:
        self.callbacks, self.rounds = callbacks, rounds
        self.history: list[RoundRecord] = []

    def __call__(self, event: RoundEvent) -> None:
        if self.history and event.record.round == self.history[-1].round:
            return  # the start of a fit that goes on
        self.history.append(event.record)
        whole_fit = attrs.evolve(event, rounds=self.rounds, last=self.history[0].round + self.rounds)
        for callback in self.callbacks:
            callback(whole_fit)
        if whole_fit.stopped:
            event.stop(whole_fit.stopped)


class _Best:
    """Keeps the parameters of the round that is best on held-out pairs; stops when it has long been the same."""

    def __init__(self, data: Dataset, metric: str, patience: int, seen: Any) -> None:
        self.data, self.metric, self.patience, self.seen = data, metric, patience, seen
        self.values: list[float] = []
        self.best = -1
        self.kept: tuple[Reals, ...] = ()

    def __call__(self, event: RoundEvent) -> None:
        value = measure(event.model(), self.data, self.metric, self.seen)
        event.measured[self.metric] = value
        self.values.append(value)
        if self.best < 0 or better(self.metric, value, self.values[self.best]) or math.isnan(self.values[self.best]):
            self.best, self.kept = len(self.values) - 1, (event.state.P.copy(), event.state.Q.copy())
        elif len(self.values) - 1 - self.best >= self.patience:
            event.stop(f"{self.metric} on the validation part has not improved for {self.patience} rounds")

    def restore(self, problem: Problem, model: Model) -> Model:
        """Return the model of the best round."""
        state = attrs.evolve(model.state, P=self.kept[0], Q=self.kept[1], round=model.history[self.best].round)
        return Model.of(problem, state, model.history[: self.best + 1], model.stopped)


__all__ = ["FMF", "Negatives"]
