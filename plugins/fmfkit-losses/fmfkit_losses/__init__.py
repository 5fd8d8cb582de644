"""The plugin "losses"."""

from __future__ import annotations

from fmfkit import Spec, hookimpl


@hookimpl
def fmfkit_losses() -> list[Spec]:
    """Return what the plugin offers."""
    return [
        Spec("huber", "fmfkit_losses.robust:Huber", "square near zero, absolute far away; native (C)"),
        Spec("pseudo_huber", "fmfkit_losses.robust:PseudoHuber", "the same, smooth everywhere; native (numba)"),
        Spec("smooth_quantile", "fmfkit_losses.robust:SmoothQuantile", "learns a quantile instead of the mean"),
        Spec("poisson", "fmfkit_losses.counts:Poisson", "counts; quadratic above a cap"),
        Spec("probit", "fmfkit_losses.classes:Probit", "two classes, by the normal distribution"),
        Spec("ordinal", "fmfkit_losses.ordered:Ordinal", "ordered classes; learns cut points; native (C)"),
        Spec("ordered_probit", "fmfkit_losses.ordered:OrderedProbit", "ordered classes, by the normal distribution"),
        Spec("squared_hinge", "fmfkit_losses.classes:SquaredHinge", "two classes, by a margin"),
        Spec(
            "weighted_logistic",
            "fmfkit_losses.classes:WeightedLogistic",
            "logistic, positives counting more or less; native (C)",
        ),
    ]
