"""fmfkit on many machines: queries in shards, sums over them in one order, the same bits on any number of ranks."""

from fmfkit_mpi.checkpoint import ShardCheckpoint
from fmfkit_mpi.group import Group
from fmfkit_mpi.solver import Sharded

__all__ = ["Group", "ShardCheckpoint", "Sharded"]
