"""How many processes a launcher, such as mpirun or srun, started to work together."""

from __future__ import annotations

import os

COUNTS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "SLURM_STEP_NUM_TASKS")
"""Variables by which launchers tell their processes how many there are; none of them is set in a process of its own."""


def launched() -> int:
    """Return how many processes a launcher says that it started; 1 without one."""
    for name in COUNTS:
        if (value := os.environ.get(name, "")).isdigit():
            return max(int(value), 1)
    return 1


__all__ = ["COUNTS", "launched"]
