"""The command: subcommands of its own and of plugins, loaded when they are used."""

import re
import subprocess
import sys

import pytest
from command import invoke, run
from fake_plugins import run_python

import fmfkit
from fmfkit.plugins.builtin import COMMANDS as OURS


@pytest.mark.parametrize("arguments", [["demo", "--rank", "0"], ["nonsense"], ["info", "--nonsense"]])
def test_wrong_use_exits_with_2_and_says_so(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Error" in result.output


def test_the_version_is_told_without_importing_numpy():
    code = "import sys; from fmfkit.cli import main\ntry: main(['--version'])\nfinally: print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["fmfkit,", "version", fmfkit.__version__, "False"]


COMMANDS = [
    *(
        "compare",
        "cross-validate",
        "demo",
        "evaluate",
        "explain",
        "explore",
        "export",
        "fit",
        "info",
        "inspect",
        "new-plugin",
        "plugins",
    ),
    *("predict", "recommend", "similar"),
]


def test_help_lists_the_commands_in_order():
    output = invoke("--help")
    listed = re.findall(r"^  ([a-z-]+) {2,}[A-Z]", output.partition("Commands:")[2], re.MULTILINE)
    assert listed == sorted(listed)
    assert [name for name in listed if name in OURS] == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name):
    shown = invoke(name, "--help")
    assert shown.startswith(f"Usage: main {name} ")
    assert len(shown.partition("Options:")[0].splitlines()) > 2


def test_a_plugin_adds_a_subcommand(installed):
    told = run_python("from fmfkit.cli import main; main(['--help'])", installed).stdout
    assert re.search(r"^  greet +Greet somebody\.$", told, re.MULTILINE)
    done = run_python("from fmfkit.cli import main; main(['greet', 'you'])", installed)
    assert done.stdout == "hello you\n"
