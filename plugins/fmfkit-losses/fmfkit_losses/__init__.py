"""The plugin "losses"."""

from __future__ import annotations

from typing import Any

from fmfkit import Spec, hookimpl

fmfkit_interface = 1
DELTAS = [{"delta": 1e-3}, {"delta": 1e3}]
CLASSES: list[dict[str, Any]] = [
    {"classes": [0, 1], "cuts": [0]},
    {"classes": [1, 2, 3, 4], "cuts": [-20, -0.01, 0.01]},
]


@hookimpl
def fmfkit_losses() -> list[Spec]:
    """Return what the plugin offers."""
    robust, ordered, classes = "fmfkit_losses.robust", "fmfkit_losses.ordered", "fmfkit_losses.classes"
    return [
        Spec("huber", f"{robust}:Huber", "square near zero, absolute far away; native (C)", examples=DELTAS),
        Spec("pseudo_huber", f"{robust}:PseudoHuber", "the same, smooth everywhere; native (numba)", examples=DELTAS),
        Spec(
            "smooth_quantile",
            f"{robust}:SmoothQuantile",
            "learns a quantile instead of the mean",
            examples=[{"q": 0.01}, {"q": 0.99, "width": 1e-3}, {"q": 0.9, "width": 100.0}],
        ),
        Spec(
            "poisson",
            "fmfkit_losses.counts:Poisson",
            "counts; quadratic above a cap",
            examples=[{"cap": -20}, {"cap": 20}],
        ),
        Spec("probit", f"{classes}:Probit", "two classes, by the normal distribution"),
        Spec("ordinal", f"{ordered}:Ordinal", "ordered classes; learns cut points; native (C)", examples=CLASSES),
        Spec(
            "ordered_probit",
            f"{ordered}:OrderedProbit",
            "ordered classes, by the normal distribution",
            examples=CLASSES,
        ),
        Spec("squared_hinge", f"{classes}:SquaredHinge", "two classes, by a margin"),
        Spec(
            "weighted_logistic",
            f"{classes}:WeightedLogistic",
            "logistic, positives counting more or less; native (C)",
            examples=[{"positive": 1e-3}, {"positive": 1e3}],
        ),
    ]
