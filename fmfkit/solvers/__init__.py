"""The built-in solvers, one module per algorithm, and how they compose."""

from fmfkit.solvers.compose import Alternate, Sequence, Stage
from fmfkit.solvers.gibbs import Gibbs
from fmfkit.solvers.hogwild import Hogwild
from fmfkit.solvers.l2m import L2M
from fmfkit.solvers.naive import Naive
from fmfkit.solvers.panel import Panel
from fmfkit.solvers.pl2m import PL2M
from fmfkit.solvers.reference import Reference
from fmfkit.solvers.sgd import SGD

__all__ = ["L2M", "PL2M", "SGD", "Alternate", "Gibbs", "Hogwild", "Naive", "Panel", "Reference", "Sequence", "Stage"]
