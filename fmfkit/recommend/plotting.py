"""Plots of a training, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fmfkit.training.records import RoundRecord


def plot_rounds(history: Sequence[RoundRecord], validation: Sequence[float], metric: str | None, ax: Any) -> Any:
    """Draw the objective, and the metric on the validation part, by rounds; return matplotlib's axes."""
    import matplotlib.pyplot as plt

    ax = plt.subplots()[1] if ax is None else ax
    rounds = [record.round for record in history]
    ax.plot(rounds, [record.objective for record in history], "o-", color="#0072B2", label="objective")
    ax.set(xlabel="round", ylabel="objective", yscale="log")
    lines = list(ax.lines)
    if validation:
        other = ax.twinx()
        places = range(history[0].round, history[0].round + len(validation))
        lines += other.plot(places, validation, "s--", color="#D55E00", label=f"{metric} (validation)")
        other.set_ylabel(metric)
        other.axvline(rounds[-1], color="grey", linewidth=0.8, linestyle=":")
    ax.legend(handles=lines)
    return ax


__all__ = ["plot_rounds"]
