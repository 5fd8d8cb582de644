"""Trains small problems of all kinds on the ranks that there are; rank 0 writes what came out of them, bit for bit."""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from fmfkit_mpi import Group
from problems import CASES, SHAPES, observations

from fmfkit import Objective, Penalties, Problem, fit


def train(group, shape, case, dtype, threads, *, weighted):
    options = dict(CASES[case])
    if isinstance(options["penalty"], dict):
        options["penalty"] = Penalties(**options["penalty"])
    problem = Problem(observations(group, shape, dtype, weighted=weighted), Objective(rank=11, **options))
    model = fit(problem, solver="sharded", rounds=4, threads=threads, seed=4)
    own = problem.X.own[problem.X.own >= 0]
    P = np.concatenate(group.each(model.P[own])), model.P[problem.X.shared]
    bits = hashlib.sha256(b"".join(np.ascontiguousarray(W).tobytes() for W in (*P, model.Q))).hexdigest()
    return {"bits": bits, "objective": [record.objective.hex() for record in model.history]}


def chosen():
    for shape in SHAPES:
        binary = SHAPES[shape].binary
        for case in CASES:
            if case.startswith("logistic") == binary:
                for dtype in ("float32", "float64"):
                    yield shape, case, dtype


def main(out, shards):
    found = {}
    with Group(int(shards)) as group:
        for n, (shape, case, dtype) in enumerate(chosen()):
            for threads in (1, 2) if n % 3 == 0 else (1,):
                found[f"{shape}, {case}, {dtype}, {threads} threads"] = train(
                    group, shape, case, dtype, threads, weighted=bool(n % 2)
                )
        if group.rank == 0:
            Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
