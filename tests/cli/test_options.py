"""Command-line options made from settings."""

import json

import click
import pytest
from click.testing import CliRunner

from fmfkit.cli.options import flags_of, given_options, settings_options, spelled


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("l2", ["--l2"]),
        ("bias_l2", ["--bias-l2"]),
        ("strengths", ["--strength"]),
        ("rank", ["--rank"]),
        ("negatives_fresh", ["--negatives-fresh", "--no-negatives-fresh"]),
        ("data", ["--positives", "--ratings"]),
    ],
)
def test_a_setting_has_an_option_of_its_name_or_two_flags(name, flags):
    assert flags_of(name) == flags


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("l2", 0.25),
        ("rank", 8),
        ("loss", "logistic"),
        ("scale", 0.5),
        ("scale", "uniform"),
        ("data", "positives"),
        ("data", "ratings"),
    ],
)
def test_values_are_spelled_as_they_are_given(name, value):
    told = CliRunner().invoke(tell, spelled(name, value).split()).output
    assert json.loads(told) == {name: value}


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
        (["--scale", "0.5"], {"scale": 0.5}),
        (["--positives"], {"data": "positives"}),
        (["--ratings"], {"data": "ratings"}),
        (["--cells", "0.2"], {"cells": 0.2}),
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
        (["--l2", "-1"], "'-1' is not one of 'auto', or a number"),
        (["--balance", "2"], "2.0 is not in the range 0.0<=x<=1.0"),
        (["--scale", "none"], "'none' is not one of 'observations', 'uniform', or a number"),
        (["--scale", "-1"], "'-1' is not one of 'observations', 'uniform', or a number"),
        (["--negatives-by", "none"], "'none' is not one of 'uniform', 'popularity'"),
    ],
)
def test_values_of_another_kind_are_wrong_use(arguments, message):
    result = CliRunner().invoke(tell, arguments)
    assert result.exit_code == 2
    assert message in result.output
