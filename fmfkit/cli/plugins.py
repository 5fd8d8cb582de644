"""fmfkit plugins."""

from __future__ import annotations

import json
import warnings
from typing import Any

import click

from fmfkit.plugins.registry import PluginInfo, get_registry
from fmfkit.plugins.requirements import unmet


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List installed plugins, what they offer, what failed, and what they require that is not installed."""
    with warnings.catch_warnings():  # failures stand in the list
        warnings.simplefilter("ignore", RuntimeWarning)
        plugins = list(get_registry().plugins.values())
    if as_json:
        click.echo(json.dumps([_as_json(info) for info in plugins], indent=2))
        return
    for info in plugins:
        click.echo(f"{info.name}  ({info.distribution} {info.version})  {info.status}")
        if info.error is not None:
            click.echo(f"  {type(info.error).__name__}: {info.error}")
        for line in (*info.refused, *_unmet(info)):
            click.echo(f"  {line}")
        for kind, specs in info.offers.items():
            for spec in specs:
                click.echo(f"  {kind:12} {info.name}:{spec.name:16} {spec.doc}")


def _unmet(info: PluginInfo) -> list[str]:
    return [] if info.distribution is None else unmet(info.distribution)


def _as_json(info: PluginInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "distribution": info.distribution,
        "version": info.version,
        "status": info.status,
        "error": None if info.error is None else f"{type(info.error).__name__}: {info.error}",
        "refused": list(info.refused),
        "unmet": _unmet(info),
        "offers": {kind: [{"name": s.name, "doc": s.doc} for s in specs] for kind, specs in info.offers.items()},
    }
