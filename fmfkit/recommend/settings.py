"""The settings of a fit, written down once.

``FMF``, the keys of a TOML file, the options of ``fmfkit fit``, the parameters of the scikit-learn estimators and what
a model file remembers are all made from ``Settings``: to add a setting, add a field here, and use it.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from typing import Any, Literal, Self, TypeVar

import attrs

from fmfkit.data.positives import DataKind
from fmfkit.interfaces import Loss, Regularizer, Solver
from fmfkit.plugins import description
from fmfkit.plugins.registry import resolve
from fmfkit.problem.objective import Penalties, Penalty
from fmfkit.recommend.kinds import Choice, Component, Factors, Flag, Kind, Real, Switch, Whole
from fmfkit.typing import Scale

PENALTY_SETTINGS = ("l2", "bias_l2", "shrink", "spread", "scale", "growth", "strengths")
"""What a penalty is made of; a regularizer replaces the first four, a whole Penalty all of them."""
LEARNT_SETTINGS = ("shrink", "spread")
"""What is for strengths that are learnt."""


def setting(default: Any, kind: Kind, help: str, *, kept: bool = True) -> Any:
    """Return a field of ``Settings``; ``kept`` says whether a model file remembers it."""

    def check(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        kind.check(attribute.name, value)

    # a factory tells a value that was given from one that was not
    return attrs.field(
        default=attrs.Factory(lambda: default() if callable(default) else default),
        validator=check,
        metadata={"kind": kind, "help": help, "default": default, "kept": kept},
        hash=False,
    )


@attrs.frozen(kw_only=True, repr=False)
class Settings:
    """What ``FMF`` can be given."""

    data: DataKind = setting(
        "auto",
        Switch(("positives", "ratings")),
        "Whether pairs are positives, such as clicks, whatever their values, or their values are learnt. By default "
        "pairs are positives if they have no values, or all are one number above 0.",
    )
    rank: int = setting(32, Whole(1), "Latent dimensions.")
    loss: Loss | str = setting("square", Component("loss"), "Loss, by name: see `fmfkit plugins`.")
    l2: float | Literal["auto"] = setting(
        "auto",
        Choice(("auto",), Real()),
        "Strength of the factors' penalty. auto learns it from ratings, and that of the biases, for each feature block "
        "and latent dimension; for positives only it is chosen by short fits.",
    )
    shrink: float = setting(
        1.0, Real(), "What learnt strengths are multiplied by: above 1 for a smoother model. tune searches it."
    )
    spread: float = setting(
        1.0,
        Real(),
        "What the learnt uncertainty of factors is multiplied by: above 1 for a smoother model. tune searches it.",
    )
    scale: Scale = setting(
        "observations",
        Choice(("observations", "uniform"), Real()),
        "Whether l2 is multiplied by how often a feature is observed (better for ratings) or is the same for all "
        "features; a number is the exponent of how often, between the two.",
    )
    bias_l2: float = setting(
        5.0,
        Real(),
        "Strength of the biases' penalty where l2 is given, the same for every feature: equivalent to half as many "
        "pseudo-observations of zero.",
    )
    growth: float = setting(
        0.0,
        Real(),
        "Above 0, the factors' penalty grows with the latent dimension: that of the k-th is k^growth times that of "
        "the first. Useful where a lower rank would do; l2 should then be lower too.",
    )
    strengths: Mapping[str, float] = setting(
        dict,
        Factors(),
        "Factors of the penalty of feature blocks, such as target.genres=0.3; they override the blocks' own.",
    )
    regularizer: Regularizer | Penalty | Penalties | str | None = setting(
        None,
        Component("regularizer", optional=True),
        "Regularizer instead of the elastic net that l2 and bias_l2 make, by name.",
    )
    rounds: int = setting(30, Whole(1), "Rounds, at most.")
    patience: int = setting(3, Whole(1), "Rounds without a better value on the validation part before training stops.")
    cells: float | None = setting(
        None,
        Real(optional=True),
        "How much all pairs of a query and a target, given or not, count together, in units of what the given ones "
        "count together; they should score 0. With 0 they do not count, as is usual for ratings. By default the data "
        "decides.",
    )
    negatives: float = setting(
        0.0, Real(), "For data that has positives only: pairs to draw for each positive, with y = 0; 0 draws none."
    )
    negatives_by: str = setting(
        "uniform",
        Choice(("uniform", "popularity")),
        "Whether targets are drawn alike, or as often as they occur in the pairs.",
    )
    negatives_fresh: bool = setting(
        False,
        Flag(),
        "Whether each round draws new negatives. The objective is then another one in each round, and may rise.",
    )
    balance: float = setting(
        0.0,
        Real(0.0, 1.0),
        "Above 0, pairs are weighed by how often their query and their target occur, to the power of minus this, so "
        "that rare ones count for more. 0.3 is good for data that has positives only.",
    )
    solver: Solver | str = setting("panel", Component("solver"), "Solver, by name.")
    seed: int = setting(0, Whole(0), "Seed of everything that is drawn.")
    threads: int | None = setting(
        None, Whole(1, 1024, optional=True), "Threads; all processors by default.", kept=False
    )
    given: frozenset[str] = attrs.field(init=False, eq=False, repr=False)
    """The names of the settings that were given, not left at their defaults."""

    def __attrs_pre_init__(self, **given: Any) -> None:
        """Note what is given."""
        names = frozenset(name for name, value in given.items() if value is not attrs.NOTHING)
        object.__setattr__(self, "given", names)

    def __attrs_post_init__(self) -> None:
        """Refuse settings that do not go together."""
        if self.cells and self.negatives:
            raise ValueError(
                f"cells: {self.cells:g} counts every pair that is not given, so that none need be drawn; leave out "
                f"cells, or negatives ({self.negatives:g})"
            )
        changed = [name for name in self.given if getattr(self, name) != default_of(name)]
        if self.l2 != "auto" and (useless := [name for name in LEARNT_SETTINGS if name in changed]):
            raise ValueError(
                f"{useless[0]}: it is for strengths that are learnt, and l2 is given ({self.l2!r}); leave one out"
            )
        ignored = [name for name in self.replaced if name in changed]
        if ignored:
            raise ValueError(
                f"regularizer: {self.regularizer!r} replaces {', '.join(ignored)}, which would be ignored; "
                "leave them out, or leave the regularizer out"
            )

    def __repr__(self) -> str:
        """Return it with the settings that were given."""
        told = ", ".join(f"{name}={getattr(self, name)!r}" for name in names() if name in self.given)
        return f"{type(self).__name__}({told})"

    @property
    def replaced(self) -> tuple[str, ...]:
        """The names of the settings that the regularizer replaces."""
        if self.regularizer is None:
            return ()
        return PENALTY_SETTINGS if isinstance(self.regularizer, Penalty | Penalties) else PENALTY_SETTINGS[:4]

    @property
    def fixed_l2(self) -> float:
        """l2, where it is a number."""
        assert self.l2 != "auto"  # decided, or refused, before it is used
        return self.l2

    def replace(self, **changes: Any) -> Self:
        """Return the same settings but for some."""
        return type(self)(**{name: getattr(self, name) for name in self.given} | changes)

    def to_json(self) -> dict[str, Any]:
        """Return what a model file remembers: all of it, so that another version's defaults change nothing."""
        return {name: _to_json(getattr(self, name)) for name in names(kept=True)}

    @classmethod
    def from_json(cls, given: Mapping[str, Any], where: str) -> tuple[Self, dict[str, str]]:
        """Return the settings that ``to_json`` returned, and what could not be restored, by name."""
        if unknown := sorted(set(given) - set(names(kept=True))):
            raise ValueError(f"{where}: there is no setting {unknown[0]!r}")
        lost = {name: str(v["unnamed"]) for name, v in given.items() if isinstance(v, dict) and "unnamed" in v}
        kept = {name: _from_json(name, value, where) for name, value in given.items() if name not in lost}
        return cls(**kept), lost


AnySettings = TypeVar("AnySettings", bound=Settings)


def names(*, kept: bool = False) -> tuple[str, ...]:
    """Return the names of the settings; with ``kept``, of those that a model file remembers."""
    return tuple(f.name for f in attrs.fields(Settings) if f.init and (f.metadata["kept"] or not kept))


AnyClass = TypeVar("AnyClass", bound=type)


def documented(of: AnyClass, more: Mapping[str, tuple[Any, str]] = {}, **defaults: Any) -> AnyClass:
    """Let ``help`` show a class with each setting, its default and what it is for.

    ``more`` has further parameters, each with its default and what it is for; ``defaults`` differ from the settings'.
    """
    given = {name: (default_of(name), metadata_of(name)["help"].replace("`", "``")) for name in names()} | dict(more)
    given |= {name: (default, given[name][1]) for name, default in defaults.items()}
    told = [f"{name}: {help} Default: {default!r}." for name, (default, help) in given.items()]
    lines = [textwrap.fill(line, 110, initial_indent=" " * 4, subsequent_indent=" " * 8) for line in told]
    of.__doc__ = "\n".join([inspect.cleandoc(of.__doc__ or ""), "", "Args:", *lines])
    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=d) for name, (d, _) in given.items()]
    of.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return of


def metadata_of(name: str) -> Mapping[str, Any]:
    """Return kind, help and default of a setting."""
    return attrs.fields_dict(Settings)[name].metadata


def default_of(name: str) -> Any:
    """Return the default of a setting."""
    default = metadata_of(name)["default"]
    return default() if callable(default) else default


def _to_json(value: Any) -> Any:
    if isinstance(value, Loss | Regularizer | Solver):
        described = description.describe(value)
        return {"unnamed": repr(value)} if described is None else {"component": described}
    if isinstance(value, Penalty | Penalties):
        parts = {field.name: _to_json(getattr(value, field.name)) for field in attrs.fields(type(value))}
        return {"penalty" if isinstance(value, Penalty) else "penalties": parts}
    return {"factors": dict(value)} if isinstance(value, Mapping) else value


def _from_json(name: str, value: Any, where: str) -> Any:
    """Return the value of a setting; one that is a component must be of its kind."""
    kind = metadata_of(name)["kind"]
    if isinstance(kind, Component):
        return None if value is None and kind.optional else _component(kind.kind, value, where)
    if not isinstance(value, dict):
        return value
    if "factors" not in value:
        raise ValueError(f"{where}: a setting is described by {sorted(value)}, which this fmfkit does not know")
    return value["factors"]


def _component(kind: str, value: Any, where: str) -> Any:
    """Return a component by its name, or by what describes it; of regularizers, also a penalty, or several."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and "component" in value:
        return description.create(value["component"], where, kind=kind)
    for name, made in (("penalty", Penalty), ("penalties", Penalties)):
        parts = value.get(name) if kind == "regularizer" and isinstance(value, dict) else None
        if isinstance(parts, dict):
            return made(**{key: _part(key, part, where) for key, part in parts.items()})
    raise ValueError(f"{where}: a {kind} is described by {value!r}, which this fmfkit does not know")


def _part(key: str, value: Any, where: str) -> Any:
    """Return a field of a penalty, or of several."""
    if isinstance(value, dict) and "factors" in value:
        return value["factors"]
    return _component("regularizer", value, where) if isinstance(value, dict) else value


def resolved_loss(settings: Settings) -> Loss:
    """Return the loss itself."""
    return resolve("loss", settings.loss)


__all__ = ["AnySettings", "Settings", "default_of", "documented", "metadata_of", "names", "resolved_loss", "setting"]
