import json

import numpy as np
import pytest

SHARDS = 8


@pytest.fixture(scope="session")
def trained(mpiexec, tmp_path_factory):
    """Return a function that trains all problems on some ranks, once."""
    known = {}

    def on(ranks):
        if ranks not in known:
            out = tmp_path_factory.mktemp("trained") / "out.json"
            done = mpiexec(ranks, "train.py", out, SHARDS)
            assert done.returncode == 0, done.stderr
            known[ranks] = json.loads(out.read_text())
        return known[ranks]

    return on


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_parameters_and_objectives_have_the_same_bits_on_any_number_of_ranks(trained, ranks):
    assert trained(ranks) == trained(1)


def test_the_number_of_threads_changes_no_bit(trained):
    found = trained(2)
    several = [name for name in found if name.endswith("2 threads")]
    assert len(several) > 5
    for name in several:
        assert found[name] == found[name.replace("2 threads", "1 threads")]


def test_the_objective_never_rises(trained):
    for name, one in trained(1).items():
        values = [float.fromhex(value) for value in one["objective"]]
        first = 2 if "learnt" in name else 0  # before strengths are held, each round has an objective of its own
        slack = 1e-5 if "float32" in name else 1e-12
        steps = np.diff(values[first:])
        assert (steps <= slack * np.abs(values[first:-1])).all(), name
