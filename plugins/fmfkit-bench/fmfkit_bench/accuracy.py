"""How accurate models are on real data, with features and without, after the same search for settings."""

from __future__ import annotations

import time
from collections.abc import Callable

import attrs
from fmfkit_bench.real import Real

from fmfkit import FMF, Dataset
from fmfkit.front import Negatives

METRICS = {True: "precision@1", False: "rmse"}
"""By whether data has positives only."""


@attrs.frozen
class Outcome:
    """One model on one data set."""

    data: str
    features: bool
    metric: str
    validation: float
    test: float
    """The metric on the test part, for the settings that were best on the validation part, trained on both."""
    settings: FMF
    search_seconds: float
    train_seconds: float


def measure(
    real: Real, *, rank: int, trials: int, rounds: int, ratio: float, seed: int, threads: int | None,
    say: Callable[[str], None],
) -> list[Outcome]:  # fmt: skip
    """Search settings on a part of the training pairs, train on all of them, and look at the test part once."""
    front = FMF(rank=rank, rounds=rounds, seed=seed, threads=threads)
    if real.positives_only:
        front = attrs.evolve(front, loss="logistic", l2=0.02, bias_l2=1.0, negatives=Negatives(ratio=ratio))
    return [
        _one(real, front, data, features, trials, seed, say) for features, data in ((False, real.plain), (True, real.train))
    ]  # fmt: skip


def _one(
    real: Real, front: FMF, data: Dataset, features: bool, trials: int, seed: int, say: Callable[[str], None]
) -> Outcome:
    metric = METRICS[real.positives_only]
    train, held_out = real.parts(data, seed)
    began = time.perf_counter()
    tuned = front.tune(train, trials=trials, validate=held_out, metric=metric, progress=False)
    searched = time.perf_counter()
    trained = tuned.best.fit(data, progress=False)
    done = time.perf_counter()
    test = data.with_pairs({"query": real.test.query, "target": real.test.target, "score": real.test.score})
    outcome = Outcome(
        data=real.name, features=features, metric=metric, validation=tuned.value,
        test=trained.evaluate(test, metric)[metric], settings=tuned.best, search_seconds=searched - began,
        train_seconds=done - searched,
    )  # fmt: skip
    say(f"{real.name}, {'with' if features else 'without'} features: {metric} {outcome.test:.4f}, {tuned.best}")
    return outcome


def table(outcomes: list[Outcome]) -> str:
    """Return the outcomes for people."""
    lines = [f"{'data':22}{'features':>9}  {'metric':12}{'validation':>11}{'test':>9}{'search s':>10}{'train s':>9}"]
    for one in outcomes:
        lines.append(
            f"{one.data:22}{'yes' if one.features else 'no':>9}  {one.metric:12}{one.validation:>11.4f}{one.test:>9.4f}"
            f"{one.search_seconds:>10.1f}{one.train_seconds:>9.2f}"
        )
    return "\n".join(lines)


__all__ = ["Outcome", "measure", "table"]
