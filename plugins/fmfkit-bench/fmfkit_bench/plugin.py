"""The plugin "bench": it adds a subcommand."""

from __future__ import annotations

from fmfkit import Spec, hookimpl

fmfkit_interface = 1


@hookimpl
def fmfkit_commands() -> list[Spec]:
    """Offer ``fmfkit bench``."""
    return [Spec("bench", "fmfkit_bench.cli:bench", "Measure solvers on generated data, and models on real data.")]
