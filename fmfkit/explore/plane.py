"""Embeddings in two dimensions, drawn as a map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.report.html import Html, tag
from fmfkit.report.svg import Scale
from fmfkit.typing import Reals

MOST, NAMED = 1500, 40
"""How many dots a map has, and how many of them it names, at most."""
WIDTH, HEIGHT, EDGE = 900, 600, 24
LETTER, LINE = 6.6, 15
"""About how wide and high a letter is."""
LONGEST = 28
"""So many letters of a name are shown."""


@attrs.frozen(eq=False)
class Plane:
    """Some instances by the two directions in which all of them differ most."""

    rows: NDArray[np.int64]
    """Those with the most training pairs, the most frequent first."""
    places: NDArray[np.float64]
    size: NDArray[np.float64]
    share: float
    """Of the variance that is in the two directions."""

    @classmethod
    def of(cls, embedding: Reals, often: NDArray[Any]) -> Plane:
        """Find the directions (principal component analysis), and choose whom to show."""
        centred = embedding.astype(np.float64) - embedding.mean(axis=0, dtype=np.float64)
        variance, directions = np.linalg.eigh(centred.T @ centred)
        two = directions[:, ::-1][:, :2]
        two = two * np.where(two[np.abs(two).argmax(axis=0), np.arange(two.shape[1])] < 0, -1, 1)
        rows = np.argsort(-often, kind="stable")[:MOST]
        places = np.zeros((len(rows), 2))
        places[:, : two.shape[1]] = centred[rows] @ two
        share = float(variance[::-1][:2].sum() / max(variance.sum(), np.finfo(float).tiny))
        return cls(rows, places, np.sqrt(often[rows] / max(often.max(), 1)), share)

    def drawn(self, name: Callable[[int], str], address: Callable[[int], str]) -> Html:
        """Return the map. Who cannot see it is told the same by lists of similar ones, so it is hidden from them."""
        across = Scale.of(self.places[:, 0], EDGE, WIDTH - EDGE)
        up = Scale.of(self.places[:, 1], HEIGHT - EDGE, EDGE)
        dots: list[Html] = []
        named: list[Html] = []
        taken: list[tuple[float, float, float]] = []
        for row, (a, b), size in zip(self.rows.tolist(), self.places, self.size, strict=True):
            x, y, title = across(a), up(b), name(row)
            dot = tag("circle", tag("title", title), cx=x, cy=y, r=round(2 + 5 * float(size), 1), class_="dot s0")
            dots.append(tag("a", dot, href=address(row), tabindex=-1))
            short = title if len(title) <= LONGEST else f"{title[: LONGEST - 1]}…"
            width = LETTER * len(short)
            if len(named) < NAMED and x + 8 + width < WIDTH and _free(taken, x, y, width):
                taken.append((x, y, width))
                named.append(tag("text", short, x=round(x + 8, 1), y=round(y + 4, 1)))
        view = f"0 0 {WIDTH} {HEIGHT}"
        return tag("div", tag("svg", dots[::-1], named, viewBox=view, aria_hidden="true", class_="map"), class_="wide")


def _free(taken: list[tuple[float, float, float]], x: float, y: float, width: float) -> bool:
    return all(
        abs(y - other_y) > LINE or x > other_x + other + 12 or x + width + 12 < other_x
        for other_x, other_y, other in taken
    )


__all__ = ["Plane"]
