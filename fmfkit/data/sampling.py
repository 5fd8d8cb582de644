"""Pairs that are drawn beside the given ones, and weights against how often instances occur."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

By = Literal["uniform", "popularity"]
"""Targets are drawn alike, or as often as they occur in the pairs."""


def check_draws(ratio: float, by: str) -> None:
    """Refuse draws that make no sense."""
    if not 0 < ratio < np.inf:
        raise ValueError(f"ratio: expected a finite number above 0, got {ratio!r}")
    if by not in ("uniform", "popularity"):
        raise ValueError(f"by: expected 'uniform' or 'popularity', got {by!r}")


def frequency_weights(
    pairs: tuple[NDArray[Any], NDArray[Any]], shape: tuple[int, int], power: float, known: Any = slice(None)
) -> NDArray[np.float64]:
    """Return, for each pair, how often its query and target occur in the ``known`` pairs, to the power of -power."""
    weight = np.ones(len(pairs[0]))
    for rows, count in zip(pairs, shape, strict=True):
        often = np.maximum(np.bincount(rows[known], minlength=count), 1)
        weight = weight * ((often / len(rows)) ** -float(power))[rows]
    return weight


def pair_keys(query: NDArray[Any], target: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return one number for each pair."""
    return np.asarray(query.astype(np.int64) * shape[1] + target)


def different(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return different keys in order; NumPy's ``unique`` is slower by far."""
    keys = np.sort(keys)
    return keys[np.append(True, keys[1:] != keys[:-1])] if keys.size else keys


def _missing(keys: NDArray[np.int64], taken: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which keys are not among ``taken``, which is in order."""
    place = np.searchsorted(taken, keys)
    return np.asarray(np.append(taken, -1)[place] != keys)


def draw_pairs(
    wanted: NDArray[np.float64], weight: NDArray[Any], taken: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the keys of different pairs that are not ``taken``, as many of each query as wanted, if there are.

    Targets are drawn by ``weight``, without replacement; those of weight 0 never.
    """
    targets = len(weight)
    possible = weight > 0
    used = np.bincount(taken[possible[taken % targets]] // targets, minlength=len(wanted))
    wanted = np.minimum(wanted, possible.sum() - used).astype(np.int64)
    dense = wanted > 0.1 * (possible.sum() - used)  # trial and error would take long
    sparse = _draw_by_trial(np.where(dense, 0, wanted), weight, taken, rng)
    return np.sort(np.append(sparse, _draw_by_order(np.where(dense, wanted, 0), weight, taken, rng)))


def _draw_by_trial(
    wanted: NDArray[np.int64], weight: NDArray[Any], taken: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw targets, and draw again where one is taken."""
    targets = len(weight)
    share = np.cumsum(weight) / weight.sum()
    found, missing = np.zeros(0, np.int64), wanted
    for _ in range(50):  # a query whose popular targets are nearly all taken may end with fewer
        query = np.repeat(np.arange(len(wanted)), missing)
        key = query * targets + np.searchsorted(share, rng.random(len(query)), side="right").clip(0, targets - 1)
        key = different(key)
        found = np.sort(np.append(found, key[_missing(key, taken) & _missing(key, found)]))
        missing = wanted - np.bincount(found // targets, minlength=len(wanted))
        if not missing.any():
            break
    return found


def _draw_by_order(
    wanted: NDArray[np.int64], weight: NDArray[Any], taken: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Give every target a random time, the sooner the heavier, and take the first of those that are free."""
    targets, found = len(weight), [np.zeros(0, np.int64)]
    rows = np.flatnonzero(wanted)
    with np.errstate(divide="ignore"):
        slowness = 1 / weight
    for part in np.array_split(rows, 1 + len(rows) * targets // 4_000_000):
        times = rng.standard_exponential((len(part), targets)) * slowness
        place = np.full(len(wanted), -1)
        place[part] = np.arange(len(part))
        known = taken[place[taken // targets] >= 0]
        times[place[known // targets], known % targets] = np.inf
        order = np.argsort(times, axis=1)
        first = np.arange(targets) < wanted[part][:, None]
        found.append((part[:, None] * targets + order)[first])
    return np.concatenate(found)


__all__ = ["By", "check_draws", "different", "draw_pairs", "frequency_weights", "pair_keys"]
