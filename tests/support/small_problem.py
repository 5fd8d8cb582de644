"""A problem of three pairs, and its parts."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from fmfkit import Problem

Y = sp.csr_array(np.array([[1.0, 0, 2], [0, 3, 0]]))


PAIRS = {"queries": [0, 0, 1], "targets": [0, 2, 1], "y": [1.0, 2.0, 3.0]}


def build(**changes):
    return Problem.from_coo(**{**PAIRS, "rank": 2, **changes})
