"""The plugin "mpi"."""

from __future__ import annotations

from fmfkit import Spec, hookimpl

fmfkit_interface = 1


@hookimpl
def fmfkit_solvers() -> list[Spec]:
    """Offer the default solver on queries in shards."""
    return [
        Spec(
            "sharded",
            "fmfkit_mpi.solver:Sharded",
            "the default solver on queries in shards, of which an MPI rank may have some",
            examples=[{"shards": 5, "directions": 3}],
        )
    ]


@hookimpl
def fmfkit_commands() -> list[Spec]:
    """Offer what `fmfkit fit` and `recommend` are where a launcher started several processes, and a benchmark."""
    return [
        Spec("fit_together", "fmfkit_mpi.cli:fit", "What `mpirun -n 8 fmfkit fit` is: train on all its processes."),
        Spec("mpi_bench", "fmfkit_mpi.bench:command", "Time rounds by ranks; seconds, bytes, and a model of more."),
        Spec("recommend_together", "fmfkit_mpi.cli:recommend", "What `mpirun -n 8 fmfkit recommend` is."),
    ]
