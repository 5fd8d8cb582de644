"""Fits beside each other, in threads and in processes, give the bits that they give alone."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import side_by_side
from side_by_side import SOLVERS, trained

FITS = int(os.environ.get("FMFKIT_FITS", "27"))
"""How many fits each way of starting them gets."""


def test_fits_in_several_threads_of_python_give_the_same_bits(record_property):
    alone = [trained(number) for number in range(len(SOLVERS))]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(trained, [number % len(SOLVERS) for number in range(FITS)]))
    assert found == [alone[number % len(SOLVERS)] for number in range(FITS)]
    record_property("fits", FITS)


@pytest.mark.parametrize("method", ["fork", "forked after threads", "forkserver", "spawn", "loky", "threading"])
def test_fits_in_other_processes_give_the_same_bits(method, record_property):
    if method in ("loky", "threading"):
        pytest.importorskip("joblib")
    support = Path(side_by_side.__file__)
    environment = os.environ | {"PYTHONPATH": str(support.parent)}
    run = [sys.executable, str(support), method, "2", str(FITS)]
    done = subprocess.run(run, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [trained(number) for number in range(FITS)]
    record_property("fits", FITS)
