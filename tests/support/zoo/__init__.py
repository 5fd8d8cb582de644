"""Broken components, each with the checks that must catch it, and no others."""

from zoo import solvers as solvers
from zoo.keeper import ZOO, assert_caught, of_kind
from zoo.losses import Good
from zoo.regularizers import GoodRidge
from zoo.schedulers import GoodSets

__all__ = ["ZOO", "Good", "GoodRidge", "GoodSets", "assert_caught", "of_kind"]
