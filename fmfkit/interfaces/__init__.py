"""What a plugin writes: Loss, Regularizer, PartitionScheduler, Solver, and the law that each method promises.

Names follow the paper: ``g`` is the derivative of the loss by the score, ``beta`` its largest curvature, ``T`` the step
of one parameter, ``S`` a set of features updated together, ``eta`` how much of a lone step the set leaves to a feature.

Everything speaks in arrays: a method gets a batch and returns one of the same shape, never a number per call. Arrays
that a method is given are read-only to it.
"""

from fmfkit.interfaces.loss import Loss
from fmfkit.interfaces.regularizer import Regularizer, RowRegularizer
from fmfkit.interfaces.scheduler import Partition, PartitionScheduler
from fmfkit.interfaces.solver import Solver

__all__ = ["Loss", "Partition", "PartitionScheduler", "Regularizer", "RowRegularizer", "Solver"]
