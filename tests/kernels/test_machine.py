"""What a process may use: processors, by its affinity mask and the quota of its container, and memory."""

import os

import pytest

from fmfkit._kernels import machine


def write(root, files):
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


@pytest.mark.parametrize(
    ("files", "own", "quota"),
    [
        ({}, "", None),
        ({"cpu.max": "max 100000\n"}, "0::/\n", None),
        ({"cpu.max": "150000 100000\n"}, "0::/\n", 1.5),
        ({"cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n", "a/b/cpu.max": "max 100000"}, "0::/a/b\n", 3.0),
        ({"a/cpu.max": "50000 100000\n"}, "0::/a\n", 0.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, "4:cpu,cpuacct:/\n", None),
        ({"cpu/x/cpu.cfs_quota_us": "250000\n", "cpu/x/cpu.cfs_period_us": "100000\n"}, "4:cpu:/x\n", 2.5),
        ({"cpu,cpuacct/cpu.cfs_quota_us": "200000", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, "4:cpu,cpuacct:/", 2.0),
        ({"memory/cpu.cfs_quota_us": "1", "memory/cpu.cfs_period_us": "1"}, "4:memory:/\n", None),
        ({"cpu.max": "nonsense"}, "nonsense", None),
    ],
)
def test_the_quota_is_the_smallest_of_the_control_groups(tmp_path, files, own, quota):
    write(tmp_path, {f"root/{name}": text for name, text in files.items()} | {"own": own})
    assert machine.cpu_quota(tmp_path / "root", tmp_path / "own") == quota


@pytest.mark.parametrize(("quota", "threads"), [(None, 4), (0.2, 1), (1.5, 2), (3.0, 3), (64.0, 4)])
def test_usable_processors_are_those_of_mask_and_quota_rounded_up(monkeypatch, quota, threads):
    monkeypatch.setattr(machine, "cpu_quota", lambda: quota)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3}, raising=False)
    assert machine.processors() == threads


@pytest.mark.parametrize(
    ("files", "own", "limit"),
    [
        ({}, "", None),
        ({"memory.max": "max\n"}, "0::/\n", None),
        ({"memory.max": "max\n", "a/memory.max": "3000000\n", "a/b/memory.max": "5000000\n"}, "0::/a/b\n", 3_000_000),
        ({"memory/x/memory.limit_in_bytes": "4000000\n"}, "4:memory:/x\n", 4_000_000),
        ({"memory/memory.limit_in_bytes": "9223372036854771712\n"}, "4:memory:/\n", None),
        ({"cpu/memory.limit_in_bytes": "1\n"}, "4:cpu:/\n", None),
    ],
)
def test_memory_is_the_machines_or_the_smallest_limit_of_the_control_groups(tmp_path, files, own, limit):
    whole = machine.memory(tmp_path / "nothing", tmp_path / "nothing")
    write(tmp_path, {f"root/{name}": text for name, text in files.items()} | {"own": own})
    assert machine.memory(tmp_path / "root", tmp_path / "own") == (limit or whole)
    assert whole > 100_000_000


def test_a_limit_of_the_address_space_counts(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda which: {resource.RLIMIT_AS: (2**20, 2**33)}[which])
    assert machine.memory() == 2**20
