"""MPI starts when all ranks have come: where one does not, the others would wait without a word, and without an end."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

from fmfkit.processes import place

START = 60.0
"""Seconds that ranks have to come."""
TURN = 3.0
"""Seconds that other ranks than the first wait longer: one should tell it."""
GUARD = """
import os, select, signal, sys
seconds, process, line = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if not select.select([0], [], [], seconds)[0]:
    os.write(2, line.encode())
    os.kill(process, signal.SIGKILL)
"""
"""A process of its own: while MPI starts, no thread of this one can run."""


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """End this process, with a line that says why, where what is done within takes too long."""
    rank = place() or 0
    line = (
        f"fmfkit: the job ends: rank {rank} on {socket.gethostname()}: MPI has not started within {START:.0f} s: "
        "another rank is stopped, has not been started, or cannot be reached\n"
    )
    words = [str(START + TURN * min(rank, 5)), str(os.getpid()), line]
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", GUARD, *words], stdin=subprocess.PIPE) as guard:
        try:
            yield
        finally:
            assert guard.stdin is not None
            guard.stdin.close()


__all__ = ["START", "guarded"]
