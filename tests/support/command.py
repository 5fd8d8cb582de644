"""The command line, called as a user calls it."""

from __future__ import annotations

from click.testing import CliRunner

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
