"""The built-in solvers, one module per algorithm, and how they compose."""

from fmfkit.reference import Reference
from fmfkit.solvers.compose import Alternate, Sequence, Stage
from fmfkit.solvers.hogwild import Hogwild
from fmfkit.solvers.l2m import L2M
from fmfkit.solvers.naive import Naive
from fmfkit.solvers.pl2m import PL2M
from fmfkit.solvers.sgd import SGD

__all__ = ["L2M", "PL2M", "SGD", "Alternate", "Hogwild", "Naive", "Reference", "Sequence", "Stage"]
