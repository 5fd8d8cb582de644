"""The plugin "schedulers"."""

from __future__ import annotations

from fmfkit import Spec, hookimpl


@hookimpl
def fmfkit_schedulers() -> list[Spec]:
    """Return what the plugin offers."""
    return [
        Spec(
            "bounded_conflict",
            "fmfkit_schedulers.conflict:BoundedConflict",
            "sets in which no feature's share falls below 1/c",
        ),
        Spec("conflict_free", "fmfkit_schedulers.conflict:ConflictFree", "sets whose features share no row"),
        Spec("apart", "fmfkit_schedulers.cooccurrence:Apart", "features that occur together fall to different sets"),
        Spec("adaptive", "fmfkit_schedulers.adaptive:Adaptive", "random sets, as large as eta and sigma allow"),
    ]
