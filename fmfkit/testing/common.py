"""What several kinds of checks share."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.interfaces import Loss
from fmfkit.problem.problem import Problem
from fmfkit.testing.verdict import Skipped, fail
from fmfkit.training.loop import fit

SEED = 20260101
THREADS = (1, 2, 3, 4)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that cannot be written to."""
    made = array.copy()
    made.setflags(write=False)
    return made


def copies_are_equal(component: Any) -> None:
    """Fail unless copies of a component are equal to it, and its repr says what it is."""
    for how, again in (
        ("copy.copy", copy.copy(component)),
        ("copy.deepcopy", copy.deepcopy(component)),
        ("pickle", pickle.loads(pickle.dumps(component))),
    ):
        if again != component:
            fail(f"a copy made by {how} is not equal to it; attrs.frozen classes are")
        if repr(again) != repr(component):
            fail(f"a copy made by {how} has another repr", copy=repr(again), it=repr(component))
    if type(component).__name__ not in repr(component) or " object at 0x" in repr(component):
        fail("its repr does not tell what it is; attrs.frozen classes have one that does", repr=repr(component))


def problem(
    *,
    loss: Any = "square",
    penalty: Any = "elastic_net",
    y: NDArray[Any] | None = None,
    rank: int = 3,
    dtype: str = "float64",
    weights: bool = False,
) -> Problem:
    """Return a small problem with features of both sides, y drawn from those given."""
    rng = np.random.default_rng(SEED)
    queries, targets = 12, 9
    i, j = np.divmod(rng.choice(queries * targets, 60, replace=False), targets)
    score = rng.normal(size=len(i)) if y is None else rng.choice(y, len(i))
    blocks = [
        {
            "indicator": sp.eye_array(rows, format="csr"),
            "shared": sp.csr_array(np.where(rng.random((rows, 5)) < 0.5, rng.normal(size=(rows, 5)), 0)),
        }
        for rows in (queries, targets)
    ]
    return Problem.from_coo(
        i,
        j,
        score,
        shape=(queries, targets),
        rank=rank,
        X=blocks[0],
        Z=blocks[1],
        loss=loss,
        penalty=penalty,
        weight=rng.choice([0.0, 0.5, 1.0, 3.0], len(i)) if weights else None,
        dtype=dtype,
    )


def never_rises(objectives: list[float], precision: Any, where: str = "") -> None:
    """Fail if an objective rises by more than rounding; ``where`` begins the message."""
    allowed = 40 * float(np.finfo(precision).eps)
    for n, (before, after) in enumerate(itertools.pairwise(objectives)):
        if not after <= before + allowed * (1 + abs(before)):
            fail(f"{where}the objective rises", round=n + 1, before=before, after=after)


def trains(made: Callable[[str], Problem], solvers: tuple[Any, ...]) -> None:
    """Fail unless training with solvers never raises the objective, and is the same on 1 to 4 threads."""
    for solver in solvers:
        for dtype in ("float64", "float32"):
            given = made(dtype)
            models = [fit(given, solver=solver, rounds=4, threads=threads) for threads in THREADS]
            never_rises([record.objective for record in models[0].history], dtype, f"with {solver!r} ")
            for threads, model in zip(THREADS[1:], models[1:], strict=True):
                if not (np.array_equal(models[0].P, model.P) and np.array_equal(models[0].Q, model.Q)):
                    fail(f"with {solver!r} the model differs between 1 and {threads} threads", dtype=dtype)


CANDIDATES = (
    *(
        0.0,
        1.0,
        0.5,
        -1.0,
        2.0,
        3.0,
        4.0,
        5.0,
        6.0,
        7.0,
        8.0,
        9.0,
        10.0,
        -2.0,
        -3.7,
        -10.0,
        0.25,
        2.5,
        20.0,
        50.0,
        -50.0,
    ),
    *(100.0, -100.0, 200.0, 500.0, -500.0, 1e3, 2e3, 5e3, -5e3, 1e4, 2e4, 5e4, -5e4, 1e5, -1e5, 1e6, -1e6),
)
"""Values of y that a loss may take."""


def accepted_y(loss: Loss) -> NDArray[np.float64]:
    """Return those of some y that the loss takes."""
    kept = []
    for y in CANDIDATES:
        try:
            loss.check_y(frozen(np.array([y])))
        except ValueError:
            continue
        kept.append(y)
    if not kept:
        raise Skipped(f"check_y takes none of {CANDIDATES}")
    return np.array(kept)


__all__ = ["accepted_y", "copies_are_equal", "frozen", "never_rises", "problem", "trains"]
