"""The race: every system on every data set, each in processes of its own, and what came of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import attrs
import numpy as np
from fmfkit_bench.peers import hooks, search, worker
from fmfkit_bench.peers.search import Found
from fmfkit_bench.peers.worker import Answer, Job, Measured
from fmfkit_bench.sections import Cell, Claim, Section, Table

CLOSE = 1.005
"""Within half a percent of an error."""


@attrs.frozen(kw_only=True)
class Outcome:
    """One system on one data set."""

    peer: str
    bayesian: bool
    found: Found | None = None
    runs: list[Measured] = attrs.field(factory=list)
    difference: float | None = None
    """The largest difference between the two runs' scores of test pairs."""
    skipped: str | None = None

    @property
    def run(self) -> Measured:
        """The faster of the runs: the machine is shared."""
        return min(self.runs, key=lambda run: run.seconds)


def run(
    files: Iterable[Path], names: Iterable[str], job: Job, limit: float, say: Callable[[str], None]
) -> Iterable[Section]:
    """Yield what came of each data set; ``job`` has what is the same for all."""
    peers = hooks.known()
    for file in files:
        outcomes = []
        for name in names:
            say(f"{file.stem}: {name}")
            one = attrs.evolve(job, peer=name, data=str(file))
            outcomes.append(_outcome(one, peers[name].bayesian, limit))
            say(f"  {_told(outcomes[-1])}")
        yield section(file.stem, outcomes, job)


def _outcome(job: Job, bayesian: bool, limit: float) -> Outcome:
    """Search settings, then train twice with the best."""
    try:
        answer = _process(job, limit)
        if answer.skipped is not None or answer.found is None:
            return Outcome(peer=job.peer, bayesian=bayesian, skipped=answer.skipped)
        with tempfile.TemporaryDirectory() as folder:
            places = [str(Path(folder) / f"{n}.npy") for n in (1, 2)]
            runs = [_process(attrs.evolve(job, found=answer.found, scores=place), limit).measured for place in places]
            first, second = (np.load(place) for place in places)
        return Outcome(
            peer=job.peer, bayesian=bayesian, found=answer.found, runs=[run for run in runs if run is not None],
            difference=float(np.abs(first - second).max()),
        )  # fmt: skip
    except (subprocess.SubprocessError, OSError) as error:
        return Outcome(peer=job.peer, bayesian=bayesian, skipped=_reason(error))


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"took more than {error.timeout:.0f} s"
    if isinstance(error, subprocess.CalledProcessError):
        lines = (error.stderr or "").strip().splitlines()
        return f"failed: {lines[-1] if lines else error.returncode}"
    return str(error)


def _process(job: Job, limit: float) -> Answer:
    """Do a job in a new process, with threads for the system, and one for the BLAS beneath it."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answer = Path(folder) / "job.json", Path(folder) / "answer.json"
        asked.write_text(json.dumps(worker.converter.unstructure(job)), encoding="utf-8")
        threads = {"OMP_NUM_THREADS": str(job.threads), "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "fmfkit_bench.peers.worker", str(asked), str(answer)],
            env=os.environ | threads, check=True, capture_output=True, text=True, timeout=limit,
        )  # fmt: skip
        return worker.converter.structure(json.loads(answer.read_text(encoding="utf-8")), Answer)


def _told(outcome: Outcome) -> str:
    if outcome.skipped is not None or outcome.found is None:
        return f"skipped: {outcome.skipped}"
    told = ", ".join(f"{name} {value:.4f}" for name, value in outcome.run.metrics.items())
    return f"{told}, {outcome.run.seconds:.2f} s; {outcome.found.trials} trials, {outcome.found.settings}"


def section(name: str, outcomes: list[Outcome], job: Job) -> Section:
    """Return the table and the claims of one data set."""
    done = [one for one in outcomes if one.runs]
    columns = list(done[0].run.metrics) if done else []
    ranking = "P@1" in columns
    rows: list[list[Cell]] = []
    for one in sorted(done, key=lambda one: one.run.metrics[columns[0]], reverse=ranking):
        rows.append(_row(one, columns, ranking))
    tables = [
        Table(
            f"{name}: on the test part",
            ["system", *columns, "s", "best", "s to best", "peak MB", "s to rank", "runs agree", "trials"], rows,
        )
    ]  # fmt: skip
    skipped: list[list[Cell]] = [[one.peer, one.skipped] for one in outcomes if one.skipped is not None]
    if skipped:
        tables.append(Table(f"{name}: not measured", ["system", "reason"], skipped))
    return Section(
        name, name,
        f"Rank {job.rank}, {job.threads} threads; settings and rounds chosen on a validation part, by {job.trials} "
        f"trials or {job.budget:g} s. s: seconds of training with them. best: the best "
        f"{f'MAP@10 of {search.JUDGED_QUERIES} queries' if ranking else 'RMSE'} on the test part after any round, and "
        "the seconds to it. peak MB: of the process while it trains. s to rank: the first 10 targets for the queries "
        f"of the test part, {worker.TOP_QUERIES} at most, by the system's own way, or by NumPy on its factors, on one "
        "thread, where it has none. runs agree: whether two runs with the same seed give the same scores, or their "
        "largest difference.",
        tables=tables, claims=_claims(name, done, ranking),
    )  # fmt: skip


def _row(one: Outcome, columns: list[str], ranking: bool) -> list[Cell]:
    first = one.run
    place = int(np.argmax(first.values) if ranking else np.argmin(first.values))
    agree = "yes" if one.difference == 0 else f"{one.difference:.1g}"
    memory = None if first.peak_bytes is None else round(first.peak_bytes / 1e6)
    label = f"{one.peer} (Bayesian)" if one.bayesian else one.peer
    return [
        label, *(one.run.metrics[column] for column in columns), one.run.seconds, first.values[place],
        first.round_seconds[place], memory, first.top_seconds, agree, one.found.trials if one.found else None,
    ]  # fmt: skip


def _claims(name: str, done: list[Outcome], ranking: bool) -> list[Claim]:
    mine = next((one for one in done if one.peer == "fmfkit"), None)
    others = [one for one in done if one.peer != "fmfkit" and not one.bayesian]
    if not others:
        return []
    if mine is None:
        return [Claim("fmfkit takes part", name, False, "it was not measured")]
    if ranking:
        return [_ahead(name, metric, mine, others, more=True) for metric in ("P@1", "MAP")]
    error = mine.run.metrics["RMSE"]
    near = [one for one in others if one.run.metrics["RMSE"] <= CLOSE * error]
    slower = ", ".join(f"{one.peer} {one.run.seconds:.2f} s" for one in near) or "no other came so close"
    return [
        _ahead(name, "RMSE", mine, others, more=False),
        Claim(
            "fmfkit is the fastest of those within 0.5 % of its error", name,
            all(mine.run.seconds <= one.run.seconds for one in near), f"fmfkit {mine.run.seconds:.2f} s; {slower}",
        ),
    ]  # fmt: skip


def _ahead(name: str, metric: str, mine: Outcome, others: list[Outcome], *, more: bool) -> Claim:
    value = mine.run.metrics[metric]
    best = (max if more else min)(others, key=lambda one: one.run.metrics[metric])
    other = best.run.metrics[metric]
    return Claim(
        f"fmfkit's {metric} is at or {'above' if more else 'below'} every point estimate's", name,
        value >= other if more else value <= other, f"fmfkit {value:.4f}, {best.peer} {other:.4f}",
    )  # fmt: skip


__all__ = ["run"]
