"""The types that signatures of fmfkit are made of."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.floating[Any]]
"""An array of real numbers, float32 or float64."""

SideName = Literal["query", "target"]

Scale = Literal["observations", "uniform"] | float
"""How a penalty grows with how often a feature is observed; a number is an exponent."""

Matrix = Any
"""A scipy sparse matrix or array, or a two-dimensional NumPy array."""

__all__ = ["Matrix", "Reals", "Scale", "SideName"]
