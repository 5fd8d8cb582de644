"""The built-in regularizers, and how a problem combines them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs
import numpy as np
from attrs import validators

from fmfkit.interfaces import Reals, Regularizer
from fmfkit.registry import resolve


def _strength(instance: Any, attribute: attrs.Attribute[float], value: float) -> None:
    if not 0 <= value < np.inf:
        raise ValueError(f"{attribute.name}: expected a finite number of at least 0, got {value!r}")


def _regularizer(given: Regularizer | str) -> Regularizer:
    return resolve("regularizer", given)


def _floats(blocks: Mapping[str, float]) -> dict[str, float]:
    return {name: float(factor) for name, factor in blocks.items()}


@attrs.frozen(kw_only=True)
class ElasticNet(Regularizer):
    """strength · (l1 |w| + l2/2 w²).

    With ``scale="observations"`` (the default) l1 and l2 are per observation; the paper's setting, the same for every
    feature, is ``ElasticNet(l1=0.1, l2=1.0, scale="uniform")``. With ``growth`` above 0 both grow with the latent
    dimension.
    """

    l1: float = attrs.field(default=0.0, converter=float, validator=_strength)
    l2: float = attrs.field(default=0.1, converter=float, validator=_strength)
    scale: Literal["observations", "uniform"] = attrs.field(
        default="observations", validator=validators.in_(("observations", "uniform"))
    )
    blocks: Mapping[str, float] = attrs.field(
        factory=dict,
        converter=_floats,
        validator=validators.deep_mapping(validators.instance_of(str), _strength),
        hash=False,
    )
    growth: float = attrs.field(default=0.0, converter=float, validator=_strength)

    def penalty(self, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """strength · (l1 |w| + l2/2 w²)."""
        return strength * (self.l1 * np.abs(w) + self.l2 / 2 * np.square(w))

    def T(self, x: Reals, y: Reals, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Return the paper's two branches: a Newton step, shrunk by l1, that stops at w + d = 0."""
        a, curvature = self.l1 * strength, y + self.l2 * strength
        slope = x + self.l2 * strength * w
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            right = w - slope / curvature >= 0
            d = np.where(right, np.maximum(-(slope + a) / curvature, -w), np.minimum(-(slope - a) / curvature, -w))
        return np.where(curvature > 0, d, np.where(a > 0, -w, 0))


@attrs.frozen(kw_only=True)
class Regularization:
    """A regularizer for each part of a model: P and Q, and the biases, which take their side's unless given."""

    P: Regularizer = attrs.field(factory=ElasticNet, converter=_regularizer)
    Q: Regularizer = attrs.field(factory=ElasticNet, converter=_regularizer)
    query_bias: Regularizer = attrs.field(
        default=attrs.Factory(lambda self: self.P, takes_self=True), converter=_regularizer
    )
    target_bias: Regularizer = attrs.field(
        default=attrs.Factory(lambda self: self.Q, takes_self=True), converter=_regularizer
    )


__all__ = ["ElasticNet", "Regularization"]
