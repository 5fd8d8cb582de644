"""The loop over rounds: checks before, records and callbacks between, a model at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import attrs
import numpy as np

from fmfkit import _native
from fmfkit.checks import whole
from fmfkit.errors import DivergedError, IncompatibleError, PluginContractError
from fmfkit.interfaces import Solver
from fmfkit.model import Model
from fmfkit.problem import Problem
from fmfkit.registry import resolve
from fmfkit.state import RoundRecord, RoundReport, State


@attrs.define(eq=False)
class RoundEvent:
    """What a callback sees after each round (and at the start: round 0)."""

    problem: Problem
    state: State
    record: RoundRecord
    rounds: int
    """How many rounds the fit was asked for; ``record.round`` may start above 0 when it goes on from another."""
    last: int
    """The number of the last round."""
    stopped: str | None = None
    measured: dict[str, float] = attrs.field(factory=dict)
    """What callbacks measured, by name: ``callbacks.Progress`` shows what those before it found."""

    def stop(self, reason: str) -> None:
        """End the fit after this round; the reason stands in ``model.stopped``."""
        self.stopped = self.stopped or reason

    def model(self) -> Model:
        """Return the model as it is now; it shares the parameters, which the next round changes."""
        return Model.of(self.problem, self.state)


Callback = Callable[[RoundEvent], None]


def fit(
    problem: Problem,
    *,
    solver: Solver | str = "pl2m",
    rounds: int = 10,
    seed: int = 0,
    threads: int | None = None,
    callbacks: Callback | Iterable[Callback] = (),
    init: State | Model | float = 0.05,
) -> Model:
    """Train a model.

    Args:
        problem: what to learn.
        solver: a Solver or the name of a registered one.
        rounds: how many rounds, at most.
        seed: for the initial values and everything drawn later. The same seed gives the same model, bit for bit, on
            any number of threads, with every solver that declares itself deterministic.
        threads: None uses all processors that the process may use, or OMP_NUM_THREADS.
        callbacks: one or several, called with a RoundEvent at the start and after each round; ``event.stop(reason)``
            ends the fit.
        init: the scale of the random initial values, or a model or state to go on from (it is copied; its seed and
            its count of rounds are kept, so that going on equals not having stopped).

    Returns:
        The model, with its history.
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem: expected a fmfkit.Problem, got {type(problem).__name__}")
    chosen = resolve("solver", solver)
    rounds, seed = whole("rounds", rounds, least=1), whole("seed", seed, least=0)
    threads = _native.resolve_threads(threads)
    callbacks = [callbacks] if callable(callbacks) else list(callbacks)
    for callback in callbacks:
        if not callable(callback):
            raise TypeError(f"callbacks: expected callables that take a RoundEvent, got {callback!r}")
    if reasons := list(chosen.refusals(problem)):
        raise IncompatibleError(f"{chosen!r} cannot work on this problem: " + "; ".join(reasons))
    state = _initial_state(problem, init, seed, threads)
    if state.solver != chosen:
        state.solver, state.turns = chosen, {}

    history = [_record(problem, state, _loss(problem, state), RoundReport(), 0.0)]
    last = state.round + rounds
    stopped = _notify(callbacks, RoundEvent(problem, state, history[-1], rounds, last))
    workspace = None if stopped else chosen.prepare(problem, state)
    while state.round < last and stopped is None:
        began = time.perf_counter()
        report = chosen.round(problem, state, workspace)
        seconds = time.perf_counter() - began
        if not isinstance(report, RoundReport):
            raise PluginContractError(f"{chosen!r}.round returned {report!r}, expected a fmfkit RoundReport")
        state.check_against(problem)
        state.round += 1
        loss = _loss(problem, state) if report.loss is None else report.loss
        state.record = _record(problem, state, loss, report, seconds)
        _check_finite(chosen, state.record)
        history.append(state.record)
        stopped = _notify(callbacks, RoundEvent(problem, state, state.record, rounds, last))
    return Model.of(problem, state, tuple(history), stopped)


def _initial_state(problem: Problem, init: State | Model | float, seed: int, threads: int) -> State:
    if isinstance(init, Model):
        init = init.state
    if isinstance(init, State):
        init.check_values(problem)
        state = init.copy_for(problem, threads=threads)
        state.check_against(problem)
        return state
    if isinstance(init, bool) or not isinstance(init, int | float | np.number) or not 0 < init < np.inf:
        raise ValueError(f"init: expected a scale above 0, a State or a Model, got {init!r}")
    return State.initial(problem, seed=seed, threads=threads, scale=float(init))


def _loss(problem: Problem, state: State) -> float:
    """Return the weighted loss of a state, from scratch."""
    U, V = (_native.embed(problem, side, state.parameters(side.name), state.threads) for side in problem.sides)
    native = _native.loss_code(problem.loss) != _native.EXTERNAL
    score = None if native else np.empty(problem.pairs, problem.dtype)
    return _native.scores(problem, problem.query, U, V, score, state.threads)


def _record(problem: Problem, state: State, loss: float, report: RoundReport, seconds: float) -> RoundRecord:
    penalty = sum(
        _native.penalty(part, state.parameters(side.name), state.threads)
        for side in problem.sides
        for part in side.parts
    )
    nonzero = np.count_nonzero(state.P) + np.count_nonzero(state.Q)
    return RoundRecord(
        round=state.round, loss=loss, penalty=penalty, seconds=seconds, eta=report.eta, sigma=report.sigma,
        nonzero=float(nonzero) / max(state.P.size + state.Q.size, 1),
    )  # fmt: skip


def _check_finite(solver: Solver, record: RoundRecord) -> None:
    if np.isfinite(record.objective):
        return
    advice = "scale scores and features down, lower init, raise the regularizer's strength, or use dtype='float64'"
    if hasattr(solver, "learning_rate"):
        advice = f"lower learning_rate, which is {solver.learning_rate}"
    raise DivergedError(f"the objective is {record.objective} after round {record.round}: {advice}")


def _notify(callbacks: list[Callback], event: RoundEvent) -> str | None:
    for callback in callbacks:
        callback(event)
        event.state.check_against(event.problem)
    return event.stopped


__all__ = ["RoundEvent", "fit"]
