"""Recommendations and why, as HTML: what the report and the pages of ``fmfkit explore`` both show."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from fmfkit.model.answers import Contribution, Explanation
from fmfkit.recommend.recommender import Recommender
from fmfkit.report.html import Content, Html, name_of, number, table, tag
from fmfkit.report.svg import bar

MOST = 8
"""So many contributions of each part are shown."""


@attrs.frozen
class Known:
    """A target that a query is paired with in training."""

    target: int
    """Its row number."""
    label: str
    y: float


def known_of(trained: Recommender, query: int, most: int) -> list[Known]:
    """Return what a query, by its row number, is paired with in training, the largest y first."""
    begin, end = trained.seen.indptr[query : query + 2]
    targets, y = trained.seen.indices[begin:end], trained.seen.data[begin:end]
    order = np.argsort(-y, kind="stable")[:most]
    return [Known(int(targets[n]), str(trained.encoder.targets.labels[int(targets[n])]), float(y[n])) for n in order]


def reasons(found: Explanation, most: int = 3) -> str:
    """Return in a few words what speaks for a target: the features that raise the score most."""
    adds: dict[str, float] = {}
    for c in (*found.target_bias, *found.by_target):
        adds[_called(c)] = adds.get(_called(c), 0.0) + c.adds
    listed = sorted(((total, name) for name, total in adds.items() if total > 0), reverse=True)
    return ", ".join(f"{name} {total:+.2f}" for total, name in listed[:most]) or "nothing raises its score"


def _called(found: Contribution) -> str:
    return "itself" if found.block == "indicator" else f"{found.block}: {found.name or found.feature}"


def score_table(found: Explanation) -> Html:
    """Return what a score is the sum of."""
    sums = [
        ("offset, the same for all", found.offset),
        ("bias of the query", sum(c.adds for c in found.query_bias)),
        ("bias of the target", sum(c.adds for c in found.target_bias)),
        ("how well both match", sum(c.adds for c in found.by_query)),
    ]
    most = max(abs(value) for _, value in sums[1:]) or 1.0
    rows: list[Sequence[Content]] = [
        (name, bar(value, most) if name != sums[0][0] else None, f"{value:+.3f}") for name, value in sums
    ]
    return table("What the score is the sum of", ("part", "", "adds"), [*rows, ("score", None, f"{found.score:.3f}")])


def contribution_table(caption: str, listed: Sequence[Contribution]) -> Html:
    """Return the largest contributions of features, the others in one line."""
    most = max((abs(c.adds) for c in listed), default=1.0)
    rows: list[Sequence[Content]] = [
        (name_of(_called(c)), bar(c.adds, most, "s0" if c.adds >= 0 else "s1"), f"{c.adds:+.3f}") for c in listed[:MOST]
    ]
    if others := listed[MOST:]:
        rows.append((f"{len(others)} others", None, f"{sum(c.adds for c in others):+.3f}"))
    return table(caption, ("feature", "", "adds"), rows)


def facts(listed: Sequence[tuple[str, Content]]) -> Html:
    """Return names and values."""
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in listed], class_="facts")


def shown(y: float) -> str:
    """Return a rating or a score for people."""
    return number(y, 3)


__all__ = ["Known", "contribution_table", "facts", "known_of", "reasons", "score_table", "shown"]
