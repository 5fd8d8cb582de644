"""The TOML file of ``fmfkit fit``: frozen classes, strict, all errors reported together."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs
import cattrs
from attrs import validators
from cattrs.errors import ForbiddenExtraKeysError
from cattrs.v import format_exception

from fmfkit.cli.common import pairs_of
from fmfkit.cli.meaning import errors_of_meaning
from fmfkit.data.blocks import Block
from fmfkit.data.dataset import Dataset
from fmfkit.data.delimited import BadRows
from fmfkit.data.roles import Duplicates
from fmfkit.data.sides import SideTable
from fmfkit.data.splits import Split
from fmfkit.errors import ConfigError, PluginLoadError, UnknownNameError
from fmfkit.plugins.registry import BUILTIN, get_registry
from fmfkit.recommend import kinds
from fmfkit.recommend.blocks import block_class
from fmfkit.recommend.settings import metadata_of, names


@attrs.frozen(kw_only=True)
class SideConfig:
    """What describes the queries, or the targets."""

    table: str | None = None
    id: str | None = None
    blocks: list[dict[str, Any]] | None = None
    label: str | None = None
    indicator: bool = True

    def side_table(self) -> SideTable:
        """Return it as ``Dataset.of`` takes it."""
        blocks: Any = "guess" if self.blocks is None else [make_block(block) for block in self.blocks]
        return SideTable(self.table, id=self.id, blocks=blocks, label=self.label, indicator=self.indicator)


@attrs.frozen(kw_only=True)
class DataConfig:
    """Where the pairs are, and what describes either side. Paths are relative to the file."""

    pairs: str
    loader: str | None = None
    """What reads the pairs, by name; None: they are a table."""
    queries: SideConfig = attrs.field(factory=SideConfig)
    targets: SideConfig = attrs.field(factory=SideConfig)
    query: str | None = None
    target: str | None = None
    rating: str | None = None
    weight: str | None = None
    time: str | None = None
    history: bool = False
    duplicates: Duplicates = "auto"
    bad_rows: BadRows = "error"

    def dataset(self, duplicates: Duplicates, columns: Mapping[str, str | None] | None) -> Dataset:
        """Read the data; what describes a table is refused where a loader returns a whole data set."""
        bare = DataConfig(pairs=self.pairs, loader=self.loader)
        names = [field.name for field in attrs.fields(DataConfig)]
        given = {name: getattr(self, name) for name in names if getattr(self, name) != getattr(bare, name)}
        pairs = pairs_of(self.pairs, self.loader)
        if isinstance(pairs, Dataset):
            if given:
                raise ConfigError(
                    f"{', '.join(given)}: the loader {self.loader!r} returns a whole data set; leave them out"
                )
            return pairs
        sides = {name: given[name].side_table() for name in ("queries", "targets") if name in given}
        return Dataset.of(pairs, **given | sides | {"duplicates": duplicates, "columns": columns})


@attrs.frozen(kw_only=True)
class RecipeConfig:
    """What is held out, how settings and the round are chosen, what is measured, and where the model goes."""

    test: float = attrs.field(default=0.0, validator=[validators.ge(0), validators.lt(1)])
    split: Split | None = None
    validate: float | None = attrs.field(
        default=None, validator=validators.optional([validators.ge(0), validators.lt(1)])
    )
    """None: a tenth, or none where the fit starts from a model."""
    refit: bool = True
    tune: int = attrs.field(default=0, validator=validators.ge(0))
    metric: str | None = None
    metrics: list[str] = attrs.field(factory=list)
    callbacks: list[str] = attrs.field(factory=list)
    checkpoint: str | None = None
    """The folder that keeps where the work stands."""
    checkpoint_every: str = "60s"
    out: str = "model.fmf"


def _text_type(name: str) -> Any:
    """Return the type that a setting has in a file."""
    kind = metadata_of(name)["kind"]
    if isinstance(kind, kinds.Choice) and kind.numbers is not None:
        return Any  # the kind checks it
    if isinstance(kind, kinds.Choice | kinds.Switch):
        return Literal[kind.options]
    types = {
        kinds.Whole: int,
        kinds.Real: float,
        kinds.Flag: bool,
        kinds.Component: str,
        kinds.Factors: dict[str, float],
    }
    return types[type(kind)]


def _check_setting(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if value is not None:
        metadata_of(attribute.name)["kind"].check(attribute.name, value)


def _settings_class() -> type:
    """Return a class with the settings of ``FMF``: those that a file gives, None for the others."""
    fields = {
        name: attrs.field(default=None, type=_text_type(name) | None, validator=_check_setting, kw_only=True)
        for name in names()
    }
    return attrs.make_class("ModelConfig", fields, frozen=True)


if TYPE_CHECKING:
    ModelConfig = Any
else:
    ModelConfig = _settings_class()


@attrs.frozen(kw_only=True)
class FitConfig:
    """The whole file."""

    data: DataConfig
    model: ModelConfig = attrs.field(factory=ModelConfig)
    recipe: RecipeConfig = attrs.field(factory=RecipeConfig)

    def dataset(self, columns: Mapping[str, str | None] | None = None) -> Dataset:
        """Read the data; repeated pairs are counted if the user says that they are positives.

        ``columns`` are those of a model to start from.
        """
        counted = self.data.duplicates == "auto" and self.settings.get("data") == "positives"
        return self.data.dataset("count" if counted else self.data.duplicates, columns)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that are given."""
        return {name: value for name, value in attrs.asdict(self.model).items() if value is not None}


def read_config(path: str | os.PathLike[str]) -> FitConfig:
    """Read and check a file; a ConfigError reports every error together with its location."""
    text = Path(path).read_bytes()
    try:
        given = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    errors: list[str] = []
    config: FitConfig | None = None
    try:
        config = _converter().structure(given, FitConfig)
    except cattrs.BaseValidationError as error:
        errors += cattrs.transform_error(error, path="config", format_exception=_message)
    errors += _block_errors(given)
    sound = not any("@ config.model" in error for error in errors)
    errors += errors_of_meaning(given, Path(path).parent, sound_model=sound)
    if errors or config is None:
        raise ConfigError(f"{path}: {len(errors)} errors:\n" + "\n".join(f"  {error}" for error in errors))
    return _placed(config, Path(path).parent)


def _block_errors(given: dict[str, Any]) -> list[str]:
    """Return what is wrong with the feature blocks of a file."""
    errors = []
    data = given.get("data")
    for side in ("queries", "targets"):
        described = data.get(side) if isinstance(data, dict) else None
        listed = described.get("blocks") if isinstance(described, dict) else None
        for n, block in enumerate(listed if isinstance(listed, list) else []):
            try:
                make_block(block)
            except (TypeError, ValueError, PluginLoadError) as error:
                errors.append(f"{error.args[0]} @ config.data.{side}.blocks[{n}]")
    return errors


def _placed(config: FitConfig, folder: Path) -> FitConfig:
    """Return a configuration whose paths are relative to the file's folder."""
    sides: dict[str, Any] = {}
    for name in ("queries", "targets"):
        side: SideConfig = getattr(config.data, name)
        table = None if side.table is None else str(folder / side.table)
        blocks = None if side.blocks is None else [_placed_block(block, folder) for block in side.blocks]
        sides[name] = attrs.evolve(side, table=table, blocks=blocks)
    data = attrs.evolve(config.data, pairs=str(folder / config.data.pairs), **sides)
    checkpoint = None if config.recipe.checkpoint is None else str(folder / config.recipe.checkpoint)
    recipe = attrs.evolve(config.recipe, out=str(folder / config.recipe.out), checkpoint=checkpoint)
    return attrs.evolve(config, data=data, recipe=recipe)


def make_block(given: Any) -> Block:
    """Make a feature block from its table: ``kind`` and the block's own names."""
    if not isinstance(given, dict) or not isinstance(given.get("kind"), str):
        raise ConfigError(f"expected a table with a kind, one of {_kinds()}")
    options = {name: value for name, value in given.items() if name != "kind"}
    try:
        kind = block_class(given["kind"])
    except UnknownNameError:
        raise ConfigError(f"unknown kind {given['kind']!r}{_suggest(given['kind'], _kinds())}") from None
    names = [field.name for field in attrs.fields(kind)]
    for name in options:
        if name not in names:
            raise ConfigError(f"unknown key {name!r}{_suggest(name, names)}")
    for field in attrs.fields(kind):
        if field.default is attrs.NOTHING and field.name not in options:
            raise ConfigError(f"required key {field.name!r} is missing")
    return kind(**options)


def _kinds() -> list[str]:
    return [name.removeprefix(f"{BUILTIN}:") for name in get_registry().names("block")]


def _placed_block(block: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return a block's table with its paths, such as a Neighbours' links, relative to the file's folder."""
    paths = [field.name for field in attrs.fields(block_class(block["kind"])) if field.metadata.get("source")]
    return block | {name: str(folder / block[name]) for name in paths if isinstance(block.get(name), str)}


def _suggest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1, 0.5)
    return f", did you mean {near[0]!r}?" if near else f"; there are {known}"


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=True)
    converter.register_structure_hook_func(lambda kind: kind == list[str], _strings)
    for kind, allowed in ((int, (int,)), (float, (int, float)), (str, (str,)), (bool, (bool,))):
        converter.register_structure_hook(kind, _strict(kind, allowed))
    side = converter.gen_structure_attrs_fromdict(SideConfig)
    # a table alone is given by its path
    converter.register_structure_hook(
        SideConfig, lambda value, kind: side({"table": value} if isinstance(value, str) else value, kind)
    )
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


def _message(error: BaseException, kind: type | None) -> str:
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
