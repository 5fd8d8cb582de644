"""``fmfkit bench``: one module per subcommand, imported when it is used."""

from __future__ import annotations

import importlib

import click

COMMANDS = {
    "accuracy": ("fmfkit_bench.accuracy", "Measure models on real data, with features and without."),
    "cells": ("fmfkit_bench.speed.cells", "Time what the term over all cells adds to a round."),
    "data": ("fmfkit_bench.data.command", "Show what the generated data is like, and how much its features help."),
    "losses": ("fmfkit_bench.components.losses", "Time losses by name, or the ways to write one, beside the built-in."),
    "mpi": ("fmfkit_bench.speed.ranks", "Time rounds on several ranks, and count the bytes that they send."),
    "paper": ("fmfkit_bench.paper.command", "Repeat the paper's experiments and check its claims."),
    "peers": ("fmfkit_bench.peers.command", "Compare fmfkit with other systems."),
    "regularizers": ("fmfkit_bench.components.regularizers", "Time regularizers by name beside the elastic net."),
    "results": ("fmfkit_bench.results.command", "Make a page of the results of several runs."),
    "schedulers": ("fmfkit_bench.components.schedulers", "Compare schedulers: eta, sigma and time."),
    "serve": ("fmfkit_bench.serving.serve", "Time single queries, batches and loading; measure memory."),
    "speed": ("fmfkit_bench.speed.command", "Compare solvers: seconds per round and to equal results."),
    "tables": ("fmfkit_bench.data.tables", "Time reading a large CSV file into a data set."),
    "top": ("fmfkit_bench.serving.top", "Time recommending to every query at once."),
}
"""The module of each subcommand, and its description."""


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])


@click.group(cls=_LazyGroup)
def bench() -> None:
    """Measure fmfkit: solvers on generated data, models on real data, and other systems beside it."""


__all__ = ["bench"]
