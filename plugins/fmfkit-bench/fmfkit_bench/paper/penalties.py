"""The strengths of the penalties of the paper's tasks."""

from __future__ import annotations

from fmfkit_bench.core import HISTORY, Strengths

PLAIN, ALL = "MF", "FMF"
"""What a model is called that knows ids only, and one that knows all features."""

PENALTIES: dict[str, dict[str, Strengths]] = {
    "yahoo": {
        PLAIN: Strengths(0.12, 0.6),
        ALL: Strengths(0.14, 1.0, {HISTORY: 100.0}, {"track": 3.6, "album": 1.6}),
    },
    "weibo": {
        PLAIN: Strengths(0.03, 0.8),
        "FMF-SNS": Strengths(0.049, 0.4, {"user": 2.2}, {"celebrity": 0.4}),
        ALL: Strengths(0.08, 3.0, {"user": 9.0, "profile": 0.2}),
    },
    "flickr": {ALL: Strengths(0.018, 20.0)},
    "ml10m": {
        PLAIN: Strengths(0.12, 20.0),
        ALL: Strengths(30.0, 20.0, {"user": 30.0, HISTORY: 2.0}, scale="uniform"),
    },
}
"""Found by a small search for each model on data of another seed."""
RATINGS, POSITIVES = Strengths(0.5, 5.0), Strengths(0.3, 1.0, scale="uniform")
"""For real data: what a search with ``fmfkit.FMF`` begins with."""

__all__ = ["ALL", "PENALTIES", "PLAIN", "POSITIVES", "RATINGS"]
