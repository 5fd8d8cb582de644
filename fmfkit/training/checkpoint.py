"""Checkpoints: a folder keeps where fits stand, and the same fits, begun anew, go on from there, bit for bit.

The folder has a model file for each fit, which also says what only a running fit knows, and a journal of what needs no
model: how good the trials of a search were, and what the fits belong to. Fits and trials are known by their number, in
the order in which they begin: work that is the same begins the same ones.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import attrs
import numpy as np

from fmfkit._kernels.library import build_info
from fmfkit.errors import CheckpointError, ModelFileError
from fmfkit.files import replacing
from fmfkit.model import file
from fmfkit.model.model import Model
from fmfkit.model.parts import record
from fmfkit.plugins import description
from fmfkit.problem.observations import Observations
from fmfkit.sections import Arrays, Section
from fmfkit.training.events import INTERRUPTED, Callback, RoundEvent
from fmfkit.training.folders import locked, refuse_shards
from fmfkit.training.identity import differences, identity_of, spelled
from fmfkit.training.records import RoundRecord
from fmfkit.training.stages import Place
from fmfkit.training.state import State

if TYPE_CHECKING:
    from fmfkit.training.loop import RunningFit

FIT = "fit"
"""The section of a file that says what only a running fit knows."""
JOURNAL = "journal.json"
FORMAT = "fmfkit checkpoint 1"


def _interval(given: Any) -> int | float:
    """Return a number of rounds, as int, or of seconds, as float, of what a user writes: 5, or "60s"."""
    if isinstance(given, str):
        number, unit = (given[:-1], given[-1:]) if given.endswith("s") else (given, "")
        try:
            value = float(number) if unit else int(number)
        except ValueError:
            value = -1
    else:
        value = given if isinstance(given, int) and not isinstance(given, bool) else -1
    if not 0 < value < math.inf:
        raise ValueError(f"every: expected a number of rounds, such as 5, or of seconds, such as '60s', got {given!r}")
    return value


@attrs.frozen(eq=False, kw_only=True)
class Saved:
    """What a checkpoint holds of a fit."""

    state: State
    history: tuple[RoundRecord, ...]
    stopped: str | None
    """Why the fit is over before its last round, if it is."""
    entered: tuple[Place, ...]
    """The places of the stages that have begun, and are not over."""
    reason: str
    """Why there are no more rounds, where all stages are over."""
    memories: list[tuple[str, Section]]
    """The class of each callback that has a memory, and what it remembers."""


@attrs.define(eq=False)
class Checkpoint:
    """Keeps where a fit stands in a folder; the same call with ``resume=True`` goes on from there, bit for bit.

    What is there is replaced at once, and only by what is whole and on the disk. A callback whose past matters has a
    method ``memory``, which returns a mapping of names to arrays and what JSON can hold, and a method
    ``remember(memory, event)``, which is called in place of the start of a fit that goes on. To any other callback such
    a fit is one that starts with the last round that was kept.
    """

    folder: Path = attrs.field(converter=Path)
    every: int | float | str = attrs.field(default="60s", converter=_interval)
    """How many rounds, such as 5, or seconds, such as "60s", may be lost. The end of a fit is always kept."""
    resume: bool = False
    """Whether to go on from what the folder holds; without it, a folder that holds something is refused."""
    _number: int = attrs.field(default=0, init=False)
    """Of the fit or trial that has begun last."""
    _trying: bool = attrs.field(default=False, init=False)
    _asked: bool = attrs.field(default=False, init=False)
    _interrupted: bool = attrs.field(default=False, init=False)
    _fit: RunningFit | None = attrs.field(default=None, init=False, repr=False)
    _identity: dict[str, str] = attrs.field(factory=dict, init=False, repr=False)
    _kept: tuple[float, int, bool] = attrs.field(default=(0.0, 0, False), init=False)
    """When the fit was kept last, after which round, and whether it was over."""
    _known: tuple[Observations, dict[str, str]] | None = attrs.field(default=None, init=False, repr=False)
    _parts: dict[str, dict[str, Any]] = attrs.field(init=False, repr=False)
    """What the journal says, by number."""

    def __attrs_post_init__(self) -> None:
        """Make the folder, and refuse one that another process works in, or that holds what would be lost."""
        self.folder.mkdir(parents=True, exist_ok=True)
        weakref.finalize(self, os.close, locked(self.folder))
        refuse_shards(self.folder)
        held = (self.folder / JOURNAL).exists() or any(self.folder.glob("*.fmf"))
        if held and not self.resume:
            raise CheckpointError(
                f"{self.folder}: it holds a checkpoint; go on from it (resume=True, --resume), or give another folder"
            )
        for part in self.folder.glob(".fmfkit-*"):
            part.unlink()  # of a process that was killed while it wrote
        self._parts = self._read_journal()

    @property
    def interrupted(self) -> bool:
        """Whether ``stop`` has ended work that was not done."""
        return self._interrupted

    def stop(self) -> None:
        """End the work after the round that runs, which is kept; to be called by a signal's handler, or a thread.

        A fit returns the model of that round. What would come after it raises KeyboardInterrupt.
        """
        self._asked = True

    def belongs_to(self, work: Mapping[str, str]) -> None:
        """Note what the fits that follow belong to, by name; refuse to go on with what belongs to something else.

        Args:
            work: what the work is, by name: data, settings.
        """
        before = self._numbered()
        if before is None:
            self._note({"work": dict(work)})
        else:
            self._refuse(before.get("work", {}), work)

    def trial(self, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return what a trial found, which JSON can hold: from the journal, if it was over before, else by running.

        Args:
            run: makes the trial, and returns what is kept of it.
        """
        self._check_not_stopped()
        before = self._numbered()
        if before is not None:
            return cast(dict[str, Any], before.get("found"))
        self._trying = True
        try:
            found = run()
        finally:
            self._trying = False
        if self._fit is None or not self._kept[2]:
            raise KeyboardInterrupt("stopped within a trial, which is kept")
        self._note({"found": found})
        self._path.unlink(missing_ok=True)
        return found

    def begin(self, fit: RunningFit) -> Saved | None:
        """Return where a fit was, if it had begun before; refuse what another fit left."""
        self._check_not_stopped()
        if fit.problem.loss.learns and description.describe(fit.problem.loss) is None:
            raise CheckpointError(
                f"checkpoint: {fit.problem.loss!r} learns parameters of its own, and no plugin offers it, so that a "
                "file cannot hold them; offer it by a plugin, or leave out the checkpoint"
            )
        if not self._trying:
            self._number += 1
        self._fit, self._identity = fit, self._of(fit)
        self._kept = time.monotonic(), fit.state.round, False
        if not self._path.exists():
            return None
        saved = self._read(fit)
        self._kept = time.monotonic(), saved.state.round, bool(saved.stopped) or saved.state.round >= fit.last
        return saved

    def __call__(self, event: RoundEvent) -> None:
        """Keep the fit after a round, if it is time; called after all other callbacks."""
        fit, (when, after, over) = self._fit, self._kept
        if fit is None or fit.state is not event.state:
            raise CheckpointError("checkpoint: give it to the fit itself, not to a stage or to another callback")
        if self._asked and event.record.round < event.last:
            event.stop(INTERRUPTED)
            self._interrupted |= event.stopped == INTERRUPTED
        ends = event.record.round >= event.last or event.stopped not in (None, INTERRUPTED)
        rounds, seconds = event.record.round - after, time.monotonic() - when
        due = rounds >= self.every if isinstance(self.every, int) else seconds >= cast(float, self.every)
        if (rounds and (due or event.stopped)) or (ends and not over):
            self._write(fit, event)
            self._kept = time.monotonic(), event.record.round, ends

    @property
    def _path(self) -> Path:
        return self.folder / f"{self._number:04}.fmf"

    def _check_not_stopped(self) -> None:
        if self._asked:
            self._interrupted = True
            raise KeyboardInterrupt("stopped; what was done is kept")

    def _of(self, fit: RunningFit) -> dict[str, str]:
        """Return what a fit is; the same data is looked at once."""
        data = fit.problem.observations
        if self._known is None or self._known[0] is not data:
            pairs = data.by_query
            given = pairs.ptr, pairs.other, pairs.y, pairs.weight
            self._known = data, {"pairs": spelled(given), "X": spelled(data.X.by_row), "Z": spelled(data.Z.by_row)}
        return self._known[1] | identity_of(fit)

    def _write(self, fit: RunningFit, event: RoundEvent) -> None:
        stopped = None if event.stopped == INTERRUPTED else event.stopped
        model = Model.of(fit.problem, fit.state, tuple(fit.history), stopped, embeddings=event.embeddings)
        about: dict[str, Any] = {
            "identity": self._identity,
            "standing": standing(fit.state),
            "entered": [list(place) for place in fit.stages.entered],
            "reason": fit.stages.reason,
            "isa": build_info()["isa"],
        }
        memories, arrays = _packed([*fit.callbacks, *fit.stages.callbacks])
        sections = {"model": model.section(), FIT: Section(about | {"memories": memories}, arrays)}
        file.write(self._path, sections)

    def _read(self, fit: RunningFit) -> Saved:
        sections = file.read(self._path)
        if FIT not in sections:
            raise ModelFileError(f"{self._path}: a model, but no checkpoint of a fit")
        section = sections[FIT]
        with file.checking(self._path):
            before, held = section.part("identity").about, file.section_of(sections, "model")
            isa = section.text("isa")
        self._refuse(before, self._identity)
        self._compare_isa(isa)
        with file.checking(self._path):
            loss = None if fit.problem.loss.learns else fit.problem.loss
            model = Model.of_section(held, self._path, loss=loss, threads=fit.state.threads)
            state = with_standing(attrs.evolve(model.state, solver=fit.solver), section.part("standing"))
            return Saved(
                state=state,
                history=model.history,
                stopped=model.stopped,
                entered=tuple(_place(place) for place in section.items("entered")),
                reason=section.text("reason"),
                memories=_unpacked(section),
            )

    def _refuse(self, before: Mapping[str, str], now: Mapping[str, str]) -> None:
        if found := differences(before, now):
            raise CheckpointError(
                f"{self.folder}: its checkpoint is of something else: {'; '.join(found)}. Repeat what was asked for "
                "then, or give another folder"
            )

    def _compare_isa(self, before: str) -> None:
        """Warn where the numbers so far come from kernels of another instruction set: their sums round differently."""
        if before != (now := build_info()["isa"]):
            mend = f"; set FMFKIT_ISA={before} for the same bits" if before in build_info()["isa_available"] else ""
            warnings.warn(
                f"{self.folder}: it was kept with the instruction set {before}, and this process works with {now}: the "
                f"result may differ in the last digits{mend}",
                stacklevel=2,
            )

    def _numbered(self) -> dict[str, Any] | None:
        """Begin the next part of the work; return what the journal says of it, if it does."""
        self._number += 1
        return self._parts.get(str(self._number))

    def _note(self, entry: dict[str, Any]) -> None:
        self._parts[str(self._number)] = entry
        isa = build_info()["isa"]
        journal = {"format": FORMAT, "digest": _digest(self._parts), "isa": isa, "parts": self._parts}
        with replacing(self.folder / JOURNAL) as written:
            written.write(json.dumps(journal, indent=1).encode())

    def _read_journal(self) -> dict[str, Any]:
        path = self.folder / JOURNAL
        if not path.exists():
            return {}
        try:
            found = json.loads(path.read_bytes())
        except ValueError as error:
            raise CheckpointError(f"{path}: not JSON ({error}); give another folder") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise CheckpointError(f"{path}: not a journal of this fmfkit's checkpoints; give another folder")
        parts = found.get("parts")
        if not isinstance(parts, dict) or found.get("digest") != _digest(parts):
            raise CheckpointError(f"{path}: not as it was written: it does not match its digest; give another folder")
        self._compare_isa(str(found.get("isa")))
        return parts


def _digest(parts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def standing(state: State) -> dict[str, Any]:
    """Return what a model file leaves out of a state, and JSON can hold."""
    return {
        "round": state.round,
        "record": None if state.record is None else attrs.asdict(state.record),
        "turns": [[list(place), list(turn)] for place, turn in state.turns.items()],
        "spent": [[list(place), seconds] for place, seconds in state.spent.items()],
    }


def with_standing(state: State, given: Section) -> State:
    """Return a state with what ``standing`` returned of another."""
    return attrs.evolve(
        state,
        round=given.whole("round"),
        record=None if given.get("record") is None else record(given.part("record")),
        turns={_place(place): _turn(turn) for place, turn in given.items("turns")},
        spent={_place(place): float(seconds) for place, seconds in given.items("spent")},
    )


def _place(given: Any) -> Place:
    if type(given) is not list or not all(type(index) is int and index >= 0 for index in given):
        raise ValueError(f"expected the place of a solver, got {given!r}")
    return tuple(given)


def _turn(given: Any) -> tuple[int, int]:
    index, rounds = _place(given)
    return index, rounds


def _packed(callbacks: Sequence[Callback]) -> tuple[list[Any], Arrays]:
    """Return what callbacks remember: what JSON can hold, and arrays."""
    about: list[Any] = []
    arrays: Arrays = {}
    for callback in callbacks:
        if not hasattr(callback, "memory"):
            continue
        memory = callback.memory()
        held = {name: value for name, value in memory.items() if isinstance(value, np.ndarray)}
        arrays |= {f"{len(about)}.{name}": value for name, value in held.items()}
        rest = {name: value for name, value in memory.items() if name not in held}
        about.append({"of": type(callback).__name__, "memory": rest})
    return about, arrays


def _unpacked(section: Section) -> list[tuple[str, Section]]:
    memories = section.parts("memories")
    return [
        (one.text("of"), Section(one.part("memory").about, section.within(f"{n}."))) for n, one in enumerate(memories)
    ]


def remind(callbacks: Sequence[Callback], memories: list[tuple[str, Section]], event: RoundEvent) -> None:
    """Give callbacks their memories back; those that have none see a start."""
    remembering: list[Any] = [callback for callback in callbacks if hasattr(callback, "remember")]
    names, kept = [type(callback).__name__ for callback in remembering], [name for name, _ in memories]
    if names != kept:
        raise CheckpointError(f"callbacks: the checkpoint's were {kept}, those given are {names}; give the same")
    for callback, (name, memory) in zip(remembering, memories, strict=True):
        try:
            callback.remember(memory.about | memory.arrays, event)
        except (LookupError, TypeError, ValueError) as error:
            raise CheckpointError(f"{name}: it cannot take up what the checkpoint holds of it ({error})") from error
    for callback in callbacks:
        if callback not in remembering:
            callback(event)


def checkpoint_of(callbacks: Any) -> Checkpoint | None:
    """Return the checkpoint among callbacks, if there is one."""
    several = [callbacks] if isinstance(callbacks, str) or callable(callbacks) else callbacks
    found = [callback for callback in several if isinstance(callback, Checkpoint)]
    if len(found) > 1:
        raise ValueError(f"callbacks: expected one Checkpoint at most, got {len(found)}")
    return found[0] if found else None


def tried(checkpoint: Checkpoint | None, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what a trial finds, or has found before, if a checkpoint knows."""
    return run() if checkpoint is None else checkpoint.trial(run)


__all__ = ["Checkpoint", "Saved", "checkpoint_of", "remind", "standing", "tried", "with_standing"]
