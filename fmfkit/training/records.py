"""What is known of a round: what the solver reports, and what the history keeps."""

from __future__ import annotations

import attrs
import numpy as np

from fmfkit.typing import Reals


@attrs.frozen
class Quantiles:
    """The spread of a quantity over the features of both sides."""

    minimum: float
    """The smallest value."""
    lower: float
    """The lower quartile."""
    median: float
    """The median."""
    upper: float
    """The upper quartile."""
    maximum: float
    """The largest value."""

    @classmethod
    def of(cls, values: Reals) -> Quantiles | None:
        """Return the quantiles at 0, 1/4, 1/2, 3/4, 1 of ``values``; None where there are none."""
        return cls(*map(float, np.quantile(values, [0, 0.25, 0.5, 0.75, 1]))) if values.size else None


@attrs.frozen(kw_only=True)
class RoundReport:
    """What a solver reports of a round: whatever it knows without extra work."""

    loss: float | None = None
    """The weighted loss over all pairs after the round, offset included."""
    cells: float | None = None
    """The term over all cells, where the problem has one."""
    eta: Quantiles | None = None
    """The paper's eta without lambda, Σ H x² / Σ H |x| C: the share of a lone step that the sets left to features.
    Taken in the first dimension that a side updates: its bias, where it has one."""
    sigma: float | None = None
    """The paper's load imbalance: the longest thread's share of non-zeros over the mean, all sets together."""
    embeddings: tuple[Reals, Reals] | None = attrs.field(default=None, eq=False, repr=False)
    """The embeddings of both sides after the round, as the kernels keep them, where the solver has them: they are then
    not made again for a model."""


@attrs.frozen(kw_only=True)
class RoundRecord:
    """One line of a fit's history. Round 0 is the starting point."""

    round: int
    """The number of the round; 0 is the start."""
    loss: float
    """The weighted loss over all pairs."""
    cells: float = 0.0
    """The term over all cells; 0 without one."""
    penalty: float
    """Ω(P) + Ω(Q), biases included; where strengths are learnt, what is paid for uncertainty too."""
    learnt: bool = False
    """Whether strengths were learnt in this round: the objective is then another one than in the round before."""
    seconds: float
    """Spent in the solver's round."""
    stage: str | None = None
    """Which stage of a composed solver had the round: its name, with those of stages within it after slashes."""
    eta: Quantiles | None = None
    """See ``RoundReport``."""
    sigma: float | None = None
    """See ``RoundReport``."""
    nonzero: float
    """The share of parameters that are not zero."""

    @property
    def objective(self) -> float:
        """Loss plus cells plus penalty: what training lowers."""
        return self.loss + self.cells + self.penalty


__all__ = ["Quantiles", "RoundRecord", "RoundReport"]
