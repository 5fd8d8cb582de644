"""``python -m fmfkit`` is the command line."""

import subprocess
import sys

import fmfkit


def test_python_m_fmfkit_is_the_command():
    done = subprocess.run([sys.executable, "-m", "fmfkit", "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == f"fmfkit, version {fmfkit.__version__}"
