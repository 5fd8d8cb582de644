"""A good regularizer of whole rows, and broken ones."""

from __future__ import annotations

import threading

import attrs
import numpy as np

from fmfkit import RowRegularizer
from zoo.keeper import animal

MINIMISES, WORSE = "check_T_minimises", "check_T_never_makes_it_worse"


def lengths(rows):
    largest = np.max(np.abs(rows), axis=1, initial=0)
    scale = np.where(largest > 0, largest, 1)[:, None].astype(rows.dtype)
    return scale[:, 0] * np.sqrt(np.sum((rows / scale) ** 2, axis=1))


@attrs.frozen
class GoodRows(RowRegularizer):
    """0.3 |w|, as it should be."""

    def penalty(self, w, strength=1.0):
        return (strength * w.dtype.type(0.3) * lengths(w)).astype(w.dtype)

    def T(self, x, y, w, strength=1.0):
        threshold = strength * w.dtype.type(0.3) + 0 * y
        pull = y[:, None] * w - x
        length = lengths(pull)
        kept = np.maximum(length - threshold, 0) / np.where(length > 0, length, 1)
        place = (kept / np.where(y > 0, y, 1))[:, None] * pull
        return np.where(y[:, None] > 0, place - w, np.where(threshold[:, None] > 0, -w, 0)).astype(w.dtype)


@animal(MINIMISES, WORSE)
class PaysForEachParameter(GoodRows):
    """Shrinks parameters one by one, and says that it pays for the row."""

    def T(self, x, y, w, strength=1.0):
        place = w - x / np.where(y > 0, y, 1)[:, None]
        room = (strength * 0.3 / np.where(y > 0, y, 1))[..., None] + 0 * place
        return (np.sign(place) * np.maximum(np.abs(place) - 3 * room, 0) - w).astype(w.dtype)


@animal(MINIMISES)
class NeverQuiteZero(GoodRows):
    """Leaves a thousandth of a row that should vanish."""

    def T(self, x, y, w, strength=1.0):
        d = GoodRows.T(self, x, y, w, strength)
        gone = ~(w + d).any(axis=1) & w.any(axis=1)
        return np.where(gone[:, None], d * w.dtype.type(0.999), d)


@animal(MINIMISES, "check_zero_strength_is_the_plain_step")
class RowsOffByAFactor(GoodRows):
    def T(self, x, y, w, strength=1.0):
        return GoodRows.T(self, x, y, w, strength) * w.dtype.type(0.9)


@animal("check_penalty_grows_with_strength", MINIMISES)
class CapsTheStrengthOfRows(GoodRows):
    """No strength above a thousand counts."""

    def penalty(self, w, strength=1.0):
        return GoodRows.penalty(self, w, np.minimum(strength, w.dtype.type(1000)))


@animal("check_is_row_by_row")
class SharesTheThreshold(GoodRows):
    """All rows of a batch have the mean strength."""

    def T(self, x, y, w, strength=1.0):
        return GoodRows.T(self, x, y, w, (np.mean(strength) + 0 * y) if len(y) else strength)

    def penalty(self, w, strength=1.0):
        return GoodRows.penalty(self, w, strength)


@animal("check_single_precision_is_exact")
class RoundsRows(GoodRows):
    """Leaves out what is small, in single precision."""

    def T(self, x, y, w, strength=1.0):
        d = GoodRows.T(self, x, y, w, strength)
        return np.where(np.abs(d) < 1e-3, 0, d).astype(w.dtype) if w.dtype == np.float32 else d


@animal("check_keeps_shape_and_dtype")
class PenaltyInAColumn(GoodRows):
    """A penalty in a column, where there is one row."""

    def penalty(self, w, strength=1.0):
        found = GoodRows.penalty(self, w, strength)
        return found[:, None] if len(w) == 1 and w.shape[1] == 1 else found


@animal("check_leaves_its_input_alone")
class RowsInPlace(GoodRows):
    def T(self, x, y, w, strength=1.0):
        d = GoodRows.T(self, x, y, w, strength)
        if x.flags.writeable:
            x += 1
        return d


@animal("check_constraints_are_respected", MINIMISES, WORSE, "check_trains")
class LeavesItsBall(GoodRows):
    """Says that no row is longer than 0.1, and makes some so."""

    def penalty(self, w, strength=1.0):
        return np.where(lengths(w) > 0.1, np.inf, GoodRows.penalty(self, w, strength)).astype(w.dtype)


@animal("check_remembers_nothing")
class RowsOnceSeen(GoodRows):
    """Keeps the answer for arrays at the same place."""

    seen = {}  # noqa: RUF012 - it is the fault

    def penalty(self, w, strength=1.0):
        place = (w.ctypes.data, w.shape) if w.flags.writeable else None
        if place is None:
            return GoodRows.penalty(self, w, strength)
        return self.seen.setdefault(place, GoodRows.penalty(self, w, strength))


@animal("check_copies_are_equal")
class RowsWithoutEquality(GoodRows):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


@animal("check_is_safe_from_several_threads")
class RowsInOneRoom(GoodRows):
    scratch = np.zeros((900, 4))

    def penalty(self, w, strength=1.0):
        if w.shape != self.scratch.shape:
            return GoodRows.penalty(self, w, strength)
        for _ in range(3):
            self.scratch[:] = w
            threading.Event().wait(0.0005)
        return GoodRows.penalty(self, self.scratch, strength)


@animal("check_leaves_the_process_alone")
class RowsThatReseed(GoodRows):
    def penalty(self, w, strength=1.0):
        np.random.seed(0)  # noqa: NPY002 - it is the fault
        return GoodRows.penalty(self, w, strength)
