"""Fits in other processes: run as a script, it prints a digest of what each process has trained."""

from __future__ import annotations

import hashlib
import multiprocessing
import sys
import warnings

from laws import DESCENT, STOCHASTIC
from problems import Case

from fmfkit import LearntPenalty, fit, solvers

SOLVERS = [*DESCENT, solvers.Gibbs(), *STOCHASTIC]


def digest(model):
    return hashlib.sha256(model.P.tobytes() + model.Q.tobytes()).hexdigest()


def trained(number, threads=2):
    """Return a digest of a model; two numbers have different problems and, mostly, solvers."""
    solver = SOLVERS[number % len(SOLVERS)]
    case = Case(seed=number, dtype="float32" if number % 2 else "float64", loss="square")
    problem = case.build(penalty=LearntPenalty(rounds=1)) if isinstance(solver, solvers.Gibbs) else case.build()
    threads = threads if solver.deterministic else 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a forked process has one thread, and says so
        return digest(fit(problem, solver=solver, rounds=3, threads=threads))


def main(method, workers, fits):
    """Train in so many processes, started by a method of multiprocessing, or by joblib's."""
    if method == "forked after threads":
        trained(0)  # several threads ran in the parent
        method = "fork"
    if method in ("loky", "threading"):
        from joblib import Parallel, delayed

        found = Parallel(n_jobs=workers, backend=method)(delayed(trained)(number) for number in range(fits))
    else:
        with multiprocessing.get_context(method).Pool(workers) as pool:
            found = pool.map(trained, range(fits))
    print("\n".join(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
