"""The TOML file of ``fmfkit fit``: frozen classes, strict, all mistakes told at once."""

from __future__ import annotations

import difflib
import os
import tomllib
from pathlib import Path
from typing import Any, Literal

import attrs
import cattrs
from attrs import validators
from cattrs.errors import ForbiddenExtraKeysError
from cattrs.v import format_exception

from fmfkit.data.blocks import KINDS, Block
from fmfkit.errors import ConfigError


@attrs.frozen(kw_only=True)
class DataConfig:
    """Where the pairs are, and what describes either side. Paths are relative to the file."""

    pairs: str
    queries: str | None = None
    targets: str | None = None
    query: str | None = None
    target: str | None = None
    score: str | None = None
    weight: str | None = None
    time: str | None = None
    implicit: bool = False
    duplicates: Literal["error", "last", "mean"] = "error"
    query_blocks: list[dict[str, Any]] | None = None
    target_blocks: list[dict[str, Any]] | None = None


@attrs.frozen(kw_only=True)
class ModelConfig:
    """What is trained."""

    rank: int = attrs.field(default=32, validator=validators.ge(1))
    loss: str = "square"
    l2: float = attrs.field(default=0.5, validator=validators.ge(0))
    scale: Literal["observations", "uniform"] = "observations"
    bias_l2: float = attrs.field(default=5.0, validator=validators.ge(0))
    growth: float = attrs.field(default=0.0, validator=validators.ge(0))
    strengths: dict[str, float] = attrs.field(factory=dict)
    negatives: float = attrs.field(default=0.0, validator=validators.ge(0))
    fresh: bool = False
    balance: float = attrs.field(default=0.0, validator=[validators.ge(0), validators.le(1)])
    rounds: int = attrs.field(default=30, validator=validators.ge(1))
    tune: int = attrs.field(default=0, validator=validators.ge(0))
    metric: str | None = None
    seed: int = attrs.field(default=0, validator=validators.ge(0))
    validate: float = attrs.field(default=0.1, validator=[validators.ge(0), validators.lt(1)])
    out: str = "model.fmf"


@attrs.frozen(kw_only=True)
class TestConfig:
    """What is held out, and how it is measured."""

    share: float = attrs.field(default=0.0, validator=[validators.ge(0), validators.lt(1)])
    split: Literal["random", "time", "cold-target", "cold-query"] = "random"
    metrics: list[str] = attrs.field(factory=list)


@attrs.frozen(kw_only=True)
class FitConfig:
    """The whole file."""

    data: DataConfig
    model: ModelConfig = attrs.field(factory=ModelConfig)
    test: TestConfig = attrs.field(factory=TestConfig)


def read_config(path: str | os.PathLike[str]) -> FitConfig:
    """Read and check a file; a ConfigError tells every mistake with its place."""
    text = Path(path).read_bytes()
    try:
        given = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    mistakes: list[str] = []
    config: FitConfig | None = None
    try:
        config = _converter().structure(given, FitConfig)
    except cattrs.BaseValidationError as error:
        mistakes += cattrs.transform_error(error, path="config", format_exception=_told)
    data = given.get("data")
    for side in ("query_blocks", "target_blocks"):
        listed = data.get(side) if isinstance(data, dict) else None
        for n, block in enumerate(listed if isinstance(listed, list) else []):
            try:
                make_block(block)
            except (ConfigError, TypeError, ValueError) as error:
                mistakes.append(f"{error.args[0]} @ config.data.{side}[{n}]")
    if mistakes or config is None:
        raise ConfigError(f"{path}: {len(mistakes)} mistakes:\n" + "\n".join(f"  {mistake}" for mistake in mistakes))
    folder = Path(path).parent
    places: dict[str, Any] = {
        name: str(folder / value) for name in ("pairs", "queries", "targets") if (value := getattr(config.data, name))
    }
    out = str(folder / config.model.out)
    for side in ("query_blocks", "target_blocks"):
        listed = getattr(config.data, side)
        places[side] = None if listed is None else [_placed(block, folder) for block in listed]
    return attrs.evolve(
        config, data=attrs.evolve(config.data, **places), model=attrs.evolve(config.model, out=out)
    )  # fmt: skip


def make_block(given: Any) -> Block:
    """Make a feature block from its table: ``kind`` and the block's own names."""
    if not isinstance(given, dict) or "kind" not in given:
        raise ConfigError(f"expected a table with a kind, one of {sorted(KINDS)}")
    options = {name: value for name, value in given.items() if name != "kind"}
    if given["kind"] not in KINDS:
        raise ConfigError(f"unknown kind {given['kind']!r}{_suggest(str(given['kind']), list(KINDS))}")
    kind = KINDS[given["kind"]]
    names = [field.name for field in attrs.fields(kind)]
    for name in options:
        if name not in names:
            raise ConfigError(f"unknown key {name!r}{_suggest(name, names)}")
    for field in attrs.fields(kind):
        if field.default is attrs.NOTHING and field.name not in options:
            raise ConfigError(f"required key {field.name!r} is missing")
    return kind(**options)


def _placed(block: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return a block's table with its paths, such as a Neighbours' links, relative to the file's folder."""
    paths = [field.name for field in attrs.fields(KINDS[block["kind"]]) if field.metadata.get("source")]
    return block | {name: str(folder / block[name]) for name in paths if isinstance(block.get(name), str)}


def _suggest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1, 0.5)
    return f", did you mean {near[0]!r}?" if near else f"; there are {known}"


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=True)
    converter.register_structure_hook_func(lambda kind: kind == list[str], _strings)
    for kind, allowed in ((int, (int,)), (float, (int, float)), (str, (str,)), (bool, (bool,))):
        converter.register_structure_hook(kind, _strict(kind, allowed))
    return converter


def _strict(kind: type, allowed: tuple[type, ...]) -> Any:
    def structure(value: Any, _: Any) -> Any:
        if type(value) not in allowed:
            raise TypeError(f"expected {kind.__name__}, got {type(value).__name__} {value!r}")
        return kind(value)

    return structure


def _strings(value: Any, _: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"expected a list of str, got {type(value).__name__} {value!r}")
    return value


def _told(error: BaseException, kind: type | None) -> str:
    if isinstance(error, ForbiddenExtraKeysError):
        names = [field.name for field in attrs.fields(error.cl)]
        return "; ".join(f"unknown key {name!r}{_suggest(name, names)}" for name in sorted(error.extra_fields))
    if isinstance(error, KeyError):
        return f"required key {error.args[0]!r} is missing"
    if isinstance(error, TypeError | ValueError):
        return str(error).partition("\n")[0]
    if "not in literal" in str(error):
        return str(error).replace("not in literal typing.Literal", "is none of ")
    return str(format_exception(error, kind))


__all__ = ["FitConfig", "read_config"]
