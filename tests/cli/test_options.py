"""Command-line options made from settings."""

import json

import click
import pytest
from click.testing import CliRunner

from fmfkit.cli.options import flag_of, given_options, settings_options


@pytest.mark.parametrize(
    ("name", "flag"), [("l2", "--l2"), ("bias_l2", "--bias-l2"), ("strengths", "--strength"), ("rank", "--rank")]
)
def test_a_setting_has_an_option_of_its_name(name, flag):
    assert flag_of(name) == flag


@click.command()
@settings_options
def tell(**options):
    """Print what was given."""
    click.echo(json.dumps(given_options(options)))


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ([], {}),
        (["--l2", "0.5"], {"l2": 0.5}),  # the default may be given too
        (["--strength", "target.a=2", "--strength", "query.b=0.5"], {"strengths": {"target.a": 2.0, "query.b": 0.5}}),
        (["--strength", "target.a=b=2"], {"strengths": {"target.a=b": 2.0}}),
        (["--negatives-fresh"], {"negatives_fresh": True}),
        (["--no-negatives-fresh"], {"negatives_fresh": False}),
        (["--threads", "3", "--scale", "uniform"], {"threads": 3, "scale": "uniform"}),
    ],
)
def test_only_what_stands_on_the_command_line_is_given(arguments, given):
    assert json.loads(CliRunner().invoke(tell, arguments).output) == given


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--strength", "target.genres"], "expected BLOCK=FACTOR, got 'target.genres'"),
        (["--rank", "0"], "0 is not in the range x>=1"),
        (["--l2", "-1"], "-1.0 is not in the range x>=0.0"),
        (["--balance", "2"], "2.0 is not in the range 0.0<=x<=1.0"),
        (["--scale", "none"], "'none' is not one of 'observations', 'uniform'"),
    ],
)
def test_values_of_another_kind_are_wrong_use(arguments, message):
    result = CliRunner().invoke(tell, arguments)
    assert result.exit_code == 2
    assert message in result.output
