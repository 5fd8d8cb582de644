"""What is fixed during a fit: observations, laid out once, and an objective, decided later."""

from fmfkit.problem.cells import AllCells
from fmfkit.problem.features import FeatureRows, Features
from fmfkit.problem.learnt import SideStrengths, Strengths
from fmfkit.problem.objective import LearntPenalty, Objective, Penalties, Penalty
from fmfkit.problem.observations import Observations
from fmfkit.problem.pairs import Pairs
from fmfkit.problem.problem import Memory, Problem
from fmfkit.problem.strengths import Part, Side

__all__ = [
    "AllCells",
    "FeatureRows",
    "Features",
    "LearntPenalty",
    "Memory",
    "Objective",
    "Observations",
    "Pairs",
    "Part",
    "Penalties",
    "Penalty",
    "Problem",
    "Side",
    "SideStrengths",
    "Strengths",
]
