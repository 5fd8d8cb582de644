"""The plugin "regularizers"."""

from __future__ import annotations

import math

from fmfkit import Spec, hookimpl

fmfkit_interface = 1


@hookimpl
def fmfkit_regularizers() -> list[Spec]:
    """Return what the plugin offers."""
    return [
        Spec(
            "non_negative",
            "fmfkit_regularizers.convex:NonNegative",
            "l1 w + l2/2 w², for w >= 0 only",
            examples=[{"l2": 0}, {"l1": 0.2, "l2": 0}, {"l1": 100, "l2": 100}],
        ),
        Spec(
            "box",
            "fmfkit_regularizers.convex:Box",
            "l2/2 w², for w between two bounds only",
            examples=[{"low": 0.1, "high": math.inf, "l2": 0}, {"low": -math.inf, "high": 0.5}],
        ),
        Spec(
            "mcp",
            "fmfkit_regularizers.concave:MCP",
            "sparse without shrinking: the minimax concave penalty",
            examples=[{"l1": 0.5, "gamma": 0.01}, {"l1": 10, "gamma": 1}, {"gamma": 100}],
        ),
        Spec(
            "group_lasso",
            "fmfkit_regularizers.rows:GroupLasso",
            "features that do not help vanish altogether",
            examples=[{"l1": 0.7, "l2": 0.3}, {"l1": 0, "l2": 0.3}, {"l1": 100}],
        ),
        Spec(
            "norm_bound",
            "fmfkit_regularizers.rows:NormBound",
            "no feature's row of parameters is longer than a radius",
            examples=[{"radius": 0.3, "l2": 0.2}, {"radius": 100}],
        ),
    ]
