"""Checkpoints by shard: each rank keeps those that it has, and any number of ranks goes on from them, bit for bit.

A folder has ``latest.json``, which is replaced when all that it names is on the disks, and one folder for each round
that it may name, with a safetensors file for each shard and one for what all shards share.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import weakref
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from fmfkit_mpi.group import Group
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

import fmfkit
from fmfkit import Problem, RoundEvent, RoundRecord, State, Strengths, callbacks
from fmfkit.commands import differences, locked, spelled
from fmfkit.errors import CheckpointError, WriteError

FORMAT = "fmfkit shards 2"
LATEST, ORDINARY = "latest.json", "journal.json"
"""What has been kept; and what a checkpoint of a fit in one process has instead."""
Arrays = dict[str, NDArray[Any]]


def _interval(given: float | str) -> int | float:
    """Return a number of rounds, as int, or of seconds, as float, of 5 or "60s"."""
    if isinstance(given, float):
        return given
    try:
        value = float(given[:-1]) if isinstance(given, str) and given.endswith("s") else int(given)
    except ValueError:
        value = 0
    if not value > 0:
        raise ValueError(f"every: expected a number of rounds, such as 5, or of seconds, such as '60s', got {given!r}")
    return value


@attrs.define(eq=False)
class ShardCheckpoint:
    """Keeps where a fit stands, shard by shard; ``begin`` returns where it stood."""

    group: Group
    folder: Path = attrs.field(converter=Path)
    every: int | float = attrs.field(default=60.0, converter=_interval)
    """How many rounds, such as 5, or seconds, such as "60s", may be lost."""
    resume: bool = False
    watch: callbacks.KeepBest | None = None
    """What chooses the round, and has a past that matters."""
    work: Mapping[str, str] = attrs.field(factory=dict, kw_only=True)
    """What the fits belong to, by name: data, settings. Another one is refused."""
    history: list[RoundRecord] = attrs.field(factory=list, init=False)
    """The records of all rounds, those before the checkpoint too."""
    _read: dict[str, Any] | None = attrs.field(default=None, init=False)
    _kept: float = attrs.field(factory=time.monotonic, init=False)
    _since: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        """Make the folder, and refuse one that another job works in, or that holds what would be lost."""
        self.group.agreed(self._open)

    def _open(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            weakref.finalize(self, os.close, locked(self.folder))
        except OSError as error:
            raise WriteError(f"{self.folder}: cannot be written to: {error.strerror}", error.errno) from error
        if (self.folder / ORDINARY).exists() or any(self.folder.glob("*.fmf")):
            raise CheckpointError(
                f"{self.folder}: it holds a checkpoint of a fit in one process; give another folder, or go on from it "
                "in one process"
            )
        if (self.folder / LATEST).exists() and not self.resume:
            raise CheckpointError(f"{self.folder}: it holds a checkpoint; go on from it (--resume), or give another")

    def begin(self, problem: Problem) -> State | None:
        """Return where the fit of a problem stood, if it did; refuse what belongs to something else."""
        latest = self.folder / LATEST
        known = self.group.agreed(lambda: json.loads(latest.read_text()) if latest.exists() else None)
        self.group.keeps(f"{self.folder} keeps no round yet" if known is None else self._told(known["state"]["round"]))
        if known is None:
            return None
        if found := differences(known["identity"], self._identity(problem)):
            raise CheckpointError(
                f"{self.folder}: its checkpoint is of something else: {'; '.join(found)}. Repeat what was asked for "
                "then, or give another folder"
            )
        self._read = known
        self.history = [RoundRecord(**record) for record in known["history"]]
        P, Q = self._assembled(problem, "P", "Q")
        strengths = None if known["strengths"] is None else _strengths(known["strengths"], problem.strengths)
        state = known["state"]
        return State(P=P, Q=Q, seed=state["seed"], round=state["round"], strengths=strengths)

    def within(self, name: str) -> ShardCheckpoint:
        """Return one for a fit that follows, in a folder within this one's."""
        return ShardCheckpoint(self.group, self.folder / name, self.every, self.resume, work=self.work)

    def _told(self, after: int) -> str:
        return f"{self.folder} keeps round {after}: the same command with --resume goes on from there"

    def _assembled(self, problem: Problem, mine: str, shared: str) -> tuple[NDArray[Any], NDArray[Any]]:
        assert self._read is not None
        folder = self.folder / self._read["at"]
        with safe_open(folder / "shared.safetensors", "numpy") as file:
            P = np.zeros((problem.X.cols, problem.rank + problem.query_bias), problem.dtype)
            P[problem.X.shared] = file.get_tensor(f"shared.{mine}")
            Q = file.get_tensor(shared)
        for own, name, digest in self._shards(problem):
            with safe_open(folder / name, "numpy") as file:
                if file.metadata()["pairs"] != digest:
                    raise CheckpointError(f"{folder / name}: its pairs are not those of now; the data must be the same")
                P[own] = file.get_tensor(mine)
        return P, Q

    def __call__(self, event: RoundEvent) -> None:
        """Keep the round, if it is time; called after all other callbacks."""
        if event.moment == "start" and self._read is not None:
            return
        self.history.append(event.record)
        self._since += event.moment == "round"
        last = event.record.round >= event.last or event.stopped is not None

        def due() -> bool:
            seconds = time.monotonic() - self._kept
            return self._since >= self.every if isinstance(self.every, int) else seconds >= self.every

        if self._since and (last or self.group.agreed(due)):
            self._write(event.problem, event.state)
            self._kept, self._since = time.monotonic(), 0

    def watched(self) -> Callable[[RoundEvent], None]:
        """Return the watch as a callback that remembers what was before."""
        watch = self.watch
        assert watch is not None

        def call(event: RoundEvent) -> None:
            if event.moment == "start" and self._read is not None:
                best = self._read["best"]
                P, Q = self._assembled(event.problem, "best.P", "best.Q")
                watch.remember({**best, "P": P, "Q": Q}, event)
            else:
                watch(event)

        return call

    def _write(self, problem: Problem, state: State) -> None:
        at = f"{state.round:08}"
        folder = self.folder / at
        folder.mkdir(exist_ok=True)
        kept: Arrays = {"P": state.P}
        shared: Arrays = {"Q": state.Q}
        best: Mapping[str, Any] | None = None if self.watch is None else self.watch.memory()
        if best is not None:
            kept["best.P"], shared["best.Q"] = best["P"], best["Q"]
        for own, name, digest in self._shards(problem):
            _save(folder / name, {key: W[own] for key, W in kept.items()}, {"pairs": digest})
        if self.group.rank == 0:
            shared |= {f"shared.{key}": W[problem.X.shared] for key, W in kept.items()}
            _save(folder / "shared.safetensors", shared, {})
        self.group.each(None)  # all of it is on the disks
        if self.group.rank == 0:
            rest = None if best is None else {name: best[name] for name in ("values", "standing")}
            text = json.dumps(
                {
                    "format": FORMAT,
                    "at": at,
                    "identity": self._identity(problem),
                    "state": {"seed": state.seed, "round": state.round},
                    "strengths": None if state.strengths is None else _listed(state.strengths),
                    "history": [attrs.asdict(record) for record in self.history],
                    "best": rest,
                }
            )
            _replace(self.folder / LATEST, lambda part: part.write_text(text))
            for old in self.folder.glob("[0-9]" * 8):
                if old.name != at:
                    shutil.rmtree(old)
        self.group.keeps(self._told(state.round))

    def _shards(self, problem: Problem) -> list[tuple[NDArray[Any], str, str]]:
        """Return of each shard here its own features, its file, and a digest of its pairs."""
        division = problem.observations.division
        assert division is not None
        found = []
        for place, shard in enumerate(self.group.mine):
            own, pairs = problem.X.own[division.rows(place)], division.pairs(problem.query.pairs, place)
            digest = zlib.crc32(pairs.y.data, zlib.crc32(pairs.other.data, zlib.crc32(pairs.ptr.data)))
            found.append((own[own >= 0], f"shard-{shard:05}.safetensors", f"{digest:08x}"))
        return found

    def _identity(self, problem: Problem) -> dict[str, str]:
        fit = {
            "format": FORMAT,
            "shards": str(self.group.shards),
            "rank": str(problem.rank),
            "precision": str(problem.dtype),
            "loss": spelled(problem.loss),
            "penalty": spelled(problem.penalty),
            "offset": repr(problem.offset),
            "fmfkit": fmfkit.__version__,
        }
        return {**self.work, **fit}


def _save(path: Path, arrays: Arrays, about: dict[str, str]) -> None:
    """Write arrays, and see them to the disk."""

    def write(part: Path) -> None:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, part, about)

    _replace(path, write)


def _replace(path: Path, write: Callable[[Path], Any]) -> None:
    """Let a file that is written elsewhere, and is on the disk, take the place of another."""
    part = path.with_suffix(".part")
    try:
        write(part)
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except (SafetensorError, OSError) as error:
        raise WriteError(f"{path}: cannot be written: {error}", getattr(error, "errno", None)) from error


def _listed(strengths: Strengths) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.tolist()
        return {name: plain(one) for name, one in value.items()} if isinstance(value, dict) else value

    found: dict[str, Any] = plain(attrs.asdict(strengths))
    return found


def _strengths(given: dict[str, Any], like: Strengths | None) -> Strengths:
    """Return the strengths of a checkpoint; ``like`` are those that a fit begins with."""
    if like is None:
        raise CheckpointError("its checkpoint is of a fit that learns strengths")

    def side(one: dict[str, Any], of: Any) -> Any:
        arrays = {name: one[name] if one[name] is None else np.array(one[name]) for name in ("factors", "bias")}
        return attrs.evolve(of, **arrays, variance=np.array(one["variance"]), bias_variance=one["bias_variance"])

    rest = {name: value for name, value in given.items() if name not in ("query", "target")}
    query, target = side(given["query"], like.query), side(given["target"], like.target)
    return attrs.evolve(like, query=query, target=target, **rest)


__all__ = ["ShardCheckpoint"]
