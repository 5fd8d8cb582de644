"""How many processes a launcher, such as mpirun or srun, started to work together."""

from __future__ import annotations

import os

COUNTS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "SLURM_STEP_NUM_TASKS")
"""Variables by which launchers tell their processes how many there are; none of them is set in a process of its own."""

RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
"""Variables by which they number them; SLURM's is set in batch scripts, too."""


def launched() -> int:
    """Return how many processes a launcher says that it started; 1 without one."""
    for name in COUNTS:
        if (value := os.environ.get(name, "")).isdigit():
            return max(int(value), 1)
    return 1


def place() -> int | None:
    """Return the number, from 0, that a launcher gave this process; None without a launcher.

    A shell that SLURM started alone, in which somebody works, is none.
    """
    if os.environ.get("SLURM_STEP_NUM_TASKS") == "1" and launched() == 1:
        return None
    names = RANKS if launched() == 1 else (*RANKS, "SLURM_PROCID")
    return next((int(value) for name in names if (value := os.environ.get(name, "")).isdigit()), None)


__all__ = ["COUNTS", "RANKS", "launched", "place"]
