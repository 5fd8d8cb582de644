"""What an installed fmfkit must be able to do: train, answer, save and load, and the same on two threads as on one."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from fmfkit import FMF, Dataset, Recommender, build_info, callbacks, examples


def main():
    ratings, readers, books = examples.ratings()
    train, test = Dataset.of(ratings, queries=readers, targets=books).split_random(0.1)
    model = FMF(rank=8, threads=1).fit(train)
    compared = model.compare(test)
    assert compared.value < 0.8 * compared.baselines["biases alone"], compared
    with tempfile.TemporaryDirectory() as folder:
        again = FMF(rank=8, threads=2).fit(train, callbacks=callbacks.Checkpoint(Path(folder, "kept"), every=5))
        assert np.array_equal(model.model.P, again.model.P)
        model.save(Path(folder, "model.fmf"))
        model.save(Path(folder, "model.fmf"))  # what is there is replaced
        assert Recommender.load(Path(folder, "model.fmf")).recommend([17], 3).equals(model.recommend([17], 3))
        ratings.write_csv(Path(folder, "ratings.csv"))
        command = (sys.executable, "-m", "fmfkit", "fit", "ratings.csv", "--rank", "4", "--test", "0.1")
        subprocess.run(command, cwd=folder, check=True)
    print(sys.version, build_info(), compared)


if __name__ == "__main__":
    main()
