"""What a good model is: rank, loss, penalties, offset, biases. Cheap to change: nothing is laid out for it."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, TypedDict

import attrs
import numpy as np
from attrs import validators

from fmfkit.arguments import not_negative, whole
from fmfkit.interfaces import Loss, Regularizer
from fmfkit.losses import Square
from fmfkit.plugins.registry import resolve
from fmfkit.regularizers import ElasticNet
from fmfkit.typing import Scale

MOST_DIMENSIONS = 65536


def _regularizer(given: Regularizer | str) -> Regularizer:
    return resolve("regularizer", given)


def _floats(given: Mapping[str, float]) -> dict[str, float]:
    return {name: float(strength) for name, strength in given.items()}


@attrs.frozen
class Penalty:
    """A regularizer and its strengths: feature s pays strength_sk · omega(w) in latent dimension k = 0, 1, ...

    strength_sk = strengths[block of s] · (1 + Σ_i x_is² |O_i|, or 1) · (1 + k)^growth.
    """

    regularizer: Regularizer = attrs.field(factory=ElasticNet, converter=_regularizer)
    scale: Scale = attrs.field(
        default="observations", validator=validators.in_(("observations", "uniform")), kw_only=True
    )
    """"observations" multiplies by how often a feature is observed (|O_i| is the sum of the weights of i's pairs);
    "uniform" does not, as in the paper."""
    strengths: Mapping[str, float] = attrs.field(
        factory=dict,
        converter=_floats,
        validator=validators.deep_mapping(validators.instance_of(str), not_negative),
        hash=False,
        kw_only=True,
    )
    """A factor per feature block, by the block's name; 1 where a block is not named."""
    growth: float = attrs.field(default=0.0, converter=float, validator=not_negative, kw_only=True)
    """Above 0, later dimensions are used only for what is worth more: the rank is then a limit rather than a
    choice."""


def _penalty(given: Penalty | Regularizer | str) -> Penalty:
    return given if isinstance(given, Penalty) else Penalty(given)


@attrs.frozen(kw_only=True)
class Penalties:
    """A penalty for each part of a model: P and Q, and the biases, which take their side's unless given."""

    P: Penalty = attrs.field(factory=Penalty, converter=_penalty)
    Q: Penalty = attrs.field(factory=Penalty, converter=_penalty)
    query_bias: Penalty = attrs.field(default=attrs.Factory(lambda self: self.P, takes_self=True), converter=_penalty)
    target_bias: Penalty = attrs.field(default=attrs.Factory(lambda self: self.Q, takes_self=True), converter=_penalty)

    @classmethod
    def of(cls, given: AnyPenalty) -> Penalties:
        """Return one penalty, given in any form, as that of all parts."""
        if isinstance(given, Penalties):
            return given
        penalty = _penalty(given)
        return cls(P=penalty, Q=penalty)


AnyPenalty = Penalties | Penalty | Regularizer | str
"""One penalty for all parts, or a penalty for each."""


class ObjectiveOptions(TypedDict, total=False):
    """What an ``Objective`` takes beside the rank."""

    loss: Loss | str
    penalty: AnyPenalty
    offset: float | None
    query_bias: bool
    target_bias: bool


def _rank(given: Any) -> int:
    return whole("rank", given, least=1, most=MOST_DIMENSIONS)


def _penalties(given: AnyPenalty) -> Penalties:
    return Penalties.of(given)


def _loss(given: Loss | str) -> Loss:
    return resolve("loss", given)


@attrs.frozen(kw_only=True)
class Objective:
    """What training lowers: Σ weight · loss(score, y) + the penalties of all parameters."""

    rank: int = attrs.field(converter=_rank)
    """The number of latent dimensions, biases not counted."""
    loss: Loss = attrs.field(factory=Square, converter=_loss)
    penalty: Penalties = attrs.field(factory=Penalties, converter=_penalties)
    offset: float | None = None
    """Added to every score; None leaves it to the loss (square: the mean of y)."""
    query_bias: bool = attrs.field(default=True, converter=bool)
    """Whether queries have a bias, learnt from their features like a latent dimension."""
    target_bias: bool = attrs.field(default=True, converter=bool)

    def offset_for(self, y: Any, weight: Any) -> float:
        """Return the offset for these pairs, in a precision that can hold it."""
        value = self.loss.offset(y, weight) if self.offset is None else self.offset
        if not isinstance(value, numbers.Real) or not abs(float(value)) <= float(np.finfo(y.dtype).max):
            raise ValueError(f"offset: expected a number that {y.dtype} can hold, got {value!r}")
        return float(value)


__all__ = ["MOST_DIMENSIONS", "AnyPenalty", "Objective", "ObjectiveOptions", "Penalties", "Penalty"]
