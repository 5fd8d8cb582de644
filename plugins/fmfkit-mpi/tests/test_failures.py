import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MESSAGES = {
    "raise": "rank 1 on .*OSError: .*No space left on device",
    "exit": "rank 1 on .*SystemExit: no more",
    "flip": "after round 3 the replicas differ: rank 1 on .* has other bits than the rest",
    "kill": "rank 1 on .* (has ended without a word|is gone)|KILLED BY SIGNAL: 9|Killed",
    "term": "rank 1 on .*: it got the signal SIGTERM",
    "stop": "rank 1 on .* was not heard of for",
}


@pytest.mark.parametrize("how", MESSAGES)
def test_whatever_happens_to_a_rank_the_job_ends_soon_and_says_why(mpiexec, how):
    done = mpiexec(3, "fail.py", how)
    over = time.time()
    said = done.stdout + done.stderr
    assert done.returncode != 0
    began = float(next(line for line in done.stdout.splitlines() if line.startswith(how)).split()[-1])
    assert over - began < 10
    assert re.search(MESSAGES[how], said), said
    assert said.count("fmfkit: the job ends") <= 1
    assert "Traceback" not in said


BEGINNINGS = {
    "before": "rank 0 on .*: MPI has not started within 2 s: another rank is stopped",
    "after": "rank 1 did not report within 2 s: stopped, or cannot be reached",
    "first": "rank 0 has not reported within 2 s: it is stopped, or cannot be reached",
}


@pytest.mark.parametrize("how", BEGINNINGS)
def test_a_rank_that_is_stopped_while_the_job_begins_ends_it(mpiexec, how):
    done = mpiexec(2, "begin.py", how)
    over = time.time()
    began = max(float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("began"))
    assert done.returncode != 0
    assert over - began < 10
    assert re.search(BEGINNINGS[how], done.stderr), done.stderr
    assert done.stderr.count("fmfkit: the job ends") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_launcher_is_told_with_what_was_kept(tmp_path, number):
    launcher = [str(Path(sys.executable).with_name("mpiexec")), "-n", "2", sys.executable]
    program = [str(Path(__file__).parent / "programs" / "fail.py"), "never", str(tmp_path / "kept")]
    job = subprocess.Popen([*launcher, *program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "kept 3" not in job.stdout.readline():
        assert job.poll() is None
    job.send_signal(number)
    _, said = job.communicate(timeout=30)
    assert job.returncode != 0
    assert "Traceback" not in said
    told = [line for line in said.splitlines() if line.startswith("fmfkit: the job ends")]
    assert len(told) == 1, said
    assert re.search(r"rank [01] on .*kept keeps round \d+: the same command with --resume goes on", told[0]), said
