import os
import subprocess
import sys
from pathlib import Path

import pytest

# two workers of pytest have two cores: threads that wait for one another would take most of the time
os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="session")
def mpiexec():
    """Return a function that runs one of the programs, or fmfkit, on some ranks; it returns what became of it."""

    def run(ranks, program, *arguments, timeout=120):
        launcher = [str(Path(sys.executable).with_name("mpiexec")), "-n", str(ranks)]
        what = ["-m", program] if program == "fmfkit" else [str(PROGRAMS / program)]
        command = [sys.executable, *what, *map(str, arguments)]
        whole = command if ranks == 1 else launcher + command
        return subprocess.run(whole, capture_output=True, text=True, timeout=timeout, check=False)

    return run
