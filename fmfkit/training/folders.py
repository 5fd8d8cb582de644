"""The folders that checkpoints are kept in: one process works in one, and one kind of checkpoint is in it."""

from __future__ import annotations

import os
from pathlib import Path

from fmfkit.errors import CheckpointError
from fmfkit.files import hold

LOCK, SHARDED = "lock", "latest.json"
"""The file that is locked, and what a folder of fmfkit-mpi has."""


def locked(folder: Path) -> int:
    """Return the folder's lock, held until it is closed or the process ends; refuse if another process holds it.

    Args:
        folder: it.
    """
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        hold(lock)
    except (BlockingIOError, PermissionError):
        os.close(lock)
        raise CheckpointError(f"{folder}: another process works in it; wait for it, or give another folder") from None
    except OSError:
        pass  # a file system without locks
    return lock


def refuse_shards(folder: Path) -> None:
    """Refuse a folder with a checkpoint of a fit by shards."""
    if (folder / SHARDED).exists():
        raise CheckpointError(
            f"{folder}: it holds a checkpoint of a fit by shards, which fmfkit-mpi goes on from; give another folder"
        )


__all__ = ["locked", "refuse_shards"]
