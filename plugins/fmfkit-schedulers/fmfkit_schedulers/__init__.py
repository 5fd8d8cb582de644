"""The plugin "schedulers"."""

from __future__ import annotations

from fmfkit import Spec, hookimpl

fmfkit_interface = 1


@hookimpl
def fmfkit_schedulers() -> list[Spec]:
    """Return what the plugin offers."""
    return [
        Spec(
            "bounded_conflict",
            "fmfkit_schedulers.conflict:BoundedConflict",
            "sets in which no feature's share falls below 1/c",
            examples=[{"conflict_bound": 1}, {"conflict_bound": 2.5}, {"conflict_bound": 1e6}],
        ),
        Spec("conflict_free", "fmfkit_schedulers.conflict:ConflictFree", "sets whose features share no row"),
        Spec(
            "apart",
            "fmfkit_schedulers.cooccurrence:Apart",
            "features that occur together fall to different sets",
            examples=[{"sets": 1}, {"sets": 1000}],
        ),
        Spec(
            "adaptive",
            "fmfkit_schedulers.adaptive:Adaptive",
            "random sets, as large as eta and sigma allow",
            examples=[{"least_eta": 1}, {"least_eta": 0.05, "threads": 64}],
        ),
    ]
