import subprocess
import sys

import pytest
from click.testing import CliRunner
from fmfkit_bench.cli import COMMANDS

from fmfkit.cli import main


def test_help_of_fmfkit_lists_bench():
    assert "bench" in CliRunner().invoke(main, ["--help"]).output


def test_help_lists_every_subcommand_without_importing_any(bench):
    listed = [line.split()[0] for line in bench("--help").partition("Commands:")[2].splitlines() if line[2:3].strip()]
    assert listed == sorted(COMMANDS)
    code = "import sys, fmfkit_bench.cli; sys.exit('numpy' in sys.modules or 'fmfkit_bench.options' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_subcommand_has_help_and_writes_its_results(bench, name):
    shown = bench(name, "--help")
    listed = [line.split()[0] for line in shown.partition("Options:")[2].splitlines() if line[2:4] == "--"]
    assert "--out" in listed
    assert ("--json" in listed) == (name != "results")


def test_unknown_subcommands_exit_with_2(bench):
    bench("nonsense", code=2)
