"""Plugins as if they were installed: in memory, or in a folder."""

from __future__ import annotations

import os
import subprocess
import sys
import types

from fmfkit import Spec, hookimpl
from fmfkit.plugins.discovery import Found
from fmfkit.plugins.registry import Registry


class EntryPoint:
    """Stands for an installed entry point: loading it gives an object or raises."""

    def __init__(self, result):
        self.result = result

    def load(self):
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


def plugin(**hooks):
    module = types.ModuleType("plugin")
    for name, answer in hooks.items():
        setattr(module, name, hookimpl(lambda answer=answer: answer))
    return module


def registry(environ=None, **plugins):
    found = [Found(name, f"dist-{name}", "1.2", EntryPoint(result)) for name, result in plugins.items()]
    return Registry(found, environ or {})


HUBER = [Spec("huber", "fmfkit.losses:Square")]


PLUGIN = """
from fmfkit import Loss, Spec, hookimpl
import numpy as np

class Absolute(Loss):
    def value(self, score, y): return np.sqrt(1 + (score - y) ** 2)
    def gradient(self, score, y): return (score - y) / np.sqrt(1 + (score - y) ** 2)
    def curvature(self, score, y): return 1.0

@hookimpl
def fmfkit_losses():
    return [Spec("absolute", Absolute, "nearly |s - y|")]

import click

@click.command()
@click.argument("name")
def greet(name):
    click.echo(f"hello {name}")

@hookimpl
def fmfkit_commands():
    return [Spec("greet", greet, "Greet somebody.")]
"""


def install(folder, **sources):
    """Make a folder look like an installation of plugins, each a module with a source."""
    for name, source in sources.items():
        (folder / f"{name}_plugin.py").write_text(source)
        info = folder / f"{name}_plugin-2.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-plugin\nVersion: 2.0\n")
        (info / "entry_points.txt").write_text(f"[fmfkit]\n{name} = {name}_plugin\n")


def run_python(code, path, **environ):
    """Run code in a Python that has a folder on its path, twice."""
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{path}", **environ},
    )
