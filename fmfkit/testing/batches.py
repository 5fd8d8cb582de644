"""Whether each element of a batch gets what it would get alone, in any batch, whatever was asked before."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmfkit.testing.common import SEED, frozen
from fmfkit.testing.verdict import fail, require

Arrays = Mapping[str, NDArray[Any]]
"""What a method is given, by name: arrays of one length."""
Call = Callable[..., Any]
"""A method that takes the arrays, in their order, and returns an array of their length, or one number for all."""

LARGE = (1_000, 4_096, 5_003, 16_384, 65_536, 70_001, 100_000, 131_072, 150_001, 1_100_003)
"""Lengths of batches: solvers have some of more than 100,000 pairs."""
ALONE = 500
"""Elements that are asked about one by one."""


def answer(call: Call, given: Arrays) -> NDArray[Any]:
    """Return what a method gives, one number for each element."""
    arrays = [frozen(array) for array in given.values()]
    return np.array(np.broadcast_to(call(*arrays), arrays[0].shape))


def rounding(found: NDArray[Any], given: Arrays) -> NDArray[Any]:
    """Return by how much the order of arithmetic may change an answer."""
    eps = float(np.finfo(next(iter(given.values())).dtype).eps)
    return np.asarray(256 * eps * (1 + np.abs(found) + sum(np.abs(array) for array in given.values())))


def _taken(given: Arrays, which: Any) -> dict[str, NDArray[Any]]:
    return {name: array[which] for name, array in given.items()}


def _compare(what: str, given: Arrays, together: NDArray[Any], other: NDArray[Any]) -> None:
    with np.errstate(invalid="ignore"):
        close = np.abs(other - together) <= rounding(together, given)
    same = close | (other == together) | (np.isnan(other) & np.isnan(together))
    require(same, what, **given, together=together, otherwise=other)


def same_in_any_batch(name: str, call: Call, given: Arrays) -> None:
    """Fail unless each element's answer is the same in another order, alone, in short, long and two-way batches."""
    rng = np.random.default_rng(SEED)
    together = answer(call, given)
    length = len(together)
    order = rng.permutation(length)
    shuffled = np.empty_like(together)
    shuffled[order] = answer(call, _taken(given, order))
    _compare(f"{name} is another for an element taken in another order", given, together, shuffled)
    for size, most in ((1, ALONE), (2, 100), (3, 100), (17, 40), (37, 40), (300, 20)):
        for begin in rng.choice(max(length - size, 1), min(most, length)):
            part = slice(begin, begin + size)
            alone = answer(call, _taken(given, part))
            how = "alone" if size == 1 else f"with {size - 1} others"
            _compare(f"{name} is another for an element taken {how}", _taken(given, part), together[part], alone)
    for size in LARGE:
        which = rng.integers(length, size=size)
        many = _taken(given, which)
        _compare(f"{name} is another in a batch of {size}", many, together[which], answer(call, many))
    table = _taken(given, rng.integers(length, size=(40, 25)))
    flat = {key: array.ravel() for key, array in table.items()}
    _compare(f"{name} is another in a batch of two ways", flat, answer(call, flat), answer(call, table).ravel())


def remembers_nothing(calls: Mapping[str, Call], first: Arrays, other: Arrays) -> None:
    """Fail unless answers are the same after other questions, in room that held something else, and many calls on."""

    def lengthened(given: Arrays, by: int) -> dict[str, NDArray[Any]]:
        return {name: np.append(array, array[:by]) for name, array in given.items()}

    # of other lengths, so that nothing that is kept for a length can stand in for them
    wanted = {
        name: (answer(call, lengthened(first, 1))[:-1], answer(call, lengthened(other, 2))[:-2])
        for name, call in calls.items()
    }
    for name, call in calls.items():
        again = answer(call, first)
        for before, asked in calls.items():
            answer(asked, first)
            _compare(f"{name} is another after {before} of other numbers", other, wanted[name][1], answer(call, other))
        if not np.array_equal(again, answer(call, first), equal_nan=True):
            fail(f"{name} answers otherwise the second time")
        _compare(f"{name} is another after other questions", first, wanted[name][0], again)
        room = {key: array.copy() for key, array in first.items()}
        views = [array.view() for array in room.values()]
        call(*views)
        for key, array in room.items():
            array[...] = other[key]
        found = np.array(np.broadcast_to(call(*views), views[0].shape))
        _compare(f"{name} is another in arrays that held other numbers before", other, wanted[name][1], found)
        for _ in range(2000):
            call(*(array[:3] for array in views))
        if not np.array_equal(again, answer(call, first), equal_nan=True):
            fail(f"{name} answers otherwise after 2000 calls")


@contextmanager
def threads_in_turns() -> Iterator[None]:
    """Let Python's threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def same_from_threads(call: Callable[[int], Any], tasks: int = 32, rounds: int = 1) -> None:
    """Fail unless calls made at once from several threads answer as those made one after the other."""

    def ask(n: int) -> Any:
        with np.errstate(all="ignore"):  # each thread has a state of its own
            return call(n)

    alone = [ask(n) for n in range(tasks)]
    with threads_in_turns(), ThreadPoolExecutor(4) as pool:
        together = list(pool.map(ask, list(range(tasks)) * rounds))
    for n, found in enumerate(together):
        if not np.array_equal(alone[n % tasks], found, equal_nan=True):
            fail("called from several threads at once it answers otherwise than called alone", call=n % tasks)


__all__ = ["answer", "remembers_nothing", "rounding", "same_from_threads", "same_in_any_batch"]
