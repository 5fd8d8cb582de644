import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

import fmfkit
from fmfkit.cli import main


def invoke(*arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_info_tells_how_the_core_was_built():
    assert json.loads(invoke("info", "--json")) == fmfkit.build_info()
    assert f"version        {fmfkit.__version__}" in invoke("info")


def test_plugins_lists_the_built_ins():
    assert "builtin:pl2m" in invoke("plugins")
    plugins = {plugin["name"]: plugin for plugin in json.loads(invoke("plugins", "--json"))}
    assert plugins["builtin"]["status"] == "ok"
    assert {"name": "square", "doc": "(s - y)², for scores on a scale"} in plugins["builtin"]["offers"]["loss"]


def test_demo_shows_that_features_help_on_known_and_most_on_new_books():
    output = invoke("demo", "--rounds", "12")
    rows = {line[:24].strip(): [float(x) for x in re.findall(r"\d+\.\d+", line)] for line in output.splitlines()[-3:]}
    mean, plain, featured = rows["mean rating"], rows["plain MF, ids only"], rows["FMF, ids and features"]
    assert featured[0] < plain[0] < mean[0]
    assert featured[1] < 0.9 * plain[1]
    assert "round 12/12" in output


@pytest.mark.parametrize("arguments", [["demo", "--rank", "0"], ["nonsense"], ["info", "--nonsense"]])
def test_wrong_use_exits_with_2_and_says_so(arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "Error" in result.output


def test_help_lists_the_commands():
    output = invoke("--help")
    for command in ("demo", "info", "plugins"):
        assert f"  {command} " in output


def test_the_version_is_told_without_importing_numpy():
    code = "import sys; from fmfkit.cli import main\ntry: main(['--version'])\nfinally: print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip().endswith("False")


def test_python_m_fmfkit_is_the_command():
    done = subprocess.run([sys.executable, "-m", "fmfkit", "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == f"fmfkit, version {fmfkit.__version__}"
