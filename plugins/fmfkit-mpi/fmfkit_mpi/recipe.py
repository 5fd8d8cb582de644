"""What ``fmfkit fit`` does on several ranks: gather, hold out, train, train again on all, measure, save."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from fmfkit_mpi.checkpoint import ShardCheckpoint
from fmfkit_mpi.data import Gathered, hashes, mixed
from fmfkit_mpi.group import Group
from fmfkit_mpi.solver import Sharded
from numpy.typing import NDArray

from fmfkit import (
    FMF,
    AllCells,
    Dataset,
    Model,
    Observations,
    Problem,
    Recommender,
    RoundEvent,
    callbacks,
    fit,
    metrics,
)
from fmfkit.commands import kept_attributes, spelled
from fmfkit.data import Encoder

INDICATOR = "indicator"
Measure = Callable[[Any, Any], float]
MEASURES: dict[str, Measure] = {"rmse": metrics.rmse, "mae": metrics.mae, "log_loss": metrics.log_loss}
"""What is measured on held-out pairs: means over pairs, which every rank gets of all."""
POSITIVES: dict[str, Any] = {"rank": 64, "l2": 0.5, "scale": 0.5, "rounds": 12, "cells": 30.0, "balance": 0.0}
"""Settings for positives only, unless given: those of ``fmfkit fit``, but for what it would choose by trials."""


@attrs.frozen(kw_only=True)
class Outcome:
    """What became of it."""

    recommender: Recommender | None
    """The model; rank 0 alone has it."""
    rounds: int
    objective: float
    stopped: str | None
    validation: float | None
    """The measure on the validation part in the best round."""
    test: float | None
    metric: str
    refitted: bool


@attrs.frozen(eq=False)
class Held:
    """Pairs that are held out, of the queries here, by their rows here."""

    query: NDArray[np.int64]
    target: NDArray[np.int32]
    y: NDArray[np.float64]

    @classmethod
    def of(cls, data: Dataset, first: int) -> Held:
        """Return the pairs of a data set; ``first`` is the number of the first query here."""
        return cls(data.query.astype(np.int64) - first, data.target, data.y)


@attrs.frozen(eq=False)
class Together:
    """A model made by all ranks of a group."""

    group: Group
    gathered: Gathered
    settings: FMF
    """With ``data`` decided: "ratings" or "positives"."""
    encoder: Encoder
    solver: Sharded

    @classmethod
    def of(cls, group: Group, gathered: Gathered, settings: FMF) -> Together:
        """Decide what is left to the data, and learn the features, which is the same on every rank."""
        decided = _settled(group, gathered.data, settings)
        if decided.data == "positives":
            y = (gathered.data.y > 0).astype(np.float64)
            gathered = attrs.evolve(gathered, data=attrs.evolve(gathered.data, y=y))
        return cls(group, gathered, decided, Encoder.learn(gathered.data), Sharded(shards=group.shards))

    def run(
        self,
        *,
        test: float = 0.0,
        validate: float | None = None,
        refit: bool = True,
        metric: str | None = None,
        checkpoint: ShardCheckpoint | None = None,
        more: Sequence[Any] = (),
    ) -> Outcome:
        """Hold out, train, train again on all training pairs, measure; rank 0 makes the model.

        ``validate`` is a tenth unless given; nothing where there are positives only, whose rankings are not measured.
        """
        positives = self.settings.data == "positives" and metric is None
        if positives and (test or validate):
            raise ValueError(
                "these are positives only, and rankings are not measured on several ranks yet; leave --test and "
                "--validate out, or ask for a --metric of scores"
            )
        if validate is None:
            validate = 0.0 if positives else 0.1
        name = metric or ("log_loss" if self.settings.loss == "logistic" else "rmse")
        if name not in MEASURES:
            raise ValueError(f"metric: expected one of {list(MEASURES)}, got {name!r}; rankings are not measured yet")
        if checkpoint is not None:
            checkpoint.work = self._work(test=test, validate=validate, refit=refit, metric=name)
        train, tested = self._parted(self.gathered.data, test, 1)
        chosen, held_out = self._parted(train, validate, 2)
        problem = self.problem(chosen)
        watch = None
        if held_out is not None:
            judged = Held.of(held_out, self.gathered.rows.start)
            watch = callbacks.KeepBest(
                lambda model: self.measure(model, judged, name), False, name, self.settings.patience
            )
        model = self._fit(problem, self.settings.rounds, watch, checkpoint, more)
        refitted = refit and watch is not None
        if refitted:
            problem = self.problem(train)
            kept = None if checkpoint is None else checkpoint.within("refit")
            model = self._fit(problem, max(1, len(model.history) - 1), None, kept, more)
        values = () if watch is None else tuple(watch.values)
        return Outcome(
            recommender=self._recommender(problem, model, train if refitted or watch is None else chosen, values, name),
            rounds=model.history[-1].round,
            objective=model.history[-1].objective,
            stopped=model.stopped,
            validation=min(values) if values else None,
            test=None if tested is None else self.measure(model, Held.of(tested, self.gathered.rows.start), name),
            metric=name,
            refitted=refitted,
        )

    def _work(self, **recipe: Any) -> dict[str, str]:
        """Return what a checkpoint belongs to, by name: settings and data, which is the same on any number of ranks."""
        data, cuts = self.gathered.data, self.gathered.cuts
        fields = attrs.fields(type(self.settings))
        asked = {field.name: getattr(self.settings, field.name) for field in fields if field.metadata.get("kept")}
        ends = np.searchsorted(data.query, cuts)
        shards = [
            (
                spelled([None if one is None else one[a:b] for one in (data.query, data.target, data.y, data.weight)]),
                _digest(data.queries.table[int(first) : int(last)]),
            )
            for (a, b), (first, last) in zip(itertools.pairwise(ends), itertools.pairwise(cuts), strict=True)
        ]
        pairs, queries = zip(*(one for of_rank in self.group.each(shards) for one in of_rank), strict=True)
        held = {"pairs": pairs, "queries": queries, "targets": _digest(data.targets.table), "history": data.history}
        return {name: spelled(value) for name, value in {**asked, **recipe, **held}.items()}

    def _parted(self, data: Dataset, share: float, salt: int) -> tuple[Dataset, Dataset | None]:
        """Return two parts of the pairs: which one a pair is in follows from its ids and the seed."""
        if not share:
            return data, None
        ids = hashes(data.queries.ids.values)[data.query], hashes(data.targets.ids.values)[data.target]
        key = np.uint64(self.settings.seed) * np.uint64(7) + np.uint64(salt)
        out = mixed(mixed(ids[0] + key) + ids[1]) < np.uint64(int(share * 2.0**64))
        counts = sum(self.group.each(np.array([out.sum(), (~out).sum()])))
        if not counts.all():
            raise ValueError(f"share: of {int(counts.sum())} pairs, {int(counts[0])} would be held out; change it")
        return data.only(~out), data.only(out)

    def problem(self, data: Dataset) -> Problem:
        """Return the problem of some pairs: of the queries here, of the targets all."""
        rows, X, Z = self.gathered.rows, *self.encoder.features(data)
        count = rows.stop - rows.start
        mine = {name: matrix[rows] for name, matrix in X.items()}
        mine[INDICATOR] = sp.eye_array(count, dtype=np.float32, format="csr")
        observations = Observations.from_coo(
            data.query - rows.start,
            data.target,
            data.y,
            shape=(count, data.shape[1]),
            X=mine,
            Z=Z,
            weight=data.weight,
            division=self.group.division(self.gathered.cuts - rows.start, own=(INDICATOR,)),
        )
        objective = self._objective(data)
        if self.settings.cells:
            filled = [observations.sum_of(side, observations.counts(side) > 0) for side in ("query", "target")]
            cells = AllCells(self.settings.cells * observations.total / (filled[0] * filled[1]))
            objective = attrs.evolve(objective, cells=cells)
        return Problem(observations, objective)

    def _objective(self, data: Dataset) -> Any:
        """Return the objective of the settings, which the ids and features decide, not the pairs."""
        one = attrs.evolve(
            data, query=np.zeros(1, np.int32), target=np.zeros(1, np.int32), y=np.ones(1), weight=None, time=None
        )
        return attrs.evolve(self.settings.replace(negatives=0.0).problem(one).objective, cells=None)

    def _fit(
        self,
        problem: Problem,
        rounds: int,
        watch: callbacks.KeepBest | None,
        checkpoint: ShardCheckpoint | None,
        more: Sequence[Any],
    ) -> Model:
        """Train; with a watch, return the model of the best round."""
        begin, watched = None, list[Any]([] if watch is None else [watch])
        if checkpoint is not None:
            checkpoint.watch = watch
            begin = checkpoint.begin(problem)
            watched = [] if watch is None else [checkpoint.watched()]
        done = 0 if begin is None else begin.round
        agreed = Agreed(self.group)
        listed = [*watched, *more, agreed, *([] if checkpoint is None else [checkpoint])]
        if checkpoint is not None and begin is not None and done >= rounds:
            if watch is not None:
                watched[0](RoundEvent(problem, begin, checkpoint.history[-1], rounds, rounds, "start"))
            model = Model.of(problem, begin, tuple(checkpoint.history))
        else:
            options: Any = {
                "seed": self.settings.seed,
                "threads": self.settings.threads or self.group.threads,
                "init": begin,
            }
            model = fit(problem, solver=self.solver, rounds=rounds - done, callbacks=listed, **options)
            if checkpoint is not None:
                model = attrs.evolve(model, history=tuple(checkpoint.history))
        return model if watch is None else watch.restore(problem, model)

    def measure(self, model: Model, held: Held, name: str) -> float:
        """Return a measure on held-out pairs, of all ranks."""
        both = self.group.each((held.y, np.asarray(model.predict(held.query, held.target), np.float64)))
        y, predicted = (np.concatenate([part[n] for part in both]) for n in (0, 1))
        return MEASURES[name](y, predicted)

    def _recommender(
        self, problem: Problem, model: Model, data: Dataset, values: tuple[float, ...], metric: str
    ) -> Recommender | None:
        """Return the model of all queries on rank 0, which has room for all pairs; None on others."""
        features = problem.X
        parts: dict[str, Any] = {name: model.P[columns] for name, columns in features.blocks.items()}
        parts[INDICATOR] = self.group.collect(parts[INDICATOR])
        query, target, y = (self.group.collect(array) for array in (data.query, data.target, data.y))
        weight = None if data.weight is None else self.group.collect(data.weight)
        X: dict[str, Any] = {INDICATOR: sp.eye_array(data.shape[0], dtype=np.float32, format="csr")}
        X |= {name: self._collected(features.block(name)) for name in features.blocks if name != INDICATOR}
        if query is None or target is None or y is None:
            return None
        Z = {name: problem.Z.block(name) for name in problem.Z.blocks}
        laid = Observations.from_coo(query, target, y, shape=data.shape, X=X, Z=Z, weight=weight)
        whole = Problem(laid, attrs.evolve(problem.objective, offset=problem.offset))
        P = np.concatenate([parts[name] for name in features.blocks])
        state = attrs.evolve(model.state, P=P, Q=model.Q, solver=None)
        if state.strengths is not None:
            whole = whole.with_strengths(state.strengths)
        seen = laid.by_query
        return Recommender(
            model=Model.of(whole, state, model.history, model.stopped),
            encoder=self.encoder,
            seen=sp.csr_array((seen.y.astype(np.float32), seen.other, seen.ptr), shape=data.shape),
            weight=None if seen.weight is None else seen.weight.astype(np.float64),
            validation=values,
            metric=metric if values else None,
            columns=data.columns,
            attributes=kept_attributes(data.targets),
            settings=self.settings.replace(loss=model.loss, solver="panel"),
        )

    def _collected(self, block: sp.csr_array) -> sp.csr_array | None:
        """Return the rows of all ranks of a feature block on rank 0."""
        sizes, index, value = (self.group.collect(one) for one in (np.diff(block.indptr), block.indices, block.data))
        if sizes is None:
            return None
        return sp.csr_array((value, index, np.append(0, np.cumsum(sizes))), shape=(len(sizes), block.shape[1]))


def _digest(table: pl.DataFrame) -> str:
    return spelled((table.columns, table.rows()))


@attrs.define
class Agreed:
    """Lets all ranks stop where one does: a callback, called after all others that may stop a fit."""

    group: Group

    def __call__(self, event: Any) -> None:
        """Take the first reason of any rank."""
        reasons = self.group.each(event.stopped)
        event.stopped = next((reason for reason in reasons if reason is not None), None)


def _settled(group: Group, data: Dataset, settings: FMF) -> FMF:
    """Return settings with what the data decides, which all ranks decide alike."""
    for name in ("negatives", "balance"):
        if getattr(settings, name):
            raise ValueError(f"{name}: not on several ranks yet; leave it out, or run one process")
    kind = settings.data
    if kind == "auto":
        levels = {level for one in group.each(np.unique(data.y)[:2]) for level in one}
        kind = "positives" if len(levels) == 1 and min(levels) > 0 else "ratings"
    elif kind == "positives" and (wrong := sum(group.each(int((data.y <= 0).sum())))):
        raise ValueError(f"--positives: {wrong:,} pairs have a rating of 0 or less; leave them out, or give --ratings")
    decided = settings.replace(data=kind)
    if kind == "ratings":
        return decided.replace(cells=settings.cells or 0.0)
    return decided.replace(**{name: value for name, value in POSITIVES.items() if name not in settings.given})


__all__ = ["Agreed", "Held", "Outcome", "Together"]
