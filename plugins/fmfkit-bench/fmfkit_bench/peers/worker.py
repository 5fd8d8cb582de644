"""One system on one data set, in a process of its own: ``python -m fmfkit_bench.peers.worker JOB ANSWER``.

JOB and ANSWER are JSON files. A job either searches settings on a validation part, or trains with given ones on all
training pairs and measures on the test pairs.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import attrs
import cattrs
import numpy as np
from fmfkit_bench import machine, real
from fmfkit_bench.peers import hooks, search
from fmfkit_bench.peers.interface import Peer, Rows, Task, Trained
from fmfkit_bench.peers.search import Found, Judge, Watch

from fmfkit import Dataset

TOP, TOP_QUERIES = 10, 5000


@attrs.frozen(kw_only=True)
class Job:
    """What to do."""

    peer: str
    data: str
    """A file that ``real.load`` reads."""
    rank: int
    threads: int
    seed: int
    rounds: int
    trials: int
    budget: float
    found: Found | None = None
    """Train with these settings; None searches them."""
    scores: str | None = None
    """Where to write the scores of the test pairs."""


@attrs.frozen(kw_only=True)
class Measured:
    """What training with the settings that were found gave."""

    metrics: dict[str, float]
    """On the test part, after the rounds that were chosen on the validation part."""
    seconds: float
    """Of training."""
    values: list[float]
    """The deciding metric on the test part after each round."""
    round_seconds: list[float]
    """Seconds of training until then."""
    peak_bytes: int | None
    top_seconds: float | None
    """To rank for the queries of the test part, ``TOP_QUERIES`` at most; None where it cannot."""


@attrs.frozen(kw_only=True)
class Answer:
    """What was done."""

    skipped: str | None = None
    found: Found | None = None
    measured: Measured | None = None


def work(job: Job) -> Answer:
    """Do a job."""
    data = real.load(job.data, job.seed)
    peer = hooks.known()[job.peer]
    task = _task(job, data, data.train)
    if reason := peer.reason_to_skip(task):
        return Answer(skipped=reason)
    peer.load()
    if job.found is not None:
        return Answer(measured=_measured(job, peer, attrs.evolve(task, rounds=job.found.rounds), data.test))
    part, held_out = data.parts(data.train, job.seed)
    task = _task(job, data, part)
    judge = Judge.of(task, held_out, search.JUDGED_QUERIES)
    return Answer(found=search.search(peer, task, judge, job.trials, job.budget, job.seed))


def _task(job: Job, data: real.Real, train: Dataset) -> Task:
    return Task(
        data=train, ranking=data.positives_only, new_queries=data.cold == "query", rank=job.rank, threads=job.threads,
        seed=job.seed, rounds=job.rounds,
    )  # fmt: skip


def _measured(job: Job, peer: Peer, task: Task, test: Dataset) -> Measured:
    assert job.found is not None
    machine.reset_peak()
    watch = Watch(Judge.of(task, test, search.JUDGED_QUERIES))
    peer.train(task, job.found.settings, watch.note)
    assert watch.last is not None
    if job.scores is not None:
        np.save(job.scores, np.asarray(watch.last.score(test.query, test.target), np.float64))
    judge = Judge.of(task, test)
    rows = judge.queries[:TOP_QUERIES]
    return Measured(
        metrics=judge.everything(watch.last), seconds=watch.seconds[-1], values=watch.values,
        round_seconds=watch.seconds, peak_bytes=watch.peak, top_seconds=_top_seconds(watch.last, rows, judge),
    )  # fmt: skip


def _top_seconds(trained: Trained, rows: Rows, judge: Judge) -> float | None:
    began = time.perf_counter()
    try:
        trained.top(rows, min(TOP, judge.test.shape[1]), judge.known)
    except NotImplementedError:
        return None
    return time.perf_counter() - began


converter = cattrs.Converter()


def main(job: str, answer: str) -> None:
    """Read a job, do it, and write the answer."""
    told = work(converter.structure(json.loads(Path(job).read_text(encoding="utf-8")), Job))
    Path(answer).write_text(json.dumps(converter.unstructure(told)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
