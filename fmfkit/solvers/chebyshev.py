"""Steps that leave a normal distribution as it is, and soon forget where they began (Fox and Parker, 2014).

For a precision A and a simple M ⪰ A, with before the place a step earlier,

    w' = before + α (w − before + τ M⁻¹ (c − A w + b)),        c ~ N(0, along² A + across² (M − A)),

maps N(A⁻¹ b, A⁻¹) to itself if along and across belong to α, τ, and κ, where I − κ M⁻¹A is the correlation of w and
before: with B = M⁻¹A, the variance of w' is A⁻¹ just if

    τ² α² (along² B² + across² (B − B²)) = 1 − (1 − α)² − α² (1 − τB)² − 2 α (1 − α) (1 − τB) (1 − κB).

Both sides are B times something plus B² times something, which gives the two; κ' = (1 − α) κ + α τ. Without noise it is
Chebyshev's method of solving A w = b, whose α are those below where the eigenvalues of M⁻¹A lie in [least, 1]: what it
forgets of a solution, the steps forget of a sample. Eigenvalues below are forgotten more slowly, and exactly all the
same.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray


@attrs.frozen(eq=False)
class Steps:
    """What C needs to know of steps."""

    tau: float
    rows: NDArray[np.float64]
    """(steps, 3) alpha, along and across."""

    @classmethod
    def of(cls, least: float, tolerance: float) -> Steps:
        """Return as many steps as leave ``tolerance`` of where they began, for eigenvalues of at least ``least``."""
        count = math.ceil(math.acosh(1 / tolerance) / math.acosh((1 + least) / (1 - least)))
        tau, narrow = 2 / (1 + least), ((1 - least) / (1 + least)) ** 2
        rows, alpha, kappa = [], 1.0, 0.0
        for step in range(count):
            if step:
                alpha = 1 / (1 - narrow / (2 if step == 1 else 4) * (1 if step == 1 else alpha))
            by_square = 1 + 2 * (1 - alpha) * kappa / (alpha * tau)
            across = (2 * tau + 2 * (1 - alpha) * kappa) / (alpha * tau**2)
            kappa = (1 - alpha) * kappa + alpha * tau
            rows.append((alpha, math.sqrt(across - by_square), math.sqrt(across)))
        return cls(tau, np.array(rows))


__all__ = ["Steps"]
