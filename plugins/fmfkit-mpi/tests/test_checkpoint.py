import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from fmfkit_mpi import Group, ShardCheckpoint

from fmfkit import Objective, Observations, Problem, fit
from fmfkit.errors import CheckpointError


@pytest.fixture
def problem_of():
    """Return a function that makes a small problem of a group."""

    def make(group):
        rng = np.random.default_rng(0)
        cuts = np.linspace(0, 40, len(group.mine) + 1).astype(int)
        data = Observations.from_coo(
            np.arange(40), rng.integers(0, 9, 40), rng.random(40), shape=(40, 9), division=group.division(cuts)
        )
        return Problem(data, Objective(rank=11))

    return make


@pytest.fixture(scope="module")
def kept(mpiexec, tmp_path_factory):
    """A folder that a job left that failed, and what the whole fit is."""
    folder = tmp_path_factory.mktemp("kept")
    whole = mpiexec(1, "keep.py", folder / "whole", folder / "whole.json", "live")
    assert whole.returncode == 0, whole.stderr
    died = mpiexec(2, "keep.py", folder / "died", folder / "died.json", "die")
    assert "No space left on device" in died.stderr
    return folder, json.loads((folder / "whole.json").read_text())


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_fit_that_failed_goes_on_bit_for_bit_on_another_number_of_ranks(mpiexec, kept, ranks, tmp_path):
    folder, whole = kept
    shutil.copytree(folder / "died", tmp_path / "again")
    done = mpiexec(ranks, "keep.py", tmp_path / "again", tmp_path / "out.json", "live")
    assert done.returncode == 0, done.stderr
    again = json.loads((tmp_path / "out.json").read_text())
    assert again.pop("done") == 3
    assert again == {name: value for name, value in whole.items() if name != "done"}


def test_what_is_kept_is_one_round_in_a_file_for_each_shard(kept):
    names = {path.name for path in (kept[0] / "died").rglob("*") if path.is_file()}
    assert names == {"latest.json", "lock", "shared.safetensors", *(f"shard-{n:05}.safetensors" for n in range(8))}


def test_a_checkpoint_of_something_else_is_refused(kept, problem_of):
    folder = kept[0] / "whole"
    group = Group(8)
    with pytest.raises(CheckpointError, match="it holds a checkpoint; go on from it"):
        ShardCheckpoint(group, folder).begin(problem_of(group))
    with pytest.raises(CheckpointError, match="loss was Logistic"):
        ShardCheckpoint(group, folder, resume=True).begin(problem_of(group))
    other = Group(4)
    with pytest.raises(CheckpointError, match="shards was 8"):
        ShardCheckpoint(other, folder, resume=True).begin(problem_of(other))


def test_other_data_and_settings_are_refused_by_name(problem_of, tmp_path):
    group = Group(8)

    def begun(**work):
        problem = problem_of(group)
        checkpoint = ShardCheckpoint(group, tmp_path, 1, resume=True, work=work)
        return fit(problem, solver="sharded", rounds=1, init=checkpoint.begin(problem), callbacks=checkpoint)

    begun(seed="1", targets="sha256 1")
    begun(seed="1", targets="sha256 1")
    with pytest.raises(CheckpointError, match=r"of something else: seed was 1 and is 2; targets differs\. Repeat"):
        begun(seed="2", targets="sha256 2")


def test_a_folder_that_another_job_works_in_is_refused(tmp_path):
    code = f"from fmfkit_mpi import *; kept = ShardCheckpoint(Group(8), {str(tmp_path)!r}); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        with pytest.raises(CheckpointError, match="another process works in it"):
            ShardCheckpoint(Group(8), tmp_path)
        other.communicate(b"\n")


@pytest.mark.parametrize("name", ["journal.json", "0001.fmf"])
def test_a_folder_of_a_fit_in_one_process_is_refused(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(CheckpointError, match="a checkpoint of a fit in one process"):
        ShardCheckpoint(Group(8), tmp_path, resume=True)


def test_a_file_that_cannot_be_written_is_named(problem_of, tmp_path):
    group = Group(8)
    problem = problem_of(group)
    checkpoint = ShardCheckpoint(group, tmp_path / "folder", 1)
    assert checkpoint.begin(problem) is None
    (tmp_path / "folder" / "00000001" / "shard-00003.safetensors").mkdir(parents=True)
    with pytest.raises(OSError, match=r"shard-00003.*: cannot be written"):
        fit(problem, solver="sharded", rounds=1, callbacks=checkpoint)
    assert not (tmp_path / "folder" / "latest.json").exists()


@pytest.mark.parametrize("wrong", [0, "0s", "soon", "5m"])
def test_an_interval_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match="every: expected a number of rounds"):
        ShardCheckpoint(Group(2), "folder", wrong)
