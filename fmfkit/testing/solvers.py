"""The laws of a solver."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

from fmfkit.errors import DivergedError
from fmfkit.interfaces import Solver
from fmfkit.model.model import Model
from fmfkit.problem import LearntPenalty, Problem
from fmfkit.solvers import Panel, Reference
from fmfkit.solvers.reference import objective
from fmfkit.testing import common, families, fresh, process, watching
from fmfkit.testing.verdict import Skipped, fail
from fmfkit.training.events import RoundEvent
from fmfkit.training.loop import fit
from fmfkit.training.records import RoundRecord, RoundReport
from fmfkit.training.state import State

ROUNDS, SECONDS = 200, 3.0
"""How long a solver works on a small problem: so many rounds, or rounds until so much time of a processor is over."""
LOOKS = (1, 2, 3, 5, 8, 13, 20, 30, 50, 100, 200)
"""The rounds after which the true objective is made, at great cost."""
LATE = {"square loss", "spread weights", "rank 13, float32", "learnt strengths"}
"""Problems on which solvers are followed for more than a few rounds where that costs much."""
START = {"rank 8": 0.3, "rank 13, float32": 0.3, "rank 33": 0.3}
"""Where factors begin so far out that one that stays there shows."""


def _problems(solver: Solver) -> dict[str, Problem]:
    """Return problems of several kinds that the solver does not refuse."""
    kinds: dict[str, Callable[[], Problem]] = dict(families.SMALL)
    if solver.learns_strengths:
        kinds |= families.LEARNT
    kept = {}
    for name, make in kinds.items():
        made = make()
        reasons = list(solver.refusals(made))
        if not all(isinstance(reason, str) and reason for reason in reasons):
            fail("refusals must be reasons in words", refusals=reasons)
        if not reasons:
            kept[name] = made
    if not kept:
        raise Skipped(f"it refuses all of these problems: {', '.join(kinds)}")
    return kept


@attrs.frozen(eq=False)
class _Run:
    """A solver's work on a problem."""

    problem: Problem
    model: Model
    true: dict[int, float]
    """The objective after some rounds, made by the reference, where strengths are given."""
    scores: dict[int, float]
    """By how much, after them, the scores of the model were others than those of the parameters."""

    @property
    def history(self) -> tuple[RoundRecord, ...]:
        return self.model.history


_latest: list[tuple[Solver, dict[str, _Run]]] = []
"""What the solver that was checked last did: several checks look at it."""


def _runs(solver: Solver) -> dict[str, _Run]:
    """Return what a solver does on all problems, on one thread; those on which one that may diverges are left out."""
    if not _latest or _latest[0][0] is not solver:
        _latest[:] = [(solver, dict(_run_all(solver)))]
    return _latest[0][1]


def _run_all(solver: Solver) -> Iterator[tuple[str, _Run]]:
    rounds = ROUNDS if solver.monotone else ROUNDS // 4
    for where, problem in _problems(solver).items():
        true: dict[int, float] = {}
        scores: dict[int, float] = {}
        ends = time.process_time() + SECONDS

        def look(event: RoundEvent, true: Any = true, scores: Any = scores, ends: float = ends) -> None:
            if event.record.round in LOOKS and event.problem.strengths is None:
                true[event.record.round] = objective(event.problem, event.state)
            if event.record.round in LOOKS and event.state.mean is None:
                scores[event.record.round] = _difference(event)
            if time.process_time() > ends and event.record.round >= 20:
                event.stop("it takes long")

        try:
            model = fit(problem, solver=solver, rounds=rounds, threads=1, callbacks=look, init=START.get(where))
        except DivergedError:
            if solver.monotone:
                raise
            continue  # its learning rate does not suit this problem
        yield where, _Run(problem, model, true, scores)


def _difference(event: RoundEvent) -> float:
    """Return by how much the scores of the model are others than those that its parameters give."""
    pairs = event.problem.query.pairs
    given, true = (
        model.score(pairs.row_of, pairs.other) for model in (event.model(), Model.of(event.problem, event.state))
    )
    return float(np.max(np.abs(given - true) / (1 + np.abs(true))))


def check_reaches_a_known_optimum(solver: Solver) -> None:
    """On problems that are ridge regression, with weights, an offset, cells or block strengths too, it comes to the
    least objective: within 0.01 %, or 10 % if not monotone."""
    tried = 0
    for where, made in families.convexes().items():
        if list(solver.refusals(made.problem)):
            continue
        tried += 1
        model = fit(made.problem, solver=solver, rounds=200, threads=1)
        reached, least = min(record.objective for record in model.history), made.least
        if reached < least * (1 - 1e-6):
            fail(f"{where}: the objective it reports is below the least there is", reached=reached, least=least)
        if reached > least * (1.0001 if solver.monotone else 1.1):
            fail(f"{where}: 200 rounds do not come near the least objective", reached=reached, least=least)
    if not tried:
        raise Skipped("it refuses the square loss")


def check_ends_at_a_stationary_point(solver: Solver) -> None:
    """Where it has come to rest the reference finds next to nothing to gain, on problems with weights, growth, an
    offset, cells, block strengths and many ranks: 2 %, or half if not monotone."""
    if solver.sampler:
        raise Skipped("it samples; see check_mean_of_samples_predicts_better_than_one")
    for where, run in _runs(solver).items():
        if run.problem.strengths is not None:
            continue
        before = objective(run.problem, run.model.state)
        further = fit(run.problem, solver=Reference(algorithm=2), rounds=3, threads=1, init=run.model.state)
        after = objective(run.problem, further.state)
        if not before - after <= (0.02 if solver.monotone else 0.5) * before:
            rounds = run.history[-1].round
            fail(f"{where}: after {rounds} rounds, 3 of the reference gain much", before=before, after=after)


def check_many_pairs_are_learnt_from(solver: Solver) -> None:
    """With more than 100,000 pairs, too, it ends where another solver finds little to gain: 2 %, or half if not
    monotone."""
    made = families.large()
    if solver.sampler or list(solver.refusals(made)):
        raise Skipped("it samples, or refuses the square loss with weights")
    ends = time.process_time() + 10

    def look(event: RoundEvent) -> None:
        if time.process_time() > ends and event.record.round >= 6:
            event.stop("it takes long")

    model = fit(made, solver=solver, rounds=25, threads=1, callbacks=look)
    further = fit(made, solver=Panel(), rounds=3, threads=1, init=model.state).history
    before, after = further[0].objective, further[-1].objective
    if not before - after <= (0.02 if solver.monotone else 0.5) * before:
        fail(f"{made.pairs} pairs: another solver gains much", before=before, after=after)


def check_objective_is_what_it_says(solver: Solver) -> None:
    """The objective and the embeddings that a round reports are those of the parameters it left, in late rounds too."""
    for where, run in _runs(solver).items():
        for record in run.history:
            true = run.true.get(record.round)
            if true is not None and not abs(record.objective - true) <= 1e-4 * (1 + abs(true)):
                fail(f"{where}: the objective is another", round=record.round, given=record.objective, true=true)
            if not run.scores.get(record.round, 0.0) <= 1e-3:
                fail(f"{where}: the embeddings are others than those of the parameters", round=record.round)
        again = fit(run.problem, solver=_Idle(), rounds=1, threads=1, init=run.model)
        given, true = run.history[-1].objective, again.history[0].objective
        if not abs(given - true) <= 1e-4 * (1 + abs(true)):
            fail(f"{where}: the objective is another", round=run.history[-1].round, given=given, true=true)


class _Idle(Solver):
    """Does nothing."""

    learns_strengths = True

    def prepare(self, problem: Problem, state: Any) -> None:
        return None

    def round(self, problem: Problem, state: Any, workspace: Any) -> RoundReport:
        return RoundReport()


def check_objective_never_rises(solver: Solver) -> None:
    """A monotone solver never raises the objective, from one round to the next, early or late, but for rounding; where
    it learns strengths, from then on."""
    if not solver.monotone:
        raise Skipped("it declares itself not monotone")
    for where, run in _runs(solver).items():
        held = max((record.round for record in run.history if record.learnt), default=0)
        common.never_rises([record.objective for record in run.history[held:]], run.problem.dtype, f"{where}: ")


def check_it_learns(solver: Solver) -> None:
    """Twenty rounds lower the objective, by a twentieth at least."""
    if solver.sampler:
        raise Skipped("it samples; see check_mean_of_samples_predicts_better_than_one")
    runs = _runs(solver)
    if not runs:
        fail("it diverges on every problem")
    for where, run in runs.items():
        first = run.history[:21]
        if not min(record.objective for record in first) < 0.95 * first[0].objective:
            fail(f"{where}: it hardly learns", before=first[0].objective, after=first[-1].objective)


def check_mean_of_samples_predicts_better_than_one(solver: Solver) -> None:
    """A sampler's model is the mean of its samples: on new pairs it errs less than one, little more than the truth,
    with weights and an offset too."""
    if not solver.sampler:
        raise Skipped("it does not sample")
    rng = np.random.default_rng(common.SEED)
    U, V = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    i, j = np.divmod(rng.permutation(60 * 40), 40)
    y = np.sum(U[i] * V[j], axis=1) + 0.5 * rng.normal(size=len(i))
    seen, unseen = slice(0, 900), slice(900, None)
    weight, wrong = np.ones(900), y[seen].copy()
    weight[::4], wrong[::4] = 1e-3, wrong[::4] + 5 * rng.normal(size=225)
    cases: dict[str, tuple[Any, dict[str, Any]]] = {
        "pairs alike": (y[seen], {}),
        "pairs of little weight are wrong": (wrong, {"weight": weight}),
        "an offset": (y[seen] + 50, {"offset": 50.0}),
    }
    tried = 0
    for where, (given, options) in cases.items():
        made = Problem.from_coo(i[seen], j[seen], given, shape=(60, 40), rank=4, penalty=LearntPenalty(), **options)
        if list(solver.refusals(made)):
            continue
        tried += 1
        model = fit(made, solver=solver, rounds=LearntPenalty().rounds + 40, threads=1)
        if model.state.mean is None:
            fail("a sampler leaves the mean of its samples in state.mean", mean=None)
        last = Model.of(made, attrs.evolve(model.state, mean=None))
        true = y[unseen] + options.get("offset", 0.0)
        mean_error, last_error = (
            float(np.sqrt(np.mean((one.score(i[unseen], j[unseen]) - true) ** 2))) for one in (model, last)
        )
        if not mean_error < last_error or not mean_error < 1.3 * 0.5:
            fail(f"{where}: the mean of the samples is no good", mean=mean_error, last=last_error, noise=0.5)
    if not tried:
        raise Skipped("it refuses the square loss with learnt strengths")


def _same(a: Model | State, b: Model | State) -> bool:
    return np.array_equal(a.P, b.P) and np.array_equal(a.Q, b.Q)


def check_threads_do_not_change_the_model(solver: Solver) -> None:
    """A deterministic solver gives the same model, bit for bit, on 1 to 4 threads, and the second time, at another time
    and with global generators of another seed."""
    if not solver.deterministic:
        raise Skipped("it declares itself not deterministic")
    problems = _problems(solver)
    if not list(solver.refusals(families.large())):
        problems["many pairs"] = families.large()
    for where, made in problems.items():
        rounds = 30 if where in LATE else 2 if where == "many pairs" else 4
        first = fit(made, solver=solver, rounds=rounds, threads=1)
        for number in (1, 2):
            with process.otherwise(number):
                again = fit(made, solver=solver, rounds=rounds, threads=1)
            if not _same(first, again):
                fail(f"{where}: the model is another the second time, with global generators of another seed")
        for threads in common.THREADS[1:]:
            if not _same(first, fit(made, solver=solver, rounds=rounds, threads=threads)):
                fail(f"{where}: the model is another", threads=threads)


def _parts(where: str) -> tuple[int, int]:
    """Return how many rounds come before a fit is stopped, and after."""
    return (17, 6) if where in LATE else (2, 2)


def check_resumes_bit_for_bit(solver: Solver) -> None:
    """Some rounds and some more are as many without a stop, bit for bit, after other fits, and in a fresh process."""
    if not solver.deterministic:
        raise Skipped("it declares itself not deterministic")
    pristine, wanted, halves = copy.deepcopy(solver), {}, {}
    for where, made in _problems(solver).items():
        first, more = _parts(where)
        wanted[where] = fit(made, solver=solver, rounds=first + more, threads=1)
        halves[where] = fit(made, solver=solver, rounds=first, threads=1)
    for where, made in _problems(solver).items():
        rest = fit(made, solver=copy.deepcopy(pristine), rounds=_parts(where)[1], threads=1, init=halves[where])
        if not _same(wanted[where], rest):
            fail(f"{where}: going on after other fits differs from not having stopped")
    late = {where: half.state for where, half in halves.items() if where in LATE}
    for where, (P, Q) in fresh.ask(resumed, pristine, late).items():
        if not (np.array_equal(wanted[where].P, P) and np.array_equal(wanted[where].Q, Q)):
            fail(f"{where}: going on in a fresh process differs from not having stopped")


def resumed(solver: Solver, states: dict[str, State]) -> dict[str, tuple[Any, Any]]:
    """Return the parameters to which a solver comes from states that were reached elsewhere."""
    problems, found = _problems(solver), {}
    for where, state in states.items():
        model = fit(problems[where], solver=solver, rounds=_parts(where)[1], threads=1, init=state)
        found[where] = (model.P, model.Q)
    return found


def check_stops_when_asked(solver: Solver) -> None:
    """A callback sees every round, in order, and can end the fit after any of them."""
    made = next(iter(_problems(solver).values()))
    seen: list[int] = []

    def stop(event: RoundEvent) -> None:
        seen.append(event.record.round)
        if event.record.round == 2:
            event.stop("enough")

    model = fit(made, solver=solver, rounds=9, threads=1, callbacks=stop)
    if seen != [0, 1, 2] or model.stopped != "enough":
        fail("the rounds that a callback saw are others than 0, 1, 2", seen=seen)


def check_leaves_the_problem_alone(solver: Solver) -> None:
    """Pairs, features and strengths are the same during and after training; their arrays may be read only."""
    for where, made in _problems(solver).items():
        before = watching.fingerprint(made)

        def look(event: RoundEvent, made: Any = made, before: Any = before, where: str = where) -> None:
            if names := watching.changed(before, made):
                fail(f"{where}: training changes {', '.join(names)} of the problem")

        fit(made, solver=solver, rounds=2, threads=1, callbacks=look)
        if made.strengths is None:
            fit(watching.locked(made), solver=solver, rounds=2, threads=1)
    _check_watched(solver)


def _check_watched(solver: Solver) -> None:
    """Fail if a loss that looks around while a round runs sees that the problem is another."""
    watched: list[tuple[dict[str, Any], Problem]] = []

    def look() -> None:
        for before, problem in watched:
            if names := watching.changed(before, problem):
                fail(f"during a round {', '.join(names)} of the problem are others than before")

    made = common.problem(loss=watching.WatchingLoss(look), weights=True)
    if not list(solver.refusals(made)) and not solver.sampler:
        watched.append((watching.fingerprint(made), made))
        fit(made, solver=solver, rounds=2, threads=1)


def check_leaves_the_process_alone(solver: Solver) -> None:
    """It leaves no trace in the process: generators, error states, environment, folder, warnings, locale."""
    made = next(iter(_problems(solver).values()))
    with process.unchanged() as look:
        fit(made, solver=solver, rounds=3, threads=1, callbacks=lambda event: look())


def check_copies_are_equal(solver: Solver) -> None:
    """Copies, pickled ones too, are equal to it, and its repr tells what it is."""
    common.copies_are_equal(solver)


CHECKS = (
    check_reaches_a_known_optimum,
    check_ends_at_a_stationary_point,
    check_many_pairs_are_learnt_from,
    check_objective_is_what_it_says,
    check_objective_never_rises,
    check_it_learns,
    check_mean_of_samples_predicts_better_than_one,
    check_threads_do_not_change_the_model,
    check_resumes_bit_for_bit,
    check_stops_when_asked,
    check_leaves_the_problem_alone,
    check_leaves_the_process_alone,
    check_copies_are_equal,
)
