"""The command line, called as a user calls it."""

from __future__ import annotations

import attrs
import numpy as np
from click.testing import CliRunner

from fmfkit import Recommender
from fmfkit.cli import main


def run(*arguments):
    """Run a command and return what became of it."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def invoke(*arguments):
    """Run a command that must succeed, and return all that it printed."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def printed(*arguments):
    """Run a command that must succeed, and return what it printed to stdout alone."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def assert_same(one, other):
    """Assert that two model files hold the same, times apart."""
    a, b = Recommender.load(one), Recommender.load(other)
    for name in ("P", "Q"):
        np.testing.assert_array_equal(getattr(a.model, name), getattr(b.model, name))
    strip = [[attrs.evolve(record, seconds=0.0) for record in each.model.history] for each in (a, b)]
    assert strip[0] == strip[1]
    assert (a.validation, a.settings) == (b.validation, b.settings)
