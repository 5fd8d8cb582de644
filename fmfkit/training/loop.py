"""The loop over rounds: checks before, records and callbacks between, a model at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import attrs
import numpy as np

from fmfkit._kernels import cells, machine, scoring
from fmfkit._kernels.library import resolve_threads
from fmfkit.arguments import frozen, whole
from fmfkit.errors import DivergedError, IncompatibleError, PluginContractError
from fmfkit.interfaces import Loss, Regularizer, Solver
from fmfkit.model.model import Model
from fmfkit.plugins.registry import resolve, resolve_callbacks
from fmfkit.problem.inputs import largest_sum
from fmfkit.problem.learnt import spread_value
from fmfkit.problem.problem import Problem, memory_of
from fmfkit.training.checkpoint import Checkpoint, Saved, checkpoint_of, remind
from fmfkit.training.events import AnyCallback, Callback, Moment, RoundEvent, notify
from fmfkit.training.records import RoundRecord, RoundReport
from fmfkit.training.stages import Stages
from fmfkit.training.state import State


def fit(
    problem: Problem,
    *,
    solver: Solver | str = "panel",
    rounds: int = 10,
    seed: int = 0,
    threads: int | None = None,
    callbacks: AnyCallback | Iterable[AnyCallback] = (),
    init: State | Model | float | None = None,
) -> Model:
    """Train a model.

    Args:
        problem: what to learn.
        solver: a Solver or the name of a registered one, with options: "sgd:learning_rate=0.01".
        rounds: how many rounds, at most.
        seed: for the initial values and everything drawn later. The same seed gives the same model, bit for bit, on
            any number of threads, with every solver that declares itself deterministic.
        threads: None uses all processors that the process may use, or OMP_NUM_THREADS.
        callbacks: one or several, themselves or by name ("tolerance:relative=1e-3"), called with a RoundEvent at the
            start and after each round; ``event.stop(reason)`` ends the fit. One with a method ``end`` has it called at
            the end. A ``callbacks.Checkpoint`` keeps where the fit stands, and goes on from there.
        init: the scale of the random initial values (None: 0.05, or what learnt strengths begin with), or a model or
            state to go on from (it is copied; its seed and its count of rounds are kept, so that going on equals not
            having stopped).

    Returns:
        The model, with its history.
    """
    return fit_with(
        problem, None, solver=solver, rounds=rounds, seed=seed, threads=threads, callbacks=callbacks, init=init
    )


def fit_with(
    problem: Problem,
    fresh: Callable[[int], Problem] | None,
    *,
    solver: Solver | str,
    rounds: int,
    seed: int,
    threads: int | None,
    callbacks: AnyCallback | Iterable[AnyCallback],
    init: State | Model | float | None,
) -> Model:
    """Train as ``fit`` does; where ``fresh`` is given, it returns the problem of each round after the first."""
    if not isinstance(problem, Problem):
        raise TypeError(f"problem: expected a fmfkit.Problem, got {type(problem).__name__}")
    chosen = resolve("solver", solver)
    rounds, seed = whole("rounds", rounds, least=1), whole("seed", seed, least=0)
    threads = resolve_threads(threads)
    listed = resolve_callbacks(callbacks)
    if problem.strengths is not None and not chosen.learns_strengths:
        raise IncompatibleError(
            f"{chosen!r} does not learn strengths; give them (a Penalty, or l2), or use solver='panel'"
        )
    if problem.penalises_rows and not chosen.takes_rows:
        raise IncompatibleError(
            f"{chosen!r} takes parameters one by one, and {_row_regularizer(problem)!r} whole rows; use solver='panel'"
        )
    if reasons := list(chosen.refusals(problem)):
        raise IncompatibleError(f"{chosen!r} cannot work on this problem: " + "; ".join(reasons))
    _check_memory(problem, chosen, threads)
    state = _initial_state(problem, init, seed, threads)
    if state.solver != chosen:
        if state.solver is not None:  # one that came from a file is not known: its arrays are taken for this one's
            state.arrays = {}
        state.solver, state.turns, state.spent = chosen, {}, {}
    checkpoint = checkpoint_of(listed)
    others = [callback for callback in listed if callback is not checkpoint]
    return RunningFit(_as_learnt(problem, state), chosen, state, others, rounds, checkpoint, fresh).run()


def _check_memory(problem: Problem, solver: Solver, threads: int) -> None:
    """Refuse a fit that needs more memory than the process may use; one whose solver cannot tell is let through."""
    if (work := solver.workspace_bytes(problem, threads)) is None:
        return
    needed, most = memory_of(problem, work), machine.memory()
    if needed.total > most:
        parts = ", ".join(f"{name} {_gigabytes(count)}" for name, count in attrs.asdict(needed).items())
        raise MemoryError(
            f"this fit needs {_gigabytes(needed.total)} of memory ({parts}), and the process may use "
            f"{_gigabytes(most)}; lower the rank, which is {problem.rank}, use dtype='float32', or a solver that needs "
            "less, such as 'sgd'"
        )


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:,.3g} GB"


def _as_learnt(problem: Problem, state: State) -> Problem:
    """Return a problem with the strengths and the loss that a state has learnt, as far as they suit it."""
    if problem.strengths is not None:
        problem = problem.with_strengths(state.strengths or problem.strengths)
        state.strengths = problem.strengths
    if state.loss is not None and _suits(state.loss, problem):
        problem = problem.with_loss(state.loss)
    return problem


@attrs.define(eq=False)
class RunningFit:
    """One call of ``fit``."""

    problem: Problem
    solver: Solver
    state: State
    callbacks: list[Callback]
    rounds: int
    checkpoint: Checkpoint | None
    fresh: Callable[[int], Problem] | None
    """The problem of each round after the first, where it is another one."""
    history: list[RoundRecord] = attrs.field(factory=list)
    last: int = attrs.field(init=False)
    """The number of the last round."""
    stages: Stages = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Count the rounds from where the state stands."""
        self.last = self.state.round + self.rounds
        self.stages = Stages(self.solver, self.state)

    def run(self) -> Model:
        """Run the rounds."""
        event = self._begin()
        workspace = None if event.stopped else self.solver.prepare(self.problem, self.state)
        while self.state.round < self.last and event.stopped is None:
            if not self.stages.enter(event):
                event.stop(self.stages.reason)
                break
            event.embeddings = None  # not kept while a round works
            if not self.stages.running.sampler:
                self.state.mean = None  # of samples that this round leaves behind
            began = time.perf_counter()
            if self.fresh is not None and (done := self._done):
                self.problem = _as_learnt(self.fresh(done), self.state)
                workspace = self.solver.prepare(self.problem, self.state)
            if self.problem.loss.learns and self.state.round:
                self.problem = _with_learnt_loss(self.stages.running, self.problem, self.state)
                self.state.loss = self.problem.loss
                workspace = self.solver.prepare(self.problem, self.state)
            learns = self.problem.learns
            report = self.solver.round(self.problem, self.state, workspace)
            seconds = time.perf_counter() - began
            if not isinstance(report, RoundReport):
                raise PluginContractError(f"{self.solver!r}.round returned {report!r}, expected a fmfkit RoundReport")
            self.state.check_against(self.problem)
            self.state.round += 1
            if self.state.strengths is not None and self.state.strengths is not self.problem.strengths:
                self.problem = self.problem.with_strengths(self.state.strengths)
            event = self._note(report, seconds, "round", learns=learns)
            self.stages.note(event)
            self._keep(event)
        self._keep(event)
        self.stages.leave(event)
        notify(self.callbacks, attrs.evolve(event, moment="end"))
        return Model.of(self.problem, self.state, tuple(self.history), event.stopped)

    def _check_rise(self, record: RoundRecord) -> None:
        """Refuse to go on where rounding outweighs the steps: a monotone solver's objective does not rise otherwise."""
        before = self.history[-1]
        another = self.fresh is not None or self.problem.loss.learns or record.learnt or before.learnt
        if another or not self.solver.monotone:
            return
        largest = max(abs(one.objective) for one in self.history if not one.learnt)
        if record.objective - before.objective > RISE[self.problem.dtype] * largest:
            raise DivergedError(
                f"the objective rose from {before.objective:g} to {record.objective:g} in round {record.round}, which "
                f"{self.solver!r} lets happen by rounding alone: {_scaling_advice(self.solver)}"
            )

    @property
    def _done(self) -> int:
        """How many rounds are done."""
        return self.state.round - (self.last - self.rounds)

    def _begin(self) -> RoundEvent:
        """Begin, or go on from a checkpoint; return what callbacks saw."""
        saved = None if self.checkpoint is None else self.checkpoint.begin(self)
        return self._note(RoundReport(), 0.0, "start") if saved is None else self._go_on(saved)

    def _go_on(self, saved: Saved) -> RoundEvent:
        self.state = _initial_state(self.problem, saved.state, saved.state.seed, self.state.threads)
        if self.fresh is not None and self._done > 1:
            self.problem = self.fresh(self._done - 1)
        self.problem = _as_learnt(self.problem, self.state)
        self.history = list(saved.history)
        self.stages = Stages.entered_at(saved.entered, self.solver, self.state, saved.reason)
        record = self.history[-1]
        event = RoundEvent(self.problem, self.state, record, self.rounds, self.last, "start", saved.stopped)
        remind([*self.callbacks, *self.stages.callbacks], saved.memories, event)
        return event

    def _keep(self, event: RoundEvent) -> None:
        """Let a checkpoint keep the round, now that nothing more happens in it."""
        if self.checkpoint is not None:
            self.checkpoint(event)

    def _note(self, report: RoundReport, seconds: float, moment: Moment, *, learns: bool = False) -> RoundEvent:
        """Write a round down and notify the callbacks; return what they saw, and whether they stopped the fit."""
        embeddings, loss, all_cells = report.embeddings, report.loss, report.cells
        no_cells = all_cells is None and self.problem.cells is not None
        no_spread = embeddings is None and self.problem.strengths is not None
        if loss is None or no_cells or no_spread:
            embeddings = embeddings or scoring.embed_both(self.problem, self.state)
            loss = scoring.loss_of(self.problem, *embeddings, self.state.threads) if loss is None else loss
            all_cells = cells.value_of(self.problem, *embeddings, self.state.threads)
        report = attrs.evolve(report, loss=loss, cells=all_cells or 0.0)
        spread = sum(spread_value(*of) for of in zip(self.problem.sides, embeddings or (), strict=False))
        record = _record(self.problem, self.state, report, seconds)
        record = attrs.evolve(record, penalty=record.penalty + spread, learnt=learns, stage=self.stages.name)
        if self.history:
            self.state.record = record
            _check_finite(self.solver, self.problem, record)
            self._check_rise(record)
        self.history.append(record)
        event = RoundEvent(self.problem, self.state, record, self.rounds, self.last, moment, embeddings=embeddings)
        notify(self.callbacks, event)
        self.state.check_against(self.problem)
        return event


RISE = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-9}
"""By how much an objective may rise by rounding, as a share of the largest so far."""


def _initial_state(problem: Problem, init: State | Model | float | None, seed: int, threads: int) -> State:
    if isinstance(init, Model):
        init = init.state
    if isinstance(init, State):
        init.check_values(problem)
        state = init.copy_for(problem, threads=threads)
        state.check_against(problem)
        return state
    if init is None:
        return State.initial(problem, seed=seed, threads=threads)
    if isinstance(init, bool) or not isinstance(init, int | float | np.number) or not 0 < init < np.inf:
        raise ValueError(f"init: expected a scale above 0, a State or a Model, got {init!r}")
    return State.initial(problem, seed=seed, threads=threads, scale=float(init))


def _row_regularizer(problem: Problem) -> Regularizer:
    return next(part.regularizer for side in problem.sides for part in side.parts if part.by_row)


def _suits(learnt: Loss, problem: Problem) -> bool:
    """Return whether a loss that another fit has learnt is of the problem's kind, and defined for its y."""
    if type(learnt) is not type(problem.loss):
        return False
    try:
        learnt.check_y(frozen(problem.query.pairs.y))
    except ValueError:
        return False
    return True


def _with_learnt_loss(solver: Solver, problem: Problem, state: State) -> Problem:
    """Return the problem with a loss whose own parameters suit the scores of all pairs, or are drawn given them."""
    pairs, embeddings, loss = problem.query.pairs, scoring.embed_both(problem, state), problem.loss
    score = frozen(scoring.pair_scores(pairs.row_of, pairs.other, *embeddings, problem.offset, state.threads))
    if solver.sampler and not problem.learns:
        return problem.with_loss(
            loss.drawn(score, frozen(pairs.y), np.random.default_rng([state.seed, 8, state.round]))
        )
    weight = None if pairs.weight is None else frozen(pairs.weight)
    return problem.with_loss(loss.learnt(score, frozen(pairs.y), weight))


def _record(problem: Problem, state: State, report: RoundReport, seconds: float) -> RoundRecord:
    assert report.loss is not None
    assert report.cells is not None
    penalty = sum(
        scoring.penalty(part, state.parameters(side.name), state.threads)
        for side in problem.sides
        for part in side.parts
    )
    nonzero = np.count_nonzero(state.P) + np.count_nonzero(state.Q)
    return RoundRecord(
        round=state.round,
        loss=report.loss,
        cells=report.cells,
        penalty=penalty,
        seconds=seconds,
        eta=report.eta,
        sigma=report.sigma,
        nonzero=float(nonzero) / max(state.P.size + state.Q.size, 1),
    )


def _check_finite(solver: Solver, problem: Problem, record: RoundRecord) -> None:
    if abs(record.objective) <= largest_sum(problem.dtype):  # not so where it is no number
        return
    raise DivergedError(f"the objective is {record.objective} after round {record.round}: {_scaling_advice(solver)}")


def _scaling_advice(solver: Solver) -> str:
    if hasattr(solver, "learning_rate"):
        return f"lower learning_rate, which is {solver.learning_rate}"
    return "scale y and the features down, lower init, raise the penalty's strength, or use dtype='float64'"


__all__ = ["RunningFit", "fit", "fit_with"]
