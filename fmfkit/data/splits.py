"""Ways to hold a part of the pairs out: each returns which pairs are for testing."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfkit.arguments import whole
from fmfkit.data.times import as_times
from fmfkit.errors import DataError
from fmfkit.typing import SideName

Mask = NDArray[np.bool_]
Split = Literal["random", "per-query", "last-per-query", "time", "cold-target", "cold-query"]
"""How ``fmfkit fit`` holds pairs out."""
SPLITS: tuple[Split, ...] = get_args(Split)


def random(count: int, share: float, seed: int) -> Mask:
    """A random share of the pairs."""
    return np.asarray(np.random.default_rng(seed).random(count) < checked_share(share))


def per_query(query: NDArray[np.int32], share: float, seed: int) -> Mask:
    """A random share of the pairs of each query that has several, of which at least one stays."""
    rng = np.random.default_rng(seed)
    return _some_of_each(query, _share_of_each(query, share, rng), rng)


def last_per_query(query: NDArray[np.int32], time: NDArray[np.generic] | None, share: float, seed: int) -> Mask:
    """The latest share of the pairs of each query that has several, of which at least one stays."""
    wanted = _share_of_each(query, share, np.random.default_rng(seed))
    return _first_of_each(query, wanted, _latest_first(time, "split_last_per_query"))


def _share_of_each(query: NDArray[np.int32], share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how many pairs of each query are a share of them, less than all."""
    counts = np.bincount(query)
    several = np.where(counts > 1, counts, 0)
    order = rng.permutation(len(counts))
    # numbers are rounded up or down such that all together are the share of all
    until = np.floor(np.cumsum(checked_share(share) * several[order]) + rng.random())
    wanted = np.empty_like(counts)
    wanted[order] = np.diff(until, prepend=0)
    return np.minimum(wanted, np.maximum(counts - 1, 0))


def leave_out(query: NDArray[np.int32], k: int, seed: int) -> Mask:
    """k random pairs of each query that has more than k."""
    return _some_of_each(query, _several(query, k), np.random.default_rng(seed))


def leave_last(query: NDArray[np.int32], time: NDArray[np.generic] | None, k: int) -> Mask:
    """The k latest pairs of each query that has more than k; of pairs at one time, those that come last."""
    return _first_of_each(query, _several(query, k), _latest_first(time, "split_leave_last"))


def _latest_first(time: NDArray[np.generic] | None, split: str) -> NDArray[np.float64]:
    """Return the place of each pair from the latest to the first."""
    known = _known(time, split)
    earlier = np.empty(len(known))
    earlier[np.argsort(known, kind="stable")] = np.arange(len(known))
    return -earlier


def _several(query: NDArray[np.int32], k: int) -> NDArray[np.int64]:
    """k for each query that has more than k pairs, else 0."""
    return np.where(np.bincount(query) > whole("k", k, least=1), k, 0)


def _some_of_each(query: NDArray[np.int32], wanted: NDArray[np.int64], rng: np.random.Generator) -> Mask:
    """As many random pairs of each query as wanted."""
    return _first_of_each(query, wanted, rng.random(len(query)))


def _first_of_each(query: NDArray[np.int32], wanted: NDArray[np.int64], place: NDArray[np.float64]) -> Mask:
    """As many pairs of each query as wanted, those with the least ``place``."""
    order = np.lexsort((place, query))
    in_order = query[order]
    rank = np.arange(len(query)) - np.searchsorted(in_order, in_order)
    test = np.zeros(len(query), bool)
    test[order] = rank < wanted[in_order]
    return test


def latest(time: NDArray[np.generic] | None, share: float) -> Mask:
    """The latest share of the pairs."""
    order = np.argsort(_known(time, "split_by_time"), kind="stable")
    test = np.zeros(len(order), bool)
    test[order[len(order) - round(checked_share(share) * len(order)) :]] = True
    return test


def _known(time: NDArray[np.generic] | None, split: str) -> NDArray[np.generic]:
    """Return the time of each pair, which must be known."""
    if time is None:
        raise DataError(f"{split}: the pairs have no time; name its column: Dataset.of(..., time=...), or --time")
    known = pl.Series(time, nan_to_null=True)
    if known.is_null().any():
        raise DataError(f"{split}: some pairs have no time; leave them out, or use another split")
    if known.dtype != pl.String:
        return time
    try:  # what could not be understood when it was read
        return as_times(known).to_numpy()
    except DataError as error:
        raise DataError(f"{split}: {error}") from None


def cold(rows: NDArray[np.int32], share: float, seed: int) -> Mask:
    """All pairs of a random share of the instances that have pairs."""
    seen = np.flatnonzero(np.bincount(rows))
    chosen = np.zeros(int(rows.max()) + 1, bool)
    count = max(1, round(checked_share(share) * len(seen)))
    chosen[np.random.default_rng(seed).choice(seen, count, replace=False)] = True
    return np.asarray(chosen[rows])


def checked_side(side: str) -> SideName:
    """Return "query" or "target"."""
    if side not in ("query", "target"):
        raise ValueError(f"side: expected 'query' or 'target', got {side!r}")
    return "query" if side == "query" else "target"


def checked_share(share: float) -> float:
    """Return a share between 0 and 1."""
    if not 0 < share < 1:
        raise ValueError(f"share: expected a number between 0 and 1, got {share!r}")
    return share


__all__ = [
    "SPLITS",
    "Mask",
    "Split",
    "cold",
    "last_per_query",
    "latest",
    "leave_last",
    "leave_out",
    "per_query",
    "random",
]
