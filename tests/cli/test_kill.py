"""kill -9 at random moments: never a broken file, at most one interval lost, the same bits in the end.

``FMFKIT_KILLS`` says how often, for each kind of work; once unless given.
"""

import contextlib
import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from bookshop import clicks, write_files
from command import assert_same, invoke

from fmfkit import Recommender, callbacks
from fmfkit.model import file

KILLS = int(os.environ.get("FMFKIT_KILLS", "1"))
LONG = ["--rank", "8", "--rounds", "60", "--patience", "60"]
WORK = {
    "fit": ["ratings.csv", "--targets", "books.csv", *LONG, "--l2", "0.05"],
    "learnt": ["ratings.csv", *LONG],
    "sampler": ["ratings.csv", "--rank", "8", "--rounds", "60", "--solver", "gibbs:keep=2"],
    "tune": ["ratings.csv", "--rank", "8", "--rounds", "15", "--patience", "15", "--l2", "0.1", "--tune", "6"],
    "positives": ["clicks.csv", "--rank", "16", "--rounds", "10", "--patience", "10", "--tune", "5"],
}
ROUND = re.compile(r"^(fit|refit)  round (\d+)/", re.MULTILINE)
TRIAL = re.compile(r"^tune  trial (\d+)/", re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("kill")
    write_files(made)
    data = clicks()
    lines = [f"{u},{i}" for u, i in zip(data.query, data.target, strict=True)]
    (made / "clicks.csv").write_text("user,item\n" + "\n".join(lines))
    return made


def begin(folder, *arguments):
    """Start a fit, and return it as soon as it has read its data, with what it has said."""
    command = [sys.executable, "-m", "fmfkit", "fit", *arguments]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    return process, process.stderr.readline()


def whole(folder, name):
    """Do the work without a kill; return how long it takes with a checkpoint, once the data is read."""
    with contextlib.chdir(folder):
        invoke("fit", *WORK[name], "--out", f"{name}-whole.fmf")
    process, _ = begin(folder, *WORK[name], "--checkpoint", f"{name}-lived", "--checkpoint-every", "1")
    began = time.monotonic()
    process.communicate()
    assert process.returncode == 0
    return time.monotonic() - began


def check_files(folder, kept, out):
    """Assert that every file is whole; return how many trials are over."""
    for path in kept.glob("*.fmf"):
        assert {"model", "fit"} <= {*file.read(path)}
    if (folder / out).exists():
        Recommender.load(folder / out)
    journal = callbacks.Checkpoint(kept, resume=True)._parts if kept.exists() else {}
    return sum("found" in part for part in journal.values())


def check_lost(before, after):
    """Assert that a life began where the one before ended, but for one round."""
    last = {label: int(n) for label, n in ROUND.findall(before)}
    first = {label: int(n) for label, n in reversed(ROUND.findall(after))}
    for label in last.keys() & first.keys():
        assert first[label] >= last[label] - 1


@pytest.mark.parametrize("name", WORK)
def test_a_fit_that_is_killed_again_and_again_ends_alike(folder, name, record_property):
    span, kept, out = whole(folder, name), folder / f"{name}-kept", f"{name}.fmf"
    rng, kills, before, ends = np.random.default_rng(), 0, "", 0
    keeping = ["--checkpoint", kept, "--checkpoint-every", "1", "--resume", "--out", out]
    while kills < KILLS or not ends:
        process, said = begin(folder, *WORK[name], *map(str, keeping))
        if kills < KILLS:
            time.sleep(rng.uniform(0, span))
            process.kill()
        said += process.communicate()[1]
        trials = check_files(folder, kept, out)
        check_lost(before, said)
        if process.returncode == -9:
            kills, before = kills + 1, said
            assert trials >= max(map(int, TRIAL.findall(said)), default=0)
            continue
        assert process.returncode == 0, said
        assert_same(folder / f"{name}-whole.fmf", folder / out)
        ends, before = ends + 1, ""
        for path in [*kept.iterdir(), folder / out]:
            path.unlink()
    record_property("kills", kills)
    print(f"{name}: {kills} kills, {ends} ends, all alike")


SAVING = """
import itertools, sys
from fmfkit import Recommender
models = [Recommender.load(path) for path in sys.argv[1:3]]
print("begun", flush=True)
for n in itertools.count():
    models[n % 2].save(sys.argv[3])
"""


def test_a_model_that_is_saved_while_the_process_is_killed_is_one_of_those_that_were_saved(folder, record_property):
    for n in ("1", "2"):
        process, _ = begin(folder, "ratings.csv", "--rank", "32", "--rounds", n, "--validate", "0", "--out", f"{n}.fmf")
        process.communicate()
    known = [Recommender.load(folder / f"{n}.fmf").model.P.tobytes() for n in ("1", "2")]
    rng, absent = np.random.default_rng(), 0
    for _ in range(KILLS):
        command = [sys.executable, "-c", SAVING, "1.fmf", "2.fmf", "saved.fmf"]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.2))
        process.kill()
        process.communicate()
        if (folder / "saved.fmf").exists():
            assert Recommender.load(folder / "saved.fmf").model.P.tobytes() in known
        else:
            absent += 1
    assert absent <= 1
    record_property("kills", KILLS)
