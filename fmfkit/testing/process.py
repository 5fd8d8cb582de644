"""What a component shares with all else in the process, and must leave as it found it."""

from __future__ import annotations

import contextlib
import gc
import itertools
import locale
import logging
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

from fmfkit.testing.verdict import fail

CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time")
DATES = ("strftime", "localtime", "gmtime", "ctime")
LATER = 123 * 86_400 + 5 * 3_600 + 17 * 60 + 11
"""Seconds: another day, hour, minute and second."""


def snapshot() -> dict[str, Any]:
    """Return what a component must not change."""
    return {
        "the state of numpy's global generator": repr(np.random.get_state()),  # noqa: NPY002 - it is looked at
        "the state of Python's generator": random.getstate(),
        "numpy's error state (np.geterr)": (np.geterr(), np.geterrcall(), np.getbufsize()),
        "numpy's print options": repr(np.get_printoptions()),
        "os.environ": dict(os.environ),
        "the current folder": os.getcwd(),
        "the umask": _umask(),
        "the filters of warnings": list(warnings.filters),
        "the locale": locale.setlocale(locale.LC_ALL),
        "sys.path": list(sys.path),
        "the limits of Python": (sys.getrecursionlimit(), sys.getswitchinterval(), gc.isenabled(), gc.get_threshold()),
        "the level of logging": (logging.root.level, logging.root.handlers[:], logging.root.manager.disable),
        "the handlers of signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
        "the processors it may use": os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None,
        "sys.stdout and sys.stderr": (sys.stdout, sys.stderr),
    }


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def compare(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Fail if something changed."""
    changed = [what for what, was in before.items() if was != now[what]]
    if changed:
        fail(f"it changes {' and '.join(changed)}")


@contextlib.contextmanager
def put_back() -> Iterator[None]:
    """Put back, in the end, what a component may have changed."""
    numpy_state, python_state = np.random.get_state(), random.getstate()  # noqa: NPY002
    environment, folder, spoken = dict(os.environ), os.getcwd(), locale.setlocale(locale.LC_ALL)
    path, options, mask = list(sys.path), np.get_printoptions(), _umask()
    with warnings.catch_warnings(), np.errstate():
        try:
            yield
        finally:
            np.random.set_state(numpy_state)  # noqa: NPY002
            random.setstate(python_state)
            if dict(os.environ) != environment:
                os.environ.clear()
                os.environ.update(environment)
            os.chdir(folder)
            os.umask(mask)
            locale.setlocale(locale.LC_ALL, spoken)
            sys.path[:] = path
            np.set_printoptions(**options)


def _no_matter(kind: str, flag: int) -> None:
    """Pass over an error of arithmetic."""


@contextlib.contextmanager
def unchanged() -> Iterator[Callable[[], None]]:
    """Fail if what is done within changes the process, or when the function that is yielded is called."""
    with put_back(), np.errstate(all="call", call=_no_matter), tempfile.TemporaryDirectory() as folder:
        # a state that nobody else would choose, so that every change shows
        np.random.seed(LATER)  # noqa: NPY002
        random.seed(LATER)
        np.set_printoptions(precision=11)
        os.environ |= {"OMP_NUM_THREADS": "5", "PYTHONHASHSEED": "5"}
        kept = os.getcwd()
        os.chdir(folder)
        before = snapshot()

        def look() -> None:
            compare(before, snapshot())

        try:
            yield look
            look()
        finally:
            os.chdir(kept)


@contextlib.contextmanager
def otherwise(number: int) -> Iterator[None]:
    """Seed the global generators with a number, and let the clocks be late and fast: nothing may depend on either."""
    with put_back(), contextlib.ExitStack() as clocks:
        np.random.seed(number)  # noqa: NPY002 - for those that draw from it
        random.seed(number)
        for name in CLOCKS:
            clocks.enter_context(mock.patch.object(time, name, _clock(getattr(time, name), number, name)))
        for name in DATES:
            clocks.enter_context(mock.patch.object(time, name, _date(getattr(time, name), time.time, time.localtime)))
        yield


def _date(real: Callable[..., Any], now: Callable[[], float], date: Callable[[float], Any]) -> Callable[..., Any]:
    """Return a function of the module time that, where it is not told of what time, takes that of another clock."""
    if real.__name__ == "strftime":
        return lambda form, given=None: real(form, date(now()) if given is None else given)
    return lambda given=None: real(now() if given is None else given)


def _clock(real: Callable[[], Any], number: int, name: str) -> Callable[[], Any]:
    """Return a clock that is late, and on which a minute passes each time one looks at it."""
    unit, looks = 10**9 if name.endswith("_ns") else 1, itertools.count(1)
    return lambda: real() + unit * (number * LATER + 60 * next(looks))


__all__ = ["LATER", "compare", "otherwise", "put_back", "snapshot", "unchanged"]
