"""Hostile input for every door of fmfkit: files, tables, configurations, ids, and arrays that go to C.

A door takes ``Choices`` and does something with input that they make. The law of all doors: there is a result whose
numbers are finite, or an error that fmfkit raises on purpose; never a crash, a hang or an error of somebody else's.
"""

from fuzzing.choices import Choices
from fuzzing.config import config
from fuzzing.files import forged_file, mutated_file
from fuzzing.kernels import answers, problems
from fuzzing.law import LawError, keep_the_law
from fuzzing.tables import feature_files, frames, ids, table_files

DOORS = {
    door.__name__: door
    for door in (mutated_file, forged_file, table_files, frames, feature_files, config, ids, problems, answers)
}

__all__ = ["DOORS", "Choices", "LawError", "keep_the_law"]
