"""Figures by matplotlib, as PNG and SVG: colours that the colour-blind can tell apart, and markers that differ."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

from fmfkit_bench.results.sections import Figure, Panel

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's."""
MARKERS = "osD^vPX"
REFERENCES = ("popularity", "linear")
"""Lines that are no method: grey, without markers."""


def available() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(figure: Figure, folder: Path) -> list[Path]:
    """Write a figure to a folder, as PNG and as SVG."""
    matplotlib: Any = importlib.import_module("matplotlib")
    figures: Any = importlib.import_module("matplotlib.figure")
    style = {"font.size": 9, "svg.fonttype": "path", "svg.hashsalt": figure.name, "axes.grid": True, "grid.alpha": 0.3}
    with matplotlib.rc_context(style):
        columns = min(len(figure.panels), 2)
        rows = -(-len(figure.panels) // columns)
        canvas = figures.Figure(figsize=(4.6 * columns, 3.4 * rows), layout="constrained")
        axes = canvas.subplots(rows, columns, squeeze=False).ravel()
        colours = _colours(figure)
        for ax, panel in zip(axes, figure.panels, strict=False):
            _panel(ax, panel, colours)
        for ax in axes[len(figure.panels) :]:
            ax.remove()
        paths = [folder / f"{figure.name}.{ending}" for ending in ("png", "svg")]
        for path in paths:
            # without a date, so that the same results give the same file
            canvas.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths


def _colours(figure: Figure) -> dict[str, int]:
    """Return a number for each label, the same in all panels."""
    labels = [line.label for panel in figure.panels for line in panel.lines if line.label not in REFERENCES]
    return {label: k for k, label in enumerate(dict.fromkeys(labels))}


def _panel(ax: Any, panel: Panel, colours: dict[str, int]) -> None:
    for line in panel.lines:
        if line.label in REFERENCES:
            ax.plot(line.x, line.y, "--", color="0.45", linewidth=1.2, label=line.label)
            continue
        k = colours[line.label]
        ax.plot(
            line.x,
            line.y,
            marker=MARKERS[k % len(MARKERS)],
            color=COLOURS[k % len(COLOURS)],
            markersize=4.5,
            linewidth=1.5,
            label=line.label,
        )
    ax.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(fontsize=8, frameon=False)


__all__ = ["available", "draw"]
