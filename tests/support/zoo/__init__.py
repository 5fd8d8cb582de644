"""Broken components, each with the checks that must catch it."""

from zoo import losses_far as losses_far
from zoo import native as native
from zoo import regularizers_wide as regularizers_wide
from zoo import schedulers_elsewhere as schedulers_elsewhere
from zoo import solvers as solvers
from zoo import solvers_blind as solvers_blind
from zoo import solvers_untidy as solvers_untidy
from zoo.keeper import ZOO, assert_caught, of_kind
from zoo.losses import Good
from zoo.losses_far import GoodSquare, Tight
from zoo.native import NativeRidge, NativeSquare
from zoo.regularizers import GoodRidge
from zoo.regularizers_rows import GoodRows
from zoo.schedulers import GoodSets

__all__ = [
    "ZOO",
    "Good",
    "GoodRidge",
    "GoodRows",
    "GoodSets",
    "GoodSquare",
    "NativeRidge",
    "NativeSquare",
    "Tight",
    "assert_caught",
    "of_kind",
]
