"""Without what only POSIX systems have, a model is trained, kept, stopped and saved all the same."""

import subprocess
import sys

from fmfkit import examples

WITHOUT = """
import os, signal, sys, tempfile, types
import attrs, cattrs, click, numpy, packaging.requirements, pluggy, polars, scipy.sparse, threadpoolctl
import safetensors.numpy

for module, names in {
    os: ("fchmod", "fork", "getuid", "register_at_fork", "sched_getaffinity"),
    signal: ("SIGALRM", "SIGHUP", "setitimer", "getitimer", "ITIMER_REAL"),
}.items():
    for name in names:
        delattr(module, name)
for name in ("fcntl", "grp", "pwd", "resource"):
    sys.modules[name] = None
locked = []
sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=lambda *given: locked.append(given))
sys.platform = "win32"

from fmfkit.cli import main
from fmfkit import Recommender

arguments = ["fit", "ratings.csv", "--rank", "2", "--rounds", "2", "--checkpoint", "kept", "--checkpoint-every", "1"]
for _ in range(2):  # the second time the model is replaced
    main([*arguments, "--resume"], standalone_mode=False)
assert [given[1:] for given in locked] == [(2, 1)] * 2, locked
print(Recommender.load("model.fmf").model.rank)
"""


def test_a_fit_needs_nothing_that_only_posix_systems_have(tmp_path):
    examples.ratings(30, 20, 200)[0].write_csv(tmp_path / "ratings.csv")
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "2"
