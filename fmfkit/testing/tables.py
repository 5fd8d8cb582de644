"""Native functions, called with canaries around every array: what losses and regularizers have in common."""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.interfaces import Loss, Regularizer
from fmfkit.native import PRECISIONS, NativeLoss, NativeRegularizer
from fmfkit.testing.batches import threads_in_turns
from fmfkit.testing.common import SEED
from fmfkit.testing.verdict import ConformanceError, NotChecked, Skipped, fail, require

Native = NativeLoss | NativeRegularizer
LENGTHS = (
    *(0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 100, 127, 129, 255, 257, 511, 513, 1000, 1023, 1024, 1025),
    *(1500, 2047, 2049, 3001, 4095, 4096, 4097, 5003, 8191, 10_007, 65_537, 131_075),
)
CANARIES = 1024
"""Numbers before and after each array that nobody may touch."""
CALLS, SECONDS = 300, 0.25
"""Calls that each thread makes while others make theirs, at most, and for how long."""
FUNCTIONS = {"value": (2, 1), "gradient": (2, 1), "curvature": (2, 2), "T": (4, 1), "penalty": (2, 1)}
"""How many arrays a function of a table reads, and how many it writes."""


def native_of(component: Loss | Regularizer) -> Native:
    """Return the native form of a component; skip where there is none, loudly where there could be one."""
    interface, kind = (Loss, NativeLoss) if isinstance(component, Loss) else (Regularizer, NativeRegularizer)
    native = component.native
    if native is None:
        if (
            isinstance(getattr(type(component), "native", None), property)
            and type(component).native is not interface.native
        ):
            raise NotChecked(
                f"{type(component).__name__}.native is None here: its native form is not built, or what it needs is "
                "not installed. Solvers that have it will call what was not checked"
            )
        raise Skipped("it has no native form")
    if not isinstance(native, kind):
        fail(f"native is {type(native).__name__}, expected a fmfkit.native.{kind.__name__}")
    return native


def functions_of(native: Native) -> list[str]:
    """Return the names of a table's functions."""
    if isinstance(native, NativeRegularizer):
        return ["T", "penalty"]
    return ["value", "gradient", "curvature"] if native.has_curvature else ["value", "gradient"]


@attrs.frozen(eq=False)
class Guarded:
    """An array amid canaries."""

    room: NDArray[Any]
    array: NDArray[Any]
    before: bytes

    @classmethod
    def of(cls, values: NDArray[Any], shift: int = 0) -> Guarded:
        """Put a copy of some numbers amid canaries, ``shift`` numbers off the alignment."""
        canary = np.frombuffer(b"\xa5\x5a\xc3\x7f" * 2, values.dtype)[0]
        room = np.full(len(values) + 2 * CANARIES + shift, canary, values.dtype)
        array = room[CANARIES + shift : CANARIES + shift + len(values)]
        array[...] = values
        return cls(room, array, room.tobytes())

    @property
    def first(self) -> int:
        """Where the array begins."""
        return len(self.room) - CANARIES - len(self.array)

    @property
    def address(self) -> int:
        """Where the array begins, in memory: that of an empty one too."""
        return int(self.room.ctypes.data) + self.first * self.room.itemsize

    def touched(self, *, output: bool) -> str | None:
        """Return where somebody wrote who must not."""
        now, was = (np.frombuffer(data, np.uint8) for data in (self.room.tobytes(), self.before))
        changed, first = np.flatnonzero(now != was) // self.room.itemsize, self.first
        if (changed < first).any():
            return "before its beginning"
        if (changed >= first + len(self.array)).any():
            return "past its end"
        return None if output or not changed.size else f"at {int(changed[0] - first)}"


def call(native: Native, name: str, arrays: list[Guarded]) -> None:
    """Call a function of a table on arrays of one length."""
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays), ctypes.c_int64, ctypes.c_void_p)
    function = kind(getattr(native.table, f"{name}_{PRECISIONS[arrays[0].room.dtype]}"))
    function(*(one.address for one in arrays), len(arrays[0].array), native.params_address)


@attrs.frozen
class Calls:
    """Calls a table's functions, and notes what they write elsewhere."""

    native: Native
    troubles: list[str] = attrs.field(factory=list)

    def __call__(self, name: str, *given: NDArray[Any], shift: int = 0) -> list[NDArray[Any]]:
        """Return what a function writes for some arrays."""
        inputs = [Guarded.of(array, shift) for array in given[: FUNCTIONS[name][0]]]
        empty = np.full(len(given[0]), np.nan, given[0].dtype)
        outputs = [Guarded.of(empty, shift) for _ in range(FUNCTIONS[name][1])]
        call(self.native, name, inputs + outputs)
        for number, one in enumerate(inputs + outputs):
            output = number >= len(inputs)
            if where := one.touched(output=output):
                which = f"output {number - len(inputs) + 1}" if output else f"input {number + 1}"
                suffix = PRECISIONS[given[0].dtype]
                self.troubles.append(f"{name}_{suffix} writes to its {which}, {where}, for n = {len(given[0])}")
        if bytes(self.native._room.raw[: len(self.native.params)]) != self.native.params:
            self.troubles.append(f"{name} writes to its params")
            self.native._room.raw = self.native.params.ljust(len(self.native._room.raw), b"\0")
        return [one.array for one in outputs]


Pool = Callable[[np.dtype[Any]], Mapping[str, NDArray[Any]]]
"""Gives the numbers that functions are tried on, by name, in a precision."""


def _batches(pool: Mapping[str, NDArray[Any]], lengths: tuple[int, ...]) -> Iterator[tuple[NDArray[Any], int]]:
    """Yield places in the pool for batches of many lengths, and a shift off the alignment."""
    rng = np.random.default_rng(SEED)
    for number, length in enumerate(lengths):
        yield rng.integers(len(next(iter(pool.values()))), size=length), number % 4


def of_inputs(name: str, pool: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
    """Return those arrays that a function reads: a penalty takes the last two."""
    arrays = list(pool.values())
    return arrays[-2:] if name == "penalty" else arrays


def equals(native: Native, pool: Pool, wanted: Callable[..., dict[str, tuple[NDArray[Any], Any]]]) -> None:
    """Fail unless functions give what NumPy gives for batches of many lengths: ``wanted`` says what, and what sizes it
    is made from, by which rounding is judged."""
    for dtype, close in ((np.dtype(np.float64), 1e-7), (np.dtype(np.float32), 2e-5)):
        given, calls = pool(dtype), Calls(native)
        numpy, length = wanted(*given.values()), len(next(iter(given.values())))
        for which, shift in _batches(given, LENGTHS):
            taken = {key: array[which] for key, array in given.items()}
            for name in functions_of(native):
                outputs = calls(name, *of_inputs(name, taken), shift=shift)
                for found, what in zip(
                    outputs, ("gradient", "curvature") if name == "curvature" else (name,), strict=True
                ):
                    expected, size = (np.broadcast_to(array, length)[which] for array in numpy[what])
                    same = (np.abs(found - expected) <= close * (size + np.abs(expected))) | (found == expected)
                    require(
                        same,
                        f"the native {what} in {dtype} is another, of {name} for n = {len(which)}",
                        **taken,
                        native=found,
                        numpy=expected,
                    )


def writes_its_output_alone(native: Native, pool: Pool, lengths: tuple[int, ...] = LENGTHS) -> None:
    """Fail if functions write elsewhere than to their outputs, or leave a part of these out."""
    for dtype in (np.dtype(np.float64), np.dtype(np.float32)):
        given, calls = pool(dtype), Calls(native)
        for which, shift in _batches(given, lengths):
            taken = {key: array[which] for key, array in given.items()}
            for name in functions_of(native):
                calls(name, *of_inputs(name, taken), shift=shift)
                if calls.troubles:
                    fail(calls.troubles[0])


def is_safe_from_threads(native: Native, pool: Pool) -> None:
    """Fail unless functions that several threads call at once give each what it would get alone."""
    for dtype in (np.dtype(np.float64), np.dtype(np.float32)):
        given = pool(dtype)
        for name, length in itertools.product(functions_of(native), (20_000, 700)):
            reads, writes = FUNCTIONS[name]
            work = []
            for which, _ in _batches(given, (length,) * 4):
                taken = {key: array[which] for key, array in given.items()}
                inputs = [Guarded.of(array) for array in of_inputs(name, taken)[:reads]]
                work.append(inputs + [Guarded.of(np.zeros(length, dtype)) for _ in range(writes)])
            _at_once(native, name, work)


def _at_once(native: Native, name: str, work: list[list[Guarded]]) -> None:
    """Let each thread call a function on arrays of its own, again and again."""
    writes, wanted = FUNCTIONS[name][1], []
    for arrays in work:
        call(native, name, arrays)
        wanted.append([one.array.copy() for one in arrays[-writes:]])

    ends = time.perf_counter() + SECONDS

    def again(n: int) -> bool:
        for _ in range(CALLS):
            if time.perf_counter() > ends:
                break
            call(native, name, work[n])
            if not all(map(np.array_equal, wanted[n], (one.array for one in work[n][-writes:]))):
                return False
        return True

    with threads_in_turns(), ThreadPoolExecutor(len(work)) as threads:
        if not all(threads.map(again, range(len(work)))):
            suffix = PRECISIONS[work[0][0].room.dtype]
            fail(f"{name}_{suffix}, called by {len(work)} threads at once, answers otherwise than called alone")


def refuse_untidy(component: Loss | Regularizer, pool: Pool) -> None:
    """Fail, before it is trained, a component whose native functions write where they must not."""
    try:
        native = native_of(component)
    except Skipped:
        return
    try:
        writes_its_output_alone(native, pool, LENGTHS[:24])
    except ConformanceError as error:
        fail(f"it is not trained, for that might end the process: {error}")


__all__ = [
    "Calls",
    "equals",
    "functions_of",
    "is_safe_from_threads",
    "native_of",
    "refuse_untidy",
    "writes_its_output_alone",
]
