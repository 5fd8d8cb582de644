"""The command lines of README.md and of some pages of docs/ are ones that the command understands."""

import re
import shlex
from pathlib import Path

import click
import pytest

from fmfkit.cli import main
from fmfkit.plugins.builtin import COMMANDS

ROOT = Path(__file__).parents[2]
NAMES = [
    "data",
    "positives",
    "checkpoints",
    "tutorial",
    "install",
    "ratings",
    "tags",
    "updating",
    "evaluation",
    "report",
    "serving",
]
PAGES = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in NAMES)]
LINE = re.compile(r"(?:^ {4}|&& )(fmfkit .*)$", re.MULTILINE)
FILES = re.compile(r"[\w-]+\.(csv|toml|fmf|parquet)")


def lines_of(page):
    return [shlex.split(found, comments=True) for found in LINE.findall(page.read_text(encoding="utf-8"))]


def parsed(name, arguments):
    """Parse a command line without running it; files that it names must exist."""
    command = main.get_command(click.Context(main), name)
    assert command is not None, f"there is no command {name!r}"
    with command.make_context(name, list(arguments)) as context:
        return context.params


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_command_lines_are_understood(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = lines_of(page)
    assert lines
    for _, name, *arguments in lines:
        for argument in arguments:
            if FILES.fullmatch(argument):
                Path(argument).touch()
        assert parsed(name, arguments), (name, arguments)


def test_options_and_commands_that_do_not_exist_are_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ratings.csv").touch()
    with pytest.raises(click.UsageError, match=r"No such option.*--targts"):
        parsed("fit", ["ratings.csv", "--targts", "ratings.csv"])
    with pytest.raises(AssertionError, match="there is no command 'fti'"):
        parsed("fti", [])


COMMAND = re.compile(r"^\| `fmfkit ([\w-]+)[^`]*` \|[^|]*\|([^|]*)\|$", re.MULTILINE)
"""A row of the table of commands: the command, what it does, its options."""


def test_the_table_of_commands_names_all_their_options():
    rows = COMMAND.findall(PAGES[1].read_text(encoding="utf-8"))
    assert {name for name, _ in rows} | {"fit"} == set(COMMANDS)
    of_fit = {option.opts[0] for option in main.get_command(click.Context(main), "fit").params}
    for name, told in rows:
        options = [option for option in main.get_command(click.Context(main), name).params if option.opts[0][0] == "-"]
        named, known = set(re.findall(r"`(--?[\w-]+)", told)), {option.opts[0] for option in options}
        assert named == (known if "those of `fmfkit fit`" not in told else (known - of_fit) | (named & of_fit)), name
