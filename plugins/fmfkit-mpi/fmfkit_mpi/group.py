"""The MPI ranks that train together, and sums over the shards that they have."""

from __future__ import annotations

import functools
import itertools
import os
import socket
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

import attrs
import numpy as np
from fmfkit_mpi.start import guarded
from fmfkit_mpi.tree import Fill, Node, Room, add_up, nodes_of
from fmfkit_mpi.watch import Watch
from numpy.typing import NDArray

import fmfkit
from fmfkit import kernels
from fmfkit.processes import launched

SHARDS = 8
"""Shards unless asked otherwise: their number is part of what is trained, as a seed is."""
SMALL = 4096
"""Arrays of so many numbers or fewer go to all ranks at once."""
PIECE = 2**26
"""Numbers that are exchanged at a time: MPI counts them in 32 bits."""


def world() -> Any:
    """Return all ranks, as mpi4py has them; importing it starts MPI, so it is left until there are several."""
    with guarded():
        from mpi4py import MPI

    return MPI.COMM_WORLD


def range_of(rank: int, ranks: int, shards: int) -> Node:
    """Return the shards that a rank has."""
    return shards * rank // ranks, shards * (rank + 1) // ranks


@attrs.define
class Traffic:
    """What a rank has sent, and how long that took, waiting for others included."""

    sent: int = 0
    """Bytes of sums."""
    calls: int = 0
    seconds: float = 0.0


class GroupSums(kernels.Sums):
    """Sums over the shards of all ranks: first those of a rank, then those of the ranks, in one tree."""

    def __init__(self, comm: Any, shards: int) -> None:
        """Find out who has what; ``comm`` None stands for this process alone."""
        self.comm, self.shards, self.traffic = comm, shards, Traffic()
        self.rank: int = 0 if comm is None else comm.rank
        self.ranks: int = 1 if comm is None else comm.size
        self.mine = range_of(self.rank, self.ranks, shards)
        self.first = self.mine[0]
        self._all = (0, shards)
        self._nodes = [nodes_of(range_of(rank, self.ranks, shards), self._all) for rank in range(self.ranks)]
        self._room = Room()

    def add(self, out: NDArray[Any], fill: Fill) -> None:
        """Write into ``out`` the sum of what ``fill`` writes for each shard."""

        def own(shard: int, into: NDArray[Any]) -> None:
            fill(shard - self.first, into)

        if self.ranks == 1:
            add_up(self._all, out, own, set(), self._room)
            return
        mine = [self._room.take(out) for _ in self._nodes[self.rank]]
        for node, sums in zip(self._nodes[self.rank], mine, strict=True):
            add_up(node, sums.reshape(out.shape), own, set(), self._room)
        began = time.perf_counter()
        flat = out.reshape(-1)
        for begin in range(0, flat.size, PIECE):
            piece = slice(begin, min(begin + PIECE, flat.size))
            join = self._join_small if flat.size <= SMALL else self._join_large
            join(flat[piece], [sums[piece] for sums in mine])
        self.traffic.seconds += time.perf_counter() - began
        self.traffic.calls += 1
        for sums in mine:
            self._room.give(sums)

    def _join_small(self, out: NDArray[Any], mine: list[NDArray[Any]]) -> None:
        """Add up on every rank."""
        counts = [len(nodes) * out.size for nodes in self._nodes]
        received = np.empty(sum(counts), out.dtype)
        self.comm.Allgatherv(np.concatenate(mine), [received, counts])
        self.traffic.sent += counts[self.rank] * out.itemsize * (self.ranks - 1)
        self._add_nodes(received.reshape(-1, out.size), out)

    def _join_large(self, out: NDArray[Any], mine: list[NDArray[Any]]) -> None:
        """Let each rank add up a slice, which is its own, for all."""
        cuts = np.array([out.size * rank // self.ranks for rank in range(self.ranks + 1)])
        sizes = np.diff(cuts)
        if len(mine) == 1:
            sent = mine[0]
        else:
            sent = np.concatenate([sums[a:b] for a, b in itertools.pairwise(cuts) for sums in mine])
        here = int(sizes[self.rank])
        counts = [len(nodes) * here for nodes in self._nodes]
        received = np.empty(sum(counts), out.dtype)
        self.comm.Alltoallv([sent, [len(mine) * int(size) for size in sizes]], [received, counts])
        total = np.empty(here, out.dtype)
        self._add_nodes(received.reshape(-1, here), total)
        self.comm.Allgatherv(total, [out, [int(size) for size in sizes]])
        self.traffic.sent += (len(mine) * (out.size - here) + here * (self.ranks - 1)) * out.itemsize

    def _add_nodes(self, sums: NDArray[Any], out: NDArray[Any]) -> None:
        """Add up what all ranks have, given by rows in the order of the tree."""
        nodes = [node for of_rank in self._nodes for node in of_rank]
        row = {node[0]: place for place, node in enumerate(nodes)}

        def fill(shard: int, into: NDArray[Any]) -> None:
            into[...] = sums[row[shard]]

        add_up(self._all, out, fill, set(nodes), self._room)

    def gather(self, parts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return one array of each shard, of all, in order."""
        if self.ranks == 1:
            return list(parts)
        return [part for of_rank in self.comm.allgather(list(parts)) for part in of_rank]

    def check_same(self, what: str, digest: int, round_: int) -> None:
        """Refuse to go on where ranks have different bits of what all of them have."""
        if self.ranks == 1:
            return
        found = self.comm.allgather((digest, round_, socket.gethostname()))
        usual = max({one[:2] for one in found}, key=lambda key: sum(one[:2] == key for one in found))
        if others := [f"rank {rank} on {one[2]}" for rank, one in enumerate(found) if one[:2] != usual]:
            raise RuntimeError(
                f"{what}: after round {round_} the replicas differ: {', '.join(others)} has other bits than the rest; "
                "its memory or processor may be faulty, or it runs another build of fmfkit"
            )


class Group:
    """The ranks that train together, each with some of the shards. Use it in a ``with`` statement.

    Within it an error of any rank ends the job on all of them, and so does a rank that is no longer heard of.
    """

    def __init__(self, shards: int = SHARDS, *, comm: Any = None) -> None:
        """Take all ranks that a launcher started, or those of a communicator of mpi4py."""
        if comm is None and (started := launched()) > 1:
            comm = world()
            if comm.size != started:
                raise RuntimeError(
                    f"a launcher started {started} processes, and MPI knows of {comm.size}: the launcher and "
                    "mpi4py are of different MPIs; use the mpiexec of mpi4py's, or for SLURM `srun --mpi=pmi2`, or pmix"
                )
        self.comm, self.shards = comm, shards
        self.rank: int = 0 if comm is None else comm.rank
        self.size: int = 1 if comm is None else comm.size
        self._watch: Watch | None = None

    def __enter__(self) -> Self:
        """Agree on what must be the same everywhere, and watch over one another."""
        if self.comm is not None and self.size > 1:
            self._watch = Watch(self.comm)
            with self._watch.ending():
                if self.shards < self.size:
                    raise ValueError(f"shards: {self.shards} for {self.size} ranks; expected at least one for each")
                _level(self.comm)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the job where something was raised."""
        if self._watch is not None:
            self._watch.leave(error)

    @property
    def mine(self) -> range:
        """The shards that are here."""
        return range(*range_of(self.rank, self.size, self.shards))

    def owner(self, shard: NDArray[Any]) -> NDArray[np.int64]:
        """Return the rank that has a shard."""
        begins = [range_of(rank, self.size, self.shards)[0] for rank in range(self.size)]
        return np.searchsorted(begins, shard, side="right") - 1

    @functools.cached_property
    def threads(self) -> int:
        """How many threads suit this rank: ranks on one host share the processors that each of them may use.

        OMP_NUM_THREADS comes first. All ranks must ask at once.
        """
        usable = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
        mine = (socket.gethostname(), frozenset(usable))
        sharing = sum(host == mine[0] and not mine[1].isdisjoint(others) for host, others in self.each(mine))
        threads: int = fmfkit.build_info()["threads"]
        return threads if os.environ.get("OMP_NUM_THREADS") else max(threads // sharing, 1)

    def division(self, cuts: Any, own: tuple[str, ...] = ("indicator",)) -> kernels.Division:
        """Return how the queries that are here are divided: ``cuts`` has the row at which each shard begins, and the
        number of rows; ``own`` names the feature blocks of queries' ids."""
        cuts = np.asarray(cuts, np.int64)
        if len(cuts) != len(self.mine) + 1:
            raise ValueError(f"cuts: {len(cuts)} for {len(self.mine)} shards; expected one more than these")
        return kernels.Division(cuts, GroupSums(self.comm if self.size > 1 else None, self.shards), own)

    def each(self, value: Any) -> list[Any]:
        """Return a value of each rank."""
        return [value] if self.size == 1 else list(self.comm.allgather(value))

    def collect(self, array: NDArray[Any]) -> NDArray[Any] | None:
        """Return the rows of all ranks' arrays on rank 0, in their order; None elsewhere. They may have any size."""
        if self.size == 1:
            return array
        counts, mine = self.comm.gather(len(array)), np.ascontiguousarray(array)
        if counts is None:
            for begin in range(0, mine.size, PIECE):
                self.comm.Send(mine.reshape(-1)[begin : begin + PIECE], 0)
            return None
        out = np.empty((sum(counts), *array.shape[1:]), array.dtype)
        out[: len(array)] = array
        flat, ends = out.reshape(-1), np.cumsum(counts) * (out.size // max(len(out), 1))
        for rank in range(1, self.size):
            for begin in range(int(ends[rank - 1]), int(ends[rank]), PIECE):
                self.comm.Recv(flat[begin : min(begin + PIECE, int(ends[rank]))], rank)
        return out

    def agreed(self, decide: Callable[[], Any]) -> Any:
        """Return what rank 0 decides; an error of it is raised by all."""
        if self.size == 1:
            return decide()
        value, error = None, None
        if self.rank == 0:
            try:
                value = decide()
            except Exception as raised:
                error = raised
        value, error = self.comm.bcast((value, error))
        if error is not None:
            raise error
        return value

    def keeps(self, what: str) -> None:
        """Say what is kept, should the job end: all ranks say it alike."""
        if self._watch is not None:
            self._watch.kept = what


def _level(comm: Any) -> None:
    """Let all ranks use the best instruction set that all of them have, and refuse mixed versions."""
    info = fmfkit.build_info()
    here = {"fmfkit": info["version"], "numpy": np.__version__, "compiler": info["compiler"]}
    everywhere = comm.allgather((info["isa_available"], here, socket.gethostname()))
    for rank, (_, there, host) in enumerate(everywhere):
        for name, version in there.items():
            if version != everywhere[0][1][name]:
                raise RuntimeError(
                    f"rank {rank} on {host} has {name} {version}, rank 0 {everywhere[0][1][name]}: their bits may "
                    "differ; install the same everywhere, such as in one container"
                )
    common = [isa for isa in info["isa_available"] if all(isa in has for has, _, _ in everywhere)]
    kernels.use_instruction_set(common[-1])


__all__ = ["SHARDS", "Group", "GroupSums", "Traffic", "range_of", "world"]
