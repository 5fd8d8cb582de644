"""What a good model is: rank, loss, penalties, offset, biases. Cheap to change: nothing is laid out for it."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, TypedDict

import attrs
import numpy as np
from attrs import validators

from fmfkit.arguments import floats, not_negative, whole
from fmfkit.interfaces import Loss, Regularizer, RowRegularizer
from fmfkit.losses import Square
from fmfkit.plugins.registry import resolve
from fmfkit.problem.cells import AllCells
from fmfkit.regularizers import ElasticNet
from fmfkit.typing import Scale

MOST_DIMENSIONS = 65536


def _regularizer(given: Regularizer | str) -> Regularizer:
    return resolve("regularizer", given)


def _scale(instance: Any, attribute: attrs.Attribute[Any], value: Scale) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value not in ("observations", "uniform") and not (number and 0 <= float(value) < np.inf):
        raise ValueError(f"scale: expected 'observations', 'uniform', or an exponent of at least 0, got {value!r}")


@attrs.frozen
class Penalty:
    """A regularizer and its strengths: feature s pays strength_sk · omega(w) in latent dimension k = 0, 1, ...

    strength_sk = strengths[block of s] · frequency_s · (1 + k)^growth. The frequency is made, as ``scale`` says, from
    how often a feature is observed: n_s = 1 + Σ_i x_is² |O_i|, where |O_i| is the sum of the weights of i's pairs, and
    of its cells if the objective has a term over all cells.
    """

    regularizer: Regularizer = attrs.field(factory=ElasticNet, converter=_regularizer)
    scale: Scale = attrs.field(default="observations", validator=_scale, kw_only=True)
    """"observations": frequency_s = n_s. "uniform": 1, as in the paper. A number e: c (n_s / c)^e, where c is 1 + |O_i|
    on average over the instances that have pairs; 1 is the same as "observations", and 0 is the same for all features,
    in units of an average instance."""
    strengths: Mapping[str, float] = attrs.field(
        factory=dict,
        converter=floats,
        validator=validators.deep_mapping(validators.instance_of(str), not_negative),
        hash=False,
        kw_only=True,
    )
    """A factor per feature block, by the block's name; 1 where a block is not named."""
    growth: float = attrs.field(default=0.0, converter=float, validator=not_negative, kw_only=True)
    """Above 0, later dimensions are used only for what is worth more: the rank is then a limit rather than a
    choice."""

    def __attrs_post_init__(self) -> None:
        """Refuse what would need a strength for each parameter of a row."""
        if self.growth and isinstance(self.regularizer, RowRegularizer):
            raise ValueError(f"growth: expected 0, for {self.regularizer!r} takes whole rows, got {self.growth:g}")


def _penalty(given: Penalty | Regularizer | str) -> Penalty:
    return given if isinstance(given, Penalty) else Penalty(given)


@attrs.frozen(kw_only=True)
class Penalties:
    """A penalty for each part of a model: P and Q, and the biases, which take their side's unless given."""

    P: Penalty = attrs.field(factory=Penalty, converter=_penalty)
    Q: Penalty = attrs.field(factory=Penalty, converter=_penalty)
    query_bias: Penalty = attrs.field(default=attrs.Factory(lambda self: self.P, takes_self=True), converter=_penalty)
    """The penalty of the queries' bias; by default that of P."""
    target_bias: Penalty = attrs.field(default=attrs.Factory(lambda self: self.Q, takes_self=True), converter=_penalty)
    """The penalty of the targets' bias; by default that of Q."""

    @classmethod
    def of(cls, given: Penalties | Penalty | Regularizer | str) -> Penalties:
        """Return one penalty, given in any form, as that of all parts."""
        if isinstance(given, Penalties):
            return given
        penalty = _penalty(given)
        return cls(P=penalty, Q=penalty)


def _rounds(given: Any) -> int:
    return whole("rounds", given, least=1)


@attrs.frozen(kw_only=True)
class LearntPenalty:
    """The penalty ½ λ_bk w² / noise of every parameter, with a λ for each feature block and latent dimension that is
    learnt in the first ``rounds`` rounds, and then held.

    While λ is learnt the objective is another one in each round. From then on it is one objective, which never rises.
    """

    rounds: int = attrs.field(default=10, converter=_rounds)
    """How many rounds learn."""
    shrink: float = attrs.field(default=1.0, converter=float, validator=not_negative)
    """What the λ that were learnt are multiplied by when they are held."""
    spread: float = attrs.field(default=1.0, converter=float, validator=not_negative)
    """What the mean variances that were learnt are multiplied by when they are held."""
    strengths: Mapping[str, float] = attrs.field(
        factory=dict,
        converter=floats,
        validator=validators.deep_mapping(validators.instance_of(str), not_negative),
        hash=False,
    )
    """A further factor of the λ that are held, per feature block, by its side and its name: "target.genres"."""


AnyPenalty = Penalties | LearntPenalty | Penalty | Regularizer | str
"""One penalty for all parts, a penalty for each, or one whose strengths are learnt."""


class ObjectiveOptions(TypedDict, total=False):
    """What an ``Objective`` takes beside the rank."""

    loss: Loss | str
    penalty: AnyPenalty
    offset: float | None
    query_bias: bool
    target_bias: bool
    cells: AllCells | None


def _rank(given: Any) -> int:
    return whole("rank", given, least=1, most=MOST_DIMENSIONS)


def _penalties(given: AnyPenalty) -> Penalties | LearntPenalty:
    return given if isinstance(given, LearntPenalty) else Penalties.of(given)


def _loss(given: Loss | str) -> Loss:
    return resolve("loss", given)


@attrs.frozen(kw_only=True)
class Objective:
    """What training lowers: Σ weight · loss(score, y) + the term over all cells, if any, + the penalties."""

    rank: int = attrs.field(converter=_rank)
    """The number of latent dimensions, biases not counted."""
    loss: Loss = attrs.field(factory=Square, converter=_loss)
    penalty: Penalties | LearntPenalty = attrs.field(factory=Penalties, converter=_penalties)
    """The penalty of the parameters."""
    offset: float | None = None
    """Added to every score; None leaves it to the cells (their value), else to the loss (square: the mean of y)."""
    query_bias: bool = attrs.field(default=True, converter=bool)
    """Whether queries have a bias, learnt from their features like a latent dimension."""
    target_bias: bool = attrs.field(default=True, converter=bool)
    """Whether targets have a bias."""
    cells: AllCells | None = attrs.field(default=None, validator=validators.optional(validators.instance_of(AllCells)))
    """What every cell of the matrix pays, observed or not."""

    def offset_for(self, y: Any, weight: Any) -> float:
        """Return the offset for these pairs, in a precision that can hold it.

        Args:
            y: the y of all pairs.
            weight: their weights, if there are any.
        """
        value = self.offset
        if value is None:
            value = self.loss.offset(y, weight) if self.cells is None else self.cells.value
        if not isinstance(value, numbers.Real) or not abs(float(value)) <= float(np.finfo(y.dtype).max):
            raise ValueError(f"offset: expected a number that {y.dtype} can hold, got {value!r}")
        return float(value)


__all__ = [
    "MOST_DIMENSIONS",
    "AnyPenalty",
    "LearntPenalty",
    "Objective",
    "ObjectiveOptions",
    "Penalties",
    "Penalty",
]
