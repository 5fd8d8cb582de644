"""Settings of all tests, and fixtures that several folders need."""

import os
import signal

import pytest
from bookshop import write_files
from fake_plugins import PLUGIN, install
from hypothesis import settings

# a slow machine is no mistake; and the same code is tried on the same problems, unless new ones are asked for
settings.register_profile("any-machine", deadline=None, derandomize="FMFKIT_EXPLORE" not in os.environ)
settings.load_profile("any-machine")


@pytest.fixture(autouse=True, scope="session")
def signals_are_heard():
    """Hear signals, here and in processes that tests start, though nohup or a shell's & had them ignored."""
    heard = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    ignored = [number for number in heard if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, heard[number])
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def installed(tmp_path):
    """A folder that looks like an installation with a good and a broken plugin."""
    install(tmp_path, good=PLUGIN, broken="import no_such_module")
    return tmp_path


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """The current folder, with files as a user has them: ratings.csv, liked.csv, books.csv."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
