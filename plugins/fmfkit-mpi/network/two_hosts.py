"""A fit on two hosts that is kept after each round; in round 4 something happens to rank 1."""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "programs"))
from fmfkit_mpi import Group, ShardCheckpoint
from problems import CASES, observations

from fmfkit import Objective, Problem, fit

ROUNDS = 8


def fill(folder, full, event):
    """Fill the small disk, and let it be where this host sees the folder of the next checkpoint."""
    with contextlib.suppress(OSError):
        Path(full, "something else").write_bytes(bytes(2**20))
    at = Path(folder, f"{event.record.round:08}")
    at.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", full, at], check=True)


def happen(how, group, folder, full, event):
    """Let something happen to rank 1."""
    if event.record.round < 4 or how == "nothing":
        return
    if group.rank == 1:
        print(f"now: {time.time()}", flush=True)
        if how == "raise":
            raise ValueError("something is wrong")
        if how == "full":
            fill(folder, full, event)
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
        listed = [lambda event: happen(how, group, folder, full, event), checkpoint]
        model = fit(problem, solver="sharded", rounds=ROUNDS - done, seed=4, init=begin, callbacks=listed)
        P = [*group.each(model.P[problem.X.own]), model.P[problem.X.shared], model.Q]
        bits = hashlib.sha256(b"".join(np.ascontiguousarray(W).tobytes() for W in P)).hexdigest()
        if group.rank == 0:
            print(f"sent: {problem.observations.division.sums.traffic.sent}", flush=True)
            history = [record.objective.hex() for record in checkpoint.history]
            Path(folder, "outcome.json").write_text(json.dumps([bits, history]))


if __name__ == "__main__":
    main(*sys.argv[1:])
