"""How a plugin adds systems to the race: an entry point of group ``fmfkit_bench``, and this hook."""

from __future__ import annotations

from collections.abc import Iterable

import pluggy
from fmfkit_bench.peers.interface import System

PROJECT = "fmfkit_bench"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Hooks:
    """What a plugin may implement."""

    @hookspec
    def fmfkit_bench_peers(self) -> Iterable[System]:
        """Return the systems that the plugin adds."""
        raise NotImplementedError


HOOKS = ("fmfkit_bench_peers",)

__all__ = ["HOOKS", "PROJECT", "Hooks", "hookimpl"]
