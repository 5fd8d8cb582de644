"""Data by the names of loaders: functions of a path, offered by plugins."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from fmfkit.data.dataset import Dataset
from fmfkit.data.tables import Source
from fmfkit.plugins import names
from fmfkit.plugins.registry import get_registry


def read_pairs(path: str | os.PathLike[str], loader: str) -> Dataset | Source:
    """Return what a loader, by name with options, reads from a path: a data set, or a table of pairs."""
    name, options = names.parse(loader)
    return names.make(f"loader {name!r}", functools.partial(loader_of(loader), path), options, {})


def loader_of(loader: str) -> Callable[..., Any]:
    """Return the function that a name, with options, stands for."""
    function: Callable[..., Any] = get_registry().load("loader", names.parse(loader)[0])
    return function


def load_data(path: str | os.PathLike[str], loader: str, **options: Any) -> Dataset:
    """Return the data set that a loader reads from a path.

    Args:
        path: the file or folder.
        loader: its name, with options of its own: "movielens", "movielens:history=true".
        options: as for ``Dataset.of``, where the loader returns a table of pairs.
    """
    loaded = read_pairs(path, loader)
    if not isinstance(loaded, Dataset):
        return Dataset.of(loaded, **options)
    if options:
        raise ValueError(f"{', '.join(options)}: the loader {loader!r} returns a whole data set; leave them out")
    return loaded


__all__ = ["load_data", "loader_of", "read_pairs"]
