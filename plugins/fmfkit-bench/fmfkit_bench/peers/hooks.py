"""How a plugin adds a system to the race: an entry point of group ``fmfkit_bench``, and this hook."""

from __future__ import annotations

from collections.abc import Iterable

import pluggy
from fmfkit_bench.peers import adapters
from fmfkit_bench.peers.interface import Peer

PROJECT = "fmfkit_bench"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Hooks:
    """What a plugin may implement."""

    @hookspec
    def fmfkit_bench_peers(self) -> Iterable[Peer]:
        """Return adapters of the systems that the plugin adds."""
        raise NotImplementedError


class _Ours:
    @hookimpl
    def fmfkit_bench_peers(self) -> Iterable[Peer]:
        """Return the adapters that come with fmfkit-bench."""
        return [getattr(adapters, name)() for name in adapters.__all__]


def known() -> dict[str, Peer]:
    """Return all adapters by name, fmfkit first."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(Hooks)
    manager.load_setuptools_entrypoints(PROJECT)
    manager.register(_Ours())
    found = {peer.name: peer for peers in manager.hook.fmfkit_bench_peers() for peer in peers}
    return {"fmfkit": found.pop("fmfkit")} | dict(sorted(found.items(), key=lambda item: item[0].lower()))


__all__ = ["hookimpl", "known"]
