"""A walk along penalties: each fit starts from the one before, on observations that are laid out once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from fmfkit.interfaces import Solver
from fmfkit.model.model import Model
from fmfkit.problem.objective import AnyPenalty, LearntPenalty, Penalties, Penalty
from fmfkit.problem.problem import Problem
from fmfkit.training.events import INTERRUPTED, AnyCallback
from fmfkit.training.loop import fit
from fmfkit.training.state import State


def path(
    problem: Problem,
    *,
    l2: Sequence[float] | None = None,
    penalty: Sequence[AnyPenalty] | None = None,
    solver: Solver | str = "panel",
    rounds: int = 10,
    seed: int = 0,
    threads: int | None = None,
    callbacks: AnyCallback | Iterable[AnyCallback] = (),
    init: State | Model | float | None = None,
) -> list[Model]:
    """Train a model for each of some penalties, each fit starting from the one before.

    Go from weak penalties to strong ones: factors that a strong one drove to zero do not come back.

    Args:
        problem: what to learn; its own penalty says what ``l2`` leaves open.
        l2: the l2 of the regularizers of P and Q, and of biases that have their side's penalty.
        penalty: whole penalties instead, as ``problem.replace`` takes them.
        solver: as for ``fit``; a composed one begins anew with each penalty.
        rounds: how many rounds for each penalty, at most.
        seed: as for ``fit``.
        threads: as for ``fit``.
        callbacks: as for ``fit``; a fit that is stopped does not end the walk.
        init: what the first fit starts from, as for ``fit``.

    Returns:
        The models, in the order of the penalties.
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem: expected a fmfkit.Problem, got {type(problem).__name__}")
    if (l2 is None) == (penalty is None):
        raise ValueError("path: expected l2 or penalty, a list of either")
    given = [_with_l2(problem.penalty, value) for value in l2] if l2 is not None else list(penalty or ())
    if not given:
        raise ValueError("path: expected at least one penalty")
    models: list[Model] = []
    for one in [problem.replace(penalty=each) for each in given]:  # all are checked before any work
        options: dict[str, Any] = {"rounds": rounds, "seed": seed, "threads": threads, "callbacks": callbacks}
        model = fit(one, solver=solver, init=init, **options)
        models.append(model)
        if model.stopped == INTERRUPTED:
            break
        init = attrs.evolve(model.state, solver=None)
    return models


def _with_l2(penalty: Penalties | LearntPenalty, value: float) -> Penalties:
    """Return penalties with another l2: of P and Q, and of biases that have their side's penalty."""
    if isinstance(penalty, LearntPenalty):
        raise ValueError("l2: the problem's strengths are learnt; give it a Penalty, or give path penalty=[...]")

    def changed(one: Penalty) -> Penalty:
        regularizer: Any = one.regularizer
        if not attrs.has(type(regularizer)) or "l2" not in attrs.fields_dict(type(regularizer)):
            raise ValueError(f"l2: {regularizer!r} has none; give path penalty=[...]")
        return attrs.evolve(one, regularizer=attrs.evolve(regularizer, l2=value))

    P, Q = changed(penalty.P), changed(penalty.Q)
    return Penalties(
        P=P,
        Q=Q,
        query_bias=P if penalty.query_bias == penalty.P else penalty.query_bias,
        target_bias=Q if penalty.target_bias == penalty.Q else penalty.target_bias,
    )


__all__ = ["path"]
