"""The command line: one module per subcommand, imported when it is used."""

from __future__ import annotations

import importlib

import click

import fmfkit

_COMMANDS = {
    "demo": "Train plain and feature-based factorization on generated data, and compare.",
    "info": "Show version, instruction sets, OpenMP and compiler.",
    "plugins": "List installed plugins, what they offer, and what failed.",
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"fmfkit.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):  # from the table: help must not import every subcommand
            formatter.write_dl(sorted(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(fmfkit.__version__, prog_name="fmfkit")
def main() -> None:
    """Feature-based matrix factorization by parallel coordinate descent."""
