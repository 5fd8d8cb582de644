import json
import subprocess

from fmfkit_bench.results import sections
from fmfkit_bench.speed import ranks


def answer(seconds, ranks, sent=1000.0):
    measured = {"seconds": seconds, "communication": 0.1, "sent": sent, "formula": 1000.0 * (ranks > 1)}
    return json.dumps(measured | {"objective": 2.5, "gigabytes": 1.0})


def test_ranks_and_the_ordinary_fit_are_timed_in_turn_and_bytes_compared(bench, tmp_path, monkeypatch):
    commands = []

    def run(command, **options):
        commands.append(command)
        launched = "-n" in command
        said = answer(1.0 if "--ordinary" in command else 1.5, 2 if launched else 1)
        return subprocess.CompletedProcess(command, 0, said, "")

    monkeypatch.setattr(ranks.shutil, "which", lambda name: name)
    monkeypatch.setattr(subprocess, "run", run)
    out = tmp_path / "out.json"
    bench("mpi", "--scale", 0.01, "--repeats", 2, "--ranks", 1, "--ranks", 2, "--json", out)
    (section,) = sections.read(out).sections
    assert [row[:4] for row in section.tables[0].rows] == [[1, 1.5, 1.0, 1.5], [2, 1.5, 1.0, 1.5]]
    assert all(claim.holds for claim in section.claims)
    assert len(commands) == 8
    assert ["--ordinary" in command for command in commands] == [False, True] * 4


def test_ranks_are_timed_alone_where_one_process_has_no_room_for_the_ordinary_fit(bench, tmp_path, monkeypatch):
    commands = []

    def run(command, **options):
        commands.append(command)
        return subprocess.CompletedProcess(command, 0, answer(1.5, 2), "")

    monkeypatch.setattr(ranks.shutil, "which", lambda name: name)
    monkeypatch.setattr(subprocess, "run", run)
    out = tmp_path / "out.json"
    bench("mpi", "--scale", 0.01, "--repeats", 1, "--ranks", 2, "--rounds", 1, "--alone", "--json", out)
    (section,) = sections.read(out).sections
    assert section.tables[0].rows == [[2, 1.5, None, None, 0.1, 0.001, 0.001, 1.0]]
    assert len(commands) == 1
    assert "--ordinary" not in commands[0]


def test_without_the_plugin_one_is_told_what_to_install(bench, monkeypatch):
    def run(command, **options):
        return subprocess.CompletedProcess(command, 2, "", "Error: No such command 'mpi_bench'.")

    monkeypatch.setattr(ranks.shutil, "which", lambda name: name)
    monkeypatch.setattr(subprocess, "run", run)
    assert "pip install fmfkit-mpi" in bench("mpi", code=1)
