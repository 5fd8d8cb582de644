"""A fit on two hosts that is kept after each round; in round 4 something happens to rank 1."""

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "programs"))
from fmfkit_mpi import Group, ShardCheckpoint
from problems import CASES, observations

from fmfkit import Objective, Problem, fit

ROUNDS = 8


def happen(how, group, full, event):
    """Let something happen to rank 1."""
    if event.record.round < 4 or how == "nothing":
        return
    if group.rank == 1:
        print(f"now: {time.time()}", flush=True)
        if how == "raise":
            raise ValueError("something is wrong")
        if how == "full":
            Path(full, "shard").write_bytes(bytes(2**20))
        if how in ("kill", "stop"):
            os.kill(os.getpid(), signal.SIGKILL if how == "kill" else signal.SIGSTOP)
    if how == "cable":
        time.sleep(2)  # until it is pulled


def main(folder, how, full):
    """Train, or go on; rank 0 writes what came of it, bit for bit."""
    with Group(4) as group:
        problem = Problem(observations(group, "ml10m", "float32"), Objective(rank=11, **CASES["square"]))
        checkpoint = ShardCheckpoint(group, folder, 1, resume=True)
        begin = checkpoint.begin(problem)
        done = 0 if begin is None else begin.round
        listed = [lambda event: happen(how, group, full, event), checkpoint]
        model = fit(problem, solver="sharded", rounds=ROUNDS - done, seed=4, init=begin, callbacks=listed)
        P = [*group.each(model.P[problem.X.own]), model.P[problem.X.shared], model.Q]
        bits = hashlib.sha256(b"".join(np.ascontiguousarray(W).tobytes() for W in P)).hexdigest()
        if group.rank == 0:
            history = [record.objective.hex() for record in checkpoint.history]
            Path(folder, "outcome.json").write_text(json.dumps([bits, history]))


if __name__ == "__main__":
    main(*sys.argv[1:])
