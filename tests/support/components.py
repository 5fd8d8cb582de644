"""Small components that several tests need."""

from __future__ import annotations

from fmfkit import PartitionScheduler, Solver


class Fixed(PartitionScheduler):
    def __init__(self, answer):
        self.answer = answer

    def partition(self, features, round, rng):
        return self.answer


class Picky(Solver):
    def refusals(self, problem):
        return ["it is too small", "it is too dull"]

    def prepare(self, problem, state):
        raise AssertionError("never reached")

    def round(self, problem, state, workspace):
        raise AssertionError("never reached")
