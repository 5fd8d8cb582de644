"""Installed plugins are found without importing them, and may not take for ever to be imported."""

import contextlib
import os
import signal
import sys
import threading
import time

import pytest
from fake_plugins import PLUGIN, install, registry, run_python

from fmfkit.plugins.discovery import find, limited


def test_find_imports_nothing_and_sorts(installed, monkeypatch):
    monkeypatch.syspath_prepend(str(installed))
    names = [found.name for found in find()]
    assert names == sorted(names)
    assert {"good", "broken"} <= set(names)
    assert "good_plugin" not in sys.modules


def test_a_distribution_that_is_on_the_path_twice_counts_once(installed, monkeypatch):
    for _ in range(2):
        monkeypatch.syspath_prepend(str(installed))
    good = [found for found in find() if found.name == "good"]
    assert [(found.distribution, found.version) for found in good] == [("good-plugin", "2.0")]


def test_broken_metadata_of_a_distribution_breaks_nothing(installed, monkeypatch):
    (installed / "broken_plugin-2.0.dist-info" / "entry_points.txt").write_text("[fmfkit]\ngarbage line\n")
    monkeypatch.syspath_prepend(str(installed))
    names = [found.name for found in find()]
    assert "good" in names
    assert "broken" not in names


def test_importing_fmfkit_touches_no_plugin(installed):
    code = "import sys, fmfkit; print([m for m in ('numpy', 'scipy', 'pluggy', 'good_plugin') if m in sys.modules])"
    assert run_python(code, installed).stdout.strip() == "[]"


def test_what_takes_too_long_is_stopped_even_if_it_does_not_want_to():
    def stubborn():
        with limited(0.05):
            for _ in range(3):
                with contextlib.suppress(TimeoutError):
                    time.sleep(60)
            time.sleep(60)

    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"longer than 0\.05 seconds, which FMFKIT_PLUGIN_SECONDS may raise"):
        stubborn()
    assert time.monotonic() - began < 30


def test_a_limit_leaves_signals_and_timers_as_they_were():
    heard = []
    before = signal.signal(signal.SIGALRM, lambda *given: heard.append(given))
    try:
        signal.setitimer(signal.ITIMER_REAL, 1000)
        with limited(50):
            pass
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
        os.kill(os.getpid(), signal.SIGALRM)
        assert len(heard) == 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_threads_have_no_limit():
    done = []

    def slow():
        with limited(0.01):
            time.sleep(0.1)
        done.append(True)

    thread = threading.Thread(target=slow)
    thread.start()
    thread.join()
    assert done == [True]


def test_a_plugin_that_hangs_is_left_out_and_said_so(tmp_path):
    install(tmp_path, stuck="import time\ntime.sleep(600)\n", good=PLUGIN)
    code = "from fmfkit import get_registry; print(get_registry().names('loss'))"
    ran = run_python(code, tmp_path, FMFKIT_PLUGIN_SECONDS="0.5")
    assert "good:absolute" in ran.stdout
    assert "plugin 'stuck' (stuck-plugin 2.0) could not be loaded and is ignored: TimeoutError" in ran.stderr


@pytest.mark.parametrize("given", ["no", "0", "-1", "nan", "inf"])
def test_seconds_that_are_none_are_refused(given):
    with pytest.raises(ValueError, match="FMFKIT_PLUGIN_SECONDS: expected a number above 0"):
        registry({"FMFKIT_PLUGIN_SECONDS": given})
