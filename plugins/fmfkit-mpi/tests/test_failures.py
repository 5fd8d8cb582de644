import re
import time

import pytest

MESSAGES = {
    "raise": "rank 1 on .*OSError: .*No space left on device",
    "exit": "rank 1 on .*SystemExit: no more",
    "flip": "after round 3 the replicas differ: rank 1 on .* has other bits than the rest",
    "kill": "rank 1 on .* (has ended without a word|is gone)|KILLED BY SIGNAL: 9|Killed",
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
