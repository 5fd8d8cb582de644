"""LIBMF: plain matrix factorization by stochastic gradient descent."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import attrs
import numpy as np
from fmfkit_bench.peers import interface
from fmfkit_bench.peers.interface import Factors, Knobs, Note, Number, Peer, Task
from numpy.typing import NDArray


@attrs.frozen
class Settings:
    """What LIBMF is run with."""

    rank: int
    iterations: int
    penalty: float
    rate: float
    threads: int


def installed() -> bool:
    """Return whether LIBMF can be imported."""
    return importlib.util.find_spec("libmf") is not None


def table(query: NDArray[Any], target: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float32]:
    """Return pairs as LIBMF takes them."""
    return np.column_stack([query, target, y]).astype(np.float32)


def factorize(table: NDArray[np.float32], settings: Settings) -> Any:
    """Return LIBMF's engine after a fit; it gives factors of all rows up to the last that was seen."""
    engine = importlib.import_module("libmf.mf").MF(
        k=settings.rank,
        nr_iters=settings.iterations,
        nr_threads=settings.threads,
        lambda_p1=0.0,
        lambda_q1=0.0,
        lambda_p2=settings.penalty,
        lambda_q2=settings.penalty,
        eta=settings.rate,
        quiet=True,
    )
    engine.fit(table)
    return engine


class Libmf(Peer):
    """LIBMF on ratings."""

    parts = ("libmf.mf",)
    ranks = False

    def knobs(self, task: Task) -> Knobs:
        """Return the penalty, the learning rate and iterations."""
        return {
            "lambda": Number(0.05),
            "eta": Number(0.1, most=0.5),
            "iterations": Number(20, least=2, most=200, whole=True),
        }

    def train(self, task: Task, settings: interface.Settings, note: Note) -> None:
        """Fit once, on ratings without their mean, which is what rows that were never seen get."""
        data, mean = task.data, float(task.y.mean())
        given = Settings(task.rank, settings["iterations"], settings["lambda"], settings["eta"], task.threads)
        engine = factorize(table(data.query, data.target, task.y - mean), given)
        P, Q = (_filled(part, n) for part, n in zip((engine.p_factors(), engine.q_factors()), data.shape, strict=True))
        note(lambda: Factors(P, Q, mean))


def _filled(factors: NDArray[Any], rows: int) -> NDArray[Any]:
    """Return a row for each instance, zeros where it was never seen."""
    filled = np.zeros((rows, factors.shape[1]), np.float32)
    filled[: len(factors)] = np.nan_to_num(factors)
    return filled


__all__ = ["Libmf", "Settings", "factorize", "installed", "table"]
