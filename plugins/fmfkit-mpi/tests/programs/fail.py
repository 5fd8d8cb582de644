"""A fit in which one rank fails in some way, which the job must not outlive."""

import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from fmfkit_mpi import Group, ShardCheckpoint
from problems import CASES, observations

from fmfkit import Objective, Problem, fit


def trouble(how, rank, event):
    if event.record.round < 2 or rank != 1:
        return
    print(f"{how} at {time.time()}", flush=True)
    if how == "raise":
        raise OSError(28, "No space left on device")
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "term":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(20)
    if how == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if how == "flip":
        event.state.Q[0, 0] += 1e-3
    if how == "exit":
        sys.exit("no more")


with Group(4) as group:
    problem = Problem(observations(group, "yahoo", "float32"), Objective(rank=11, **CASES["square"]))
    callbacks = [lambda event: trouble(sys.argv[1], group.rank, event)]
    if len(sys.argv) > 2:
        checkpoint = ShardCheckpoint(group, sys.argv[2], 1)
        checkpoint.begin(problem)
        callbacks += [checkpoint, lambda event: print(f"kept {event.record.round}", flush=True)]
    fit(problem, solver="sharded", rounds=10**6, callbacks=callbacks)
