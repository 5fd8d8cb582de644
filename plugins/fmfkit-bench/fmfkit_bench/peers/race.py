"""The race: every system on every data set, each in processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import attrs
import numpy as np
from fmfkit_bench.peers import worker
from fmfkit_bench.peers.interface import System
from fmfkit_bench.peers.outcomes import Outcome, section
from fmfkit_bench.peers.worker import Answer, Job
from fmfkit_bench.results.sections import Section


@attrs.frozen(kw_only=True)
class Race:
    """Who runs, and under which rules."""

    systems: list[System]
    job: Job
    """What is the same for all."""
    limit: float
    """Seconds after which a process is ended."""
    left_out: dict[str, str] = attrs.field(factory=dict)
    """Packages that could not be loaded, and why."""

    def run(self, files: Iterable[Path], say: Callable[[str], None]) -> Iterator[Section]:
        """Yield the section of each data set."""
        for file in files:
            outcomes = []
            for system in self.systems:
                say(f"{file.stem}: {system.name}")
                job = attrs.evolve(self.job, system=system.name, data=str(file))
                outcomes.append(self._outcome(system, job))
                say(f"  {outcomes[-1]}")
            outcomes += [Outcome(system=name, skipped=reason) for name, reason in self.left_out.items()]
            yield section(file.stem, outcomes, self.job)

    def _outcome(self, system: System, job: Job) -> Outcome:
        """Search settings, then train twice with the best."""
        if reason := system.missing():
            return Outcome(system=system.name, skipped=reason)
        try:
            answer = self._process(job)
            if answer.skipped is not None or answer.found is None:
                return Outcome(system=system.name, skipped=answer.skipped)
            with tempfile.TemporaryDirectory() as folder:
                places = [str(Path(folder) / f"{n}.npy") for n in (1, 2)]
                jobs = [attrs.evolve(job, found=answer.found, scores=place) for place in places]
                runs = [self._process(one).measured for one in jobs]
                first, second = (np.load(place) for place in places)
            begun = answer.found.without_search
            untuned = None if begun is None else self._process(attrs.evolve(job, found=begun)).measured
            return Outcome(
                system=system.name,
                bayesian=system.bayesian,
                found=answer.found,
                runs=[run for run in runs if run is not None],
                untuned=untuned,
                difference=float(np.abs(first - second).max()),
            )
        except (subprocess.SubprocessError, OSError) as error:
            return Outcome(system=system.name, skipped=_reason(error))

    def _process(self, job: Job) -> Answer:
        """Do a job in a new process, with threads for the system, and one for the BLAS beneath it."""
        with tempfile.TemporaryDirectory() as folder:
            asked, answer = Path(folder) / "job.json", Path(folder) / "answer.json"
            asked.write_text(json.dumps(worker.converter.unstructure(job)), encoding="utf-8")
            threads = {"OMP_NUM_THREADS": str(job.threads), "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
            subprocess.run(
                [sys.executable, "-W", "ignore", "-m", "fmfkit_bench.peers.worker", str(asked), str(answer)],
                env=os.environ | threads,
                check=True,
                capture_output=True,
                text=True,
                timeout=self.limit,
            )
            return worker.converter.structure(json.loads(answer.read_text(encoding="utf-8")), Answer)


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"took more than {error.timeout:.0f} s"
    if isinstance(error, subprocess.CalledProcessError):
        lines = (error.stderr or "").strip().splitlines()
        return f"failed: {lines[-1] if lines else error.returncode}"
    return str(error)


__all__ = ["Race"]
