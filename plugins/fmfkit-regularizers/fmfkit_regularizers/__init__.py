"""The plugin "regularizers"."""

from __future__ import annotations

from fmfkit import Spec, hookimpl


@hookimpl
def fmfkit_regularizers() -> list[Spec]:
    """Return what the plugin offers."""
    return [
        Spec("non_negative", "fmfkit_regularizers.convex:NonNegative", "l1 w + l2/2 w², for w >= 0 only"),
        Spec("box", "fmfkit_regularizers.convex:Box", "l2/2 w², for w between two bounds only"),
        Spec("mcp", "fmfkit_regularizers.concave:MCP", "sparse without shrinking: the minimax concave penalty"),
        Spec("group_lasso", "fmfkit_regularizers.rows:GroupLasso", "features that do not help vanish altogether"),
        Spec(
            "norm_bound", "fmfkit_regularizers.rows:NormBound", "no feature's row of parameters is longer than a radius"
        ),
    ]
