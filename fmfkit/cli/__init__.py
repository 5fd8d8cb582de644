"""The command line: one module per subcommand, imported when it is used."""

from __future__ import annotations

import importlib
from typing import Any

import click

import fmfkit
from fmfkit.cli import streams
from fmfkit.plugins.builtin import COMMANDS
from fmfkit.processes import launched, place

HARMLESS = ("info", "plugins")
"""Commands that each process of a launcher may run alone."""
TOGETHER = "_together"
"""What ends the names of plugins' commands that a launcher's processes run instead of ours."""


class _LazyGroup(click.Group):
    """Our subcommands by the table, without importing them; plugins' from the registry, when somebody asks."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*COMMANDS, *_plugin_commands()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        started = launched()
        if cmd_name in COMMANDS and cmd_name not in HARMLESS and (started > 1 or place() is not None):
            cmd_name = _together(cmd_name, started)
        if cmd_name in COMMANDS:
            command: click.Command = importlib.import_module(f"fmfkit.cli.{cmd_name.replace('-', '_')}").command
            return command
        if cmd_name not in _plugin_commands():
            return None
        from fmfkit.errors import PluginLoadError
        from fmfkit.plugins.registry import get_registry

        found = get_registry().load("command", cmd_name)
        if not isinstance(found, click.Command):
            raise PluginLoadError(f"command {cmd_name!r}: expected a click.Command, got {found!r}")
        return found

    def invoke(self, ctx: click.Context) -> Any:
        with streams.printing():
            try:
                return super().invoke(ctx)
            except click.UsageError as error:
                if place():  # it is the same on all processes of a launcher, and the first of them tells it
                    ctx.exit(error.exit_code)
                raise

    def main(self, *args: Any, **kwargs: Any) -> Any:
        streams.prepare()
        return super().main(*args, **kwargs)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted({**_plugin_commands(), **COMMANDS}.items()))


def _together(name: str, started: int) -> str:
    """Return the command of a plugin that does with all processes of a launcher what one of ours does in one."""
    if (together := name + TOGETHER) in _plugin_commands():
        return together
    if started == 1:
        return name
    known = ", ".join(sorted(one.removesuffix(TOGETHER) for one in _plugin_commands() if one.endswith(TOGETHER)))
    advice = f"commands for several processes are: {known}" if known else "install fmfkit-mpi, which trains on several"
    raise click.UsageError(
        f"a launcher started {started} processes, and each would run `fmfkit {name}` alone; {advice}"
    )


def _plugin_commands() -> dict[str, str]:
    """Return the subcommands of plugins and their one-line descriptions."""
    from fmfkit.plugins.registry import get_registry

    registry = get_registry()
    return {name.partition(":")[2]: registry.spec("command", name).doc for name in registry.names("command")}


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(fmfkit.__version__, prog_name="fmfkit")
def main() -> None:
    """Feature-based matrix factorization by parallel coordinate descent."""
