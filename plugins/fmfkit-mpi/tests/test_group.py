import os

import fmfkit_mpi.group as module
import pytest
from fmfkit_mpi import Group


@pytest.mark.parametrize(
    ("others", "threads"),
    [
        ([], 8),
        ([("here", {0, 1, 2, 3, 4, 5, 6, 7})], 4),
        ([("here", {8, 9})], 8),
        ([("there", {0, 1})], 8),
        ([("here", {7, 8})] * 11, 1),
    ],
)
def test_ranks_of_a_host_share_its_processors(monkeypatch, others, threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(module.socket, "gethostname", lambda: "here")
    monkeypatch.setattr(module.fmfkit, "build_info", lambda: {"threads": 8})
    monkeypatch.setattr(Group, "each", lambda self, mine: [mine, *others])
    assert Group(4).threads == threads
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    assert Group(4).threads == 8
