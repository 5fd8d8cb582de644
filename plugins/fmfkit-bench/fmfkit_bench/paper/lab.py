"""Where the paper's models are trained: each once, for all experiments that need it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import attrs
from fmfkit_bench import core
from fmfkit_bench.paper import cases
from fmfkit_bench.paper.cases import Case
from fmfkit_bench.paper.penalties import ALL

from fmfkit import Problem, Quantiles, RoundEvent, Solver, fit, schedulers
from fmfkit.search import best_place

PANEL = "panel solver"


def method(name: str) -> Solver:
    """Return the solver that a label names: "L2M", "PL2M-500" (|S| = 500), or fmfkit's default."""
    if name == "L2M":
        return core.l2m()
    if name == PANEL:
        return core.panel()
    return core.pl2m(schedulers.RandomPartition(set_size(name)))


def set_size(name: str) -> int:
    """Return the |S| of "PL2M-500" or "PL2M-5K"."""
    return int(name.removeprefix("PL2M-").replace("K", "000"))


def parallel(size: int) -> str:
    """Return the paper's name for PL2M with sets of a size: "PL2M-500", "PL2M-5K"."""
    return f"PL2M-{size // 1000}K" if size >= 1000 and size % 1000 == 0 else f"PL2M-{size}"


@attrs.define
class Curve:
    """A fit as it went: a value per round, from the start on."""

    objective: list[float] = attrs.field(factory=list)
    seconds: list[float] = attrs.field(factory=list)
    metrics: dict[str, list[float]] = attrs.field(factory=dict)
    eta: Quantiles | None = None
    sigma: float | None = None
    """Of the last round."""

    def watch(self, case: Case | None) -> Callable[[RoundEvent], None]:
        """Return the callback that writes it down; with a case, test metrics too, outside the rounds' time."""

        def note(event: RoundEvent) -> None:
            self.seconds.append(event.record.seconds)
            self.objective.append(event.record.objective)
            self.eta, self.sigma = event.record.eta, event.record.sigma
            if case is not None:
                for name, value in case.measure(event.model()).items():
                    self.metrics.setdefault(name, []).append(value)

        return note

    @property
    def seconds_per_round(self) -> float:
        """The median."""
        return statistics.median(self.seconds[1:])

    def best(self, case: Case) -> int:
        """Return the round with the best test value of the metric that decides."""
        return best_place(self.metrics[case.metrics[0]], larger=case.larger)


@attrs.frozen(eq=False, kw_only=True)
class Training:
    """How a model is trained."""

    problem: Problem
    solver: Solver
    rounds: int
    seed: int
    threads: int | None = None
    """None takes those of the lab."""
    judged: bool = True
    """Whether test metrics are measured after each round."""


@attrs.define
class Lab:
    """Trains models, and remembers them."""

    tasks: Sequence[Case]
    small: Sequence[Case]
    """The same tasks with less data, where there is a smaller form."""
    rank: int
    seed: int
    threads: int
    rounds: int | None
    """Of each fit; None takes each task's own."""
    say: Callable[[str], None]
    _curves: dict[tuple[int, str, str, int], Curve] = attrs.field(factory=dict)
    _problems: dict[int, tuple[str, Problem]] = attrs.field(factory=dict)

    def curve(self, case: Case, by: str, model: str = ALL, seed: int | None = None) -> Curve:
        """Train a model of a case by a method."""
        seed = self.seed if seed is None else seed
        key = (id(case), by, model, seed)
        if key not in self._curves:
            rounds = self.rounds or case.rounds
            how = Training(problem=self.problem(case, model), solver=method(by), rounds=rounds, seed=seed)
            self._curves[key] = self.train(case, how)
            last = self._curves[key]
            self.say(
                f"{case.title}, {model} by {by}: {last.seconds_per_round:.3f} s a round, "
                f"objective {last.objective[-1]:.6g}, {case.metrics[0]} {last.metrics[case.metrics[0]][-1]:.4f}"
            )
        return self._curves[key]

    def problem(self, case: Case, model: str = ALL) -> Problem:
        """Build a problem; the last one of each case is kept."""
        if self._problems.get(id(case), ("",))[0] != model:
            self._problems[id(case)] = (model, case.problem(self.rank, model))
        return self._problems[id(case)][1]

    def train(self, case: Case, how: Training) -> Curve:
        """Train once, and remember nothing."""
        curve = Curve()
        watch = curve.watch(case if how.judged else None)
        threads = how.threads or self.threads
        fit(how.problem, solver=how.solver, rounds=how.rounds, seed=how.seed, threads=threads, callbacks=watch)
        return curve

    def of_kind(self, kind: cases.Kind) -> list[Case]:
        """Return the tasks of a kind."""
        return [case for case in self.tasks if case.kind == kind]


__all__ = ["PANEL", "Curve", "Lab", "Training", "method", "parallel"]
