"""The laws of a solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.interfaces import Solver
from fmfkit.model.model import Model
from fmfkit.problem import LearntPenalty, Penalties, Penalty, Problem
from fmfkit.regularizers import ElasticNet
from fmfkit.testing import common
from fmfkit.testing.verdict import Skipped, fail
from fmfkit.training.events import RoundEvent
from fmfkit.training.loop import fit


def _problems(solver: Solver) -> dict[str, Problem]:
    """Return problems of several kinds that the solver does not refuse."""
    kinds: dict[str, Callable[[], Problem]] = {
        "square loss, float64": lambda: common.problem(),
        "square loss, float32, weights": lambda: common.problem(dtype="float32", weights=True),
        "logistic loss": lambda: common.problem(loss="logistic", y=np.array([0.0, 1.0])),
        "l1": lambda: common.problem(penalty=ElasticNet(l1=0.05, l2=0.05)),
        "growth": lambda: common.problem(penalty=Penalty(ElasticNet(l2=0.05), growth=1.5)),
    }
    if solver.learns_strengths:
        kinds["learnt strengths"] = lambda: common.problem(penalty=LearntPenalty(rounds=1))
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


def _biases_only() -> tuple[Problem, float]:
    """Return a problem whose best factors are zero, so that it is ridge regression, and its least objective."""
    rng = np.random.default_rng(common.SEED)
    i, j = np.divmod(rng.choice(20 * 15, 120, replace=False), 15)
    y = rng.normal(size=20)[i] + rng.normal(size=15)[j] + 0.1 * rng.normal(size=len(i))
    still, soft = (Penalty(ElasticNet(l2=l2), scale="uniform") for l2 in (1e4, 0.5))
    made = Problem.from_coo(
        i,
        j,
        y,
        shape=(20, 15),
        rank=1,
        offset=0.0,
        dtype="float64",
        penalty=Penalties(P=still, Q=still, query_bias=soft, target_bias=soft),
    )
    A = np.zeros((len(i), 35))
    A[np.arange(len(i)), i] = 1
    A[np.arange(len(i)), 20 + j] = 1
    best = np.linalg.solve(2 * A.T @ A + 0.5 * np.eye(35), 2 * A.T @ y)
    return made, float(((A @ best - y) ** 2).sum() + 0.25 * (best**2).sum())


def check_reaches_a_known_optimum(solver: Solver) -> None:
    """On a problem that is ridge regression it comes to the least objective: within 0.01 %, or 10 % if not monotone."""
    made, least = _biases_only()
    if list(solver.refusals(made)):
        raise Skipped("it refuses the square loss")
    model = fit(made, solver=solver, rounds=200)
    reached = min(record.objective for record in model.history)
    if reached < least * (1 - 1e-6):
        fail("the objective it reports is below the least there is", reached=reached, least=least)
    if reached > least * (1.0001 if solver.monotone else 1.1):
        fail("200 rounds do not come near the least objective", reached=reached, least=least)


def check_objective_is_what_it_says(solver: Solver) -> None:
    """The objective that a round reports is that of the parameters it left."""
    for where, made in _problems(solver).items():
        model = fit(made, solver=solver, rounds=3)
        again = fit(made, solver=_Idle(), rounds=1, init=model)
        given, true = model.history[-1].objective, again.history[0].objective
        if not abs(given - true) <= 1e-4 * (1 + abs(true)):
            fail(f"{where}: the objective is another", given=given, true=true)


class _Idle(Solver):
    """Does nothing."""

    learns_strengths = True

    def prepare(self, problem: Problem, state: Any) -> None:
        return None

    def round(self, problem: Problem, state: Any, workspace: Any) -> Any:
        from fmfkit.training.records import RoundReport

        return RoundReport()


def check_objective_never_rises(solver: Solver) -> None:
    """A monotone solver never raises the objective, from one round to the next, but for rounding; where it learns
    strengths, from then on."""
    if not solver.monotone:
        raise Skipped("it declares itself not monotone")
    for made in _problems(solver).values():
        history = fit(made, solver=solver, rounds=8).history
        held = max((record.round for record in history if record.learnt), default=0)
        common.never_rises([record.objective for record in history[held:]], made.dtype)


def check_it_learns(solver: Solver) -> None:
    """Twenty rounds lower the objective, by a twentieth at least."""
    if solver.sampler:
        raise Skipped("it samples; see check_mean_of_samples_predicts_better_than_one")
    for where, made in _problems(solver).items():
        history = fit(made, solver=solver, rounds=20).history
        if not min(record.objective for record in history) < 0.95 * history[0].objective:
            fail(f"{where}: it hardly learns", before=history[0].objective, after=history[-1].objective)


def check_mean_of_samples_predicts_better_than_one(solver: Solver) -> None:
    """A sampler's model is the mean of its samples: on new pairs it errs less than one, little more than the truth."""
    if not solver.sampler:
        raise Skipped("it does not sample")
    rng = np.random.default_rng(common.SEED)
    U, V = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    i, j = np.divmod(rng.permutation(60 * 40), 40)
    y = np.sum(U[i] * V[j], axis=1) + 0.5 * rng.normal(size=len(i))
    seen, unseen = slice(0, 900), slice(900, None)
    made = Problem.from_coo(i[seen], j[seen], y[seen], shape=(60, 40), rank=4, penalty=LearntPenalty())
    if list(solver.refusals(made)):
        raise Skipped("it refuses the square loss with learnt strengths")
    model = fit(made, solver=solver, rounds=LearntPenalty().rounds + 40)
    if model.state.mean is None:
        fail("a sampler leaves the mean of its samples in state.mean", mean=None)
    last = Model.of(made, attrs.evolve(model.state, mean=None))
    mean_error, last_error = (
        float(np.sqrt(np.mean((one.score(i[unseen], j[unseen]) - y[unseen]) ** 2))) for one in (model, last)
    )
    if not mean_error < last_error or not mean_error < 1.3 * 0.5:
        fail("the mean of the samples is no good", mean=mean_error, last=last_error, noise=0.5)


def _same(a: Model, b: Model) -> bool:
    return np.array_equal(a.P, b.P) and np.array_equal(a.Q, b.Q)


def check_threads_do_not_change_the_model(solver: Solver) -> None:
    """A deterministic solver gives the same model, bit for bit, on 1, 2 and 4 threads, and the second time."""
    if not solver.deterministic:
        raise Skipped("it declares itself not deterministic")
    for where, made in _problems(solver).items():
        first = fit(made, solver=solver, rounds=4, threads=1)
        for threads in (1, *common.THREADS[1:]):
            if not _same(first, fit(made, solver=solver, rounds=4, threads=threads)):
                fail(f"{where}: the model is another", threads=threads)


def check_resumes_bit_for_bit(solver: Solver) -> None:
    """Two rounds and two more are four rounds, bit for bit."""
    if not solver.deterministic:
        raise Skipped("it declares itself not deterministic")
    for where, made in _problems(solver).items():
        half = fit(made, solver=solver, rounds=2, threads=1)
        if not _same(
            fit(made, solver=solver, rounds=4, threads=1), fit(made, solver=solver, rounds=2, threads=1, init=half)
        ):
            fail(f"{where}: going on differs from not having stopped")


def check_stops_when_asked(solver: Solver) -> None:
    """A callback sees every round, in order, and can end the fit after any of them."""
    made = next(iter(_problems(solver).values()))
    seen: list[int] = []

    def stop(event: RoundEvent) -> None:
        seen.append(event.record.round)
        if event.record.round == 2:
            event.stop("enough")

    model = fit(made, solver=solver, rounds=9, callbacks=stop)
    if seen != [0, 1, 2] or model.stopped != "enough":
        fail("the rounds that a callback saw are others than 0, 1, 2", seen=seen)


def check_leaves_the_problem_alone(solver: Solver) -> None:
    """Scores, features and strengths are the same after training."""
    for where, made in _problems(solver).items():
        before = [array.copy() for array in _arrays(made)]
        fit(made, solver=solver, rounds=2)
        if not all(np.array_equal(a, b) for a, b in zip(before, _arrays(made), strict=True)):
            fail(f"{where}: training changes the problem")


def _arrays(made: Problem) -> list[NDArray[Any]]:
    arrays: list[NDArray[Any]] = []
    for side in made.sides:
        arrays += [side.pairs.ptr, side.pairs.other, side.pairs.y, side.features.row_index]
        arrays += [
            side.features.values_by_row(),
            *(array for part in side.parts for array in (part.strength, part.growth)),
        ]
    return arrays


def check_copies_are_equal(solver: Solver) -> None:
    """Copies, pickled ones too, are equal to it, and its repr tells what it is."""
    common.copies_are_equal(solver)


CHECKS = (
    check_reaches_a_known_optimum,
    check_objective_is_what_it_says,
    check_objective_never_rises,
    check_it_learns,
    check_mean_of_samples_predicts_better_than_one,
    check_threads_do_not_change_the_model,
    check_resumes_bit_for_bit,
    check_stops_when_asked,
    check_leaves_the_problem_alone,
    check_copies_are_equal,
)
