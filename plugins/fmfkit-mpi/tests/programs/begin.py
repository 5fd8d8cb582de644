"""Ranks of which one is stopped while they begin: before MPI has started, or before it has reported to rank 0."""

import os
import signal
import sys
import time

from fmfkit_mpi import Group, start, watch

start.START = watch.REPORT = 2.0
start.TURN = 5.0
how, rank = sys.argv[1], int(os.environ["PMI_RANK"])
print(f"began at {time.time()}", flush=True)
if rank == 1 and how == "before":
    os.kill(os.getpid(), signal.SIGSTOP)
if rank == 1 and how == "after":
    watch.Watch._connect = lambda self: os.kill(os.getpid(), signal.SIGSTOP)
if rank == 0 and how == "first":
    watch.addresses = lambda: os.kill(os.getpid(), signal.SIGSTOP)
with Group(4):
    pass
