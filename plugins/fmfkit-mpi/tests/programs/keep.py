"""A fit that is kept by shard, and chooses its round on held-out pairs; with `die`, a rank fails in the middle."""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from fmfkit_mpi import Group, ShardCheckpoint
from problems import CASES, observations

from fmfkit import Objective, Problem, callbacks, fit

ROUNDS = 6


def measured(group, problem):
    """Return a measure that falls for some rounds: what is chosen must be kept, too."""

    def measure(model):
        own = np.concatenate(group.each(model.P[problem.X.own]))
        return abs(float(np.square(own, dtype=np.float64).sum()) - 40)

    return measure


def main(folder, out, how):
    with Group(8) as group:
        problem = Problem(observations(group, "weibo", "float32"), Objective(rank=11, **CASES["logistic, learnt"]))
        watch = callbacks.KeepBest(measured(group, problem), False, "size", 99)
        checkpoint = ShardCheckpoint(group, folder, 1, resume=True, watch=watch)
        begin = checkpoint.begin(problem)

        def die(event):
            if how == "die" and event.record.round == 4 and group.rank == group.size - 1:
                raise OSError(28, "No space left on device")

        done = 0 if begin is None else begin.round
        listed = [checkpoint.watched(), die, checkpoint]
        model = fit(problem, solver="sharded", rounds=ROUNDS - done, seed=4, init=begin, callbacks=listed)
        best = watch.restore(problem, model)
        P = [*group.each(model.P[problem.X.own]), model.P[problem.X.shared]]
        P += [*group.each(best.P[problem.X.own]), best.P[problem.X.shared]]
        bits = hashlib.sha256(b"".join(np.ascontiguousarray(W).tobytes() for W in (*P, model.Q, best.Q))).hexdigest()
        history = [record.objective.hex() for record in checkpoint.history]
        if group.rank == 0:
            found = {"bits": bits, "history": history, "values": watch.values, "done": done}
            Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
