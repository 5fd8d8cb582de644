"""Other processes keep processors busy only as long as they are asked to."""

import subprocess

from fmfkit_bench.speed import machine


def test_processors_are_kept_busy_and_let_go(monkeypatch):
    started = []
    real = subprocess.Popen

    def start(*given, **options):
        started.append(real(*given, **options))
        return started[-1]

    monkeypatch.setattr(machine.subprocess, "Popen", start)
    with machine.kept_busy(2):
        assert [process.poll() for process in started] == [None, None]
    assert all(process.poll() is not None for process in started)


def test_no_process_is_started_unless_asked_for(monkeypatch):
    monkeypatch.setattr(machine.subprocess, "Popen", None)
    with machine.kept_busy(0):
        pass
