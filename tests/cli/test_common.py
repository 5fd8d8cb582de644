"""What the subcommands share."""

import click
import pytest
from click.testing import CliRunner
from command import run

from fmfkit import errors
from fmfkit.cli.common import friendly, metrics_line


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError,
        ValueError,
        KeyError,
        LookupError,
        TypeError,
        ArithmeticError,
        FileNotFoundError,
        errors.DataError,
    ],
)
def test_errors_that_are_the_user_s_to_mend_become_a_line_and_exit_code_1(error):
    @click.command()
    @friendly
    def command():
        raise error("do this instead")

    result = CliRunner().invoke(command)
    assert result.exit_code == 1
    assert "Error: " in result.output
    assert "do this instead" in result.output
    assert "Traceback" not in result.output


def test_mistakes_of_ours_keep_their_traceback():
    @click.command()
    @friendly
    def command():
        raise AssertionError("a bug")

    result = CliRunner().invoke(command)
    assert isinstance(result.exception, AssertionError)


def test_metrics_are_told_with_four_digits():
    assert metrics_line({"rmse": 0.123456, "ndcg@10": 1.0}) == "rmse 0.1235, ndcg@10 1.0000"


def test_commands_print_warnings_as_lines(model, shop):
    (shop / "more.csv").write_text("book,title,genres\n99,The 99th,-\n")
    done = run("recommend", model, "--query", "u1", "--new-targets", "more.csv", "-k", "1")
    assert done.exit_code == 0
    assert done.stderr == "warning: targets: '-' taken as missing: 1 values of 'genres'\n"
