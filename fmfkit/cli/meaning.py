"""Errors of meaning in the TOML file of ``fmfkit fit``: names that nobody offers, settings that do not go together,
files that are not there. They are looked for in whatever a file says, so that errors of form do not hide them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from fmfkit.errors import DataError, PluginLoadError
from fmfkit.plugins.registry import get_registry, resolve, resolve_callbacks
from fmfkit.recommend import kinds
from fmfkit.recommend.blocks import block_class
from fmfkit.recommend.evaluation import metric_of
from fmfkit.recommend.fmf import FMF
from fmfkit.recommend.loading import loader_of
from fmfkit.recommend.recipe import Recipe
from fmfkit.recommend.settings import metadata_of, names

Check = tuple[str, Callable[[], object]]
"""Where something stands, and what raises an error if it cannot be used."""


def errors_of_meaning(given: Mapping[str, Any], folder: Path, *, sound_model: bool) -> list[str]:
    """Return what cannot be used in a file, each with its location; paths are relative to ``folder``.

    ``sound_model`` says whether the settings are each of the right form, so that it can be seen if they go together.
    """
    model, recipe, data = (_section(given, name) for name in ("model", "recipe", "data"))
    errors = [error for check in (*_components(model), *_names(recipe, data)) for error in _errors(check)]
    if sound_model and not errors:
        errors += _errors(("config.model", partial(FMF, **model)))
    return [*errors, *(error for check in _files(data, folder) for error in _errors(check))]


def _errors(check: Check) -> list[str]:
    where, use = check
    try:
        use()
    except (ValueError, LookupError, TypeError, OSError, PluginLoadError) as error:
        return [f"{error.args[0] if error.args else error} @ {where}"]
    return []


def _section(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    section = given.get(name)
    return section if isinstance(section, dict) else {}


def _components(model: Mapping[str, Any]) -> Iterator[Check]:
    for name in names():
        kind, value = metadata_of(name)["kind"], model.get(name)
        if isinstance(kind, kinds.Component) and isinstance(value, str):
            yield f"config.model.{name}", partial(resolve, kind.kind, value)


def _names(recipe: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Check]:
    uses: dict[str, Callable[[Any], object]] = {
        "metric": metric_of,
        "metrics": metric_of,
        "callbacks": resolve_callbacks,
    }
    for key, use in uses.items():
        listed = recipe.get(key)
        for value in listed if isinstance(listed, list) else [listed]:
            if isinstance(value, str):
                yield f"config.recipe.{key}", partial(use, value)
    tune, validate = recipe.get("tune", 0), recipe.get("validate", 0.1)
    if type(tune) is int and tune > 0 and validate == 0:
        yield "config.recipe.tune", Recipe(tune=tune, validate=0.0).check
    if isinstance(loader := data.get("loader"), str):
        yield "config.data.loader", partial(loader_of, loader)


def _files(data: Mapping[str, Any], folder: Path) -> Iterator[Check]:
    if isinstance(pairs := data.get("pairs"), str):
        yield "config.data.pairs", partial(_find, folder / pairs)
    for side in ("queries", "targets"):
        described = data.get(side)
        table = described.get("table") if isinstance(described, dict) else described
        if isinstance(table, str):
            yield f"config.data.{side}", partial(_find, folder / table)
        blocks = described.get("blocks") if isinstance(described, dict) else None
        for n, block in enumerate(blocks if isinstance(blocks, list) else []):
            for path in _sources(block):
                yield f"config.data.{side}.blocks[{n}]", partial(_find, folder / path)


def _sources(block: Any) -> list[str]:
    """Return the files that a feature block names."""
    kind = block.get("kind") if isinstance(block, dict) else None
    known = {name.rpartition(":")[2] for name in get_registry().names("block")}
    if not isinstance(kind, str) or kind.rpartition(":")[2] not in known:
        return []
    sources = [field.name for field in attrs.fields(block_class(kind)) if field.metadata.get("source")]
    return [block[name] for name in sources if isinstance(block.get(name), str)]


def _find(path: Path) -> None:
    if not path.exists():
        raise DataError(f"{path}: there is no such file")


__all__ = ["errors_of_meaning"]
