"""fmfkit explore: a model in a browser."""

import re
import signal
import subprocess
import sys
import urllib.request

from command import run


def test_pages_are_served_until_an_interrupt(model):
    command = [sys.executable, "-m", "fmfkit", "explore", model]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        url = re.fullmatch(r"model\.fmf is at (http://127\.0\.0\.1:\d+/)  \(Ctrl-C ends it\)\n", line)[1]
        with urllib.request.urlopen(f"{url}search?q=7th", timeout=20) as answer:
            assert "Book, the 7th" in answer.read().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
        assert process.stderr.read() == ""


def test_a_port_that_is_taken_is_said_to_be(model):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run("explore", model, "--port", taken.getsockname()[1])
    assert result.exit_code == 1
    assert "Address already in use" in result.output
