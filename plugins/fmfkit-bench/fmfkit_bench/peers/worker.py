"""One system on one data set, in a process of its own: ``python -m fmfkit_bench.peers.worker JOB ANSWER``.

JOB and ANSWER are JSON files. A job either searches settings on a validation part, or trains with given settings on all
training pairs and measures on the test pairs.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path

import attrs
import cattrs
import numpy as np
from fmfkit_bench.data import real
from fmfkit_bench.data.real import Real
from fmfkit_bench.peers.interface import Peer, Rows, Task, Trained
from fmfkit_bench.peers.judging import DECIDES, JUDGED_QUERIES, Judge, Watch
from fmfkit_bench.peers.registry import Registry
from fmfkit_bench.peers.search import Found, Limits, search
from fmfkit_bench.speed import machine

from fmfkit import Dataset

TOP, TOP_QUERIES = 10, 5000
"""How many targets are ranked when ranking is timed, and for how many queries at most."""


@attrs.frozen(kw_only=True)
class Job:
    """What to do."""

    system: str
    data: str
    """A file that ``real.load`` reads."""
    rank: int
    threads: int
    seed: int
    rounds: int
    limits: Limits
    decides: str = DECIDES
    """The metric of rankings that decides between settings and rounds."""
    found: Found | None = None
    """Train with these settings; None searches them."""
    scores: str | None = None
    """Where to write the scores of the test pairs."""

    def task(self, data: Real, train: Dataset) -> Task:
        """Return what a system is given to train on."""
        return Task(
            data=train,
            ranking=data.positives_only,
            cold=data.cold,
            rank=self.rank,
            threads=self.threads,
            seed=self.seed,
            rounds=self.rounds,
        )


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
    system = Registry().systems[job.system]
    if reason := system.missing():
        return Answer(skipped=reason)
    data = real.load(job.data, job.seed)
    peer = system.peer()
    task = job.task(data, data.train)
    if reason := peer.reason_to_skip(task):
        return Answer(skipped=reason)
    importlib.import_module(system.module)  # before time and memory are measured
    peer.load()
    if job.found is not None:
        return Answer(measured=_measured(job, peer, attrs.evolve(task, rounds=job.found.rounds), data.test))
    part, held_out = data.parts(data.train, job.seed)
    task = job.task(data, part)
    return Answer(found=search(peer, task, Judge.of(task, held_out, JUDGED_QUERIES, job.decides), job.limits))


def _measured(job: Job, peer: Peer, task: Task, test: Dataset) -> Measured:
    assert job.found is not None
    machine.reset_peak()
    watch = Watch(Judge.of(task, test, JUDGED_QUERIES, job.decides))
    peer.train(task, job.found.settings, watch.note)
    assert watch.last is not None
    if job.scores is not None:
        np.save(job.scores, np.asarray(watch.last.score(test.query, test.target), np.float64))
    judge = Judge.of(task, test)
    return Measured(
        metrics=judge.everything(watch.last),
        seconds=watch.seconds[-1],
        values=watch.values,
        round_seconds=watch.seconds,
        peak_bytes=watch.peak,
        top_seconds=_top_seconds(watch.last, judge.queries[:TOP_QUERIES], judge),
    )


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
    done = work(converter.structure(json.loads(Path(job).read_text(encoding="utf-8")), Job))
    Path(answer).write_text(json.dumps(converter.unstructure(done)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
