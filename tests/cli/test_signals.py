"""Signals end a fit after its round, with what was done kept; a second one ends the process at once."""

import signal
import subprocess
import sys
import time

import pytest
from command import assert_same, invoke, run

from fmfkit import Model, Recommender

ENDLESS = ["--rounds", "1000000", "--validate", "0", "--l2", "0.1"]
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def begun(folder, *arguments, wait="round 3/", **options):
    """Start a fit, and return it when a line of what it says has some words."""
    command = [sys.executable, "-m", "fmfkit", "fit", *arguments]
    process = subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
    )
    for line in process.stderr:
        if wait in line:
            return process
    raise AssertionError("it ended before")


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_stops_after_the_round_and_saves(shop, number):
    process = begun(shop, "ratings.csv", *ENDLESS)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 128 + number, err
    assert "stopping after this round; a second signal ends at once, without a model" in err
    assert err.splitlines()[-1] == f"stopped by {number.name}"
    assert "interrupted" in out
    assert Recommender.load(shop / "model.fmf").model.stopped == "interrupted"


@pytest.mark.parametrize("number", SIGNALS)
def test_a_fit_that_a_signal_stopped_is_gone_on_with(shop, number):
    arguments = ["ratings.csv", "--rank", "4", "--rounds", "300", "--patience", "300", "--l2", "0.05", "--test", "0.1"]
    invoke("fit", *arguments, "--out", "whole.fmf")
    keeping = [*arguments, "--checkpoint", "kept", "--checkpoint-every", "1000"]
    process = begun(shop, *keeping)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + number, err
    assert err.splitlines()[-1] == f"stopped by {number.name}; the same command with --resume goes on from kept"
    assert "what came after the last checkpoint is then lost" in err
    done = Model.load("kept/0002.fmf").history[-1].round
    output = invoke("fit", *keeping, "--resume")
    assert f"fit  round {done}/300" in output
    assert f"fit  round {done - 1}/300" not in output
    assert_same("whole.fmf", "model.fmf")


def test_a_search_that_a_signal_stopped_is_gone_on_with(shop):
    arguments = ["ratings.csv", "--rank", "4", "--rounds", "40", "--patience", "40", "--l2", "0.05", "--tune", "8"]
    invoke("fit", *arguments, "--out", "whole.fmf")
    process = begun(shop, *arguments, "--checkpoint", "kept", wait="trial 3/8")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (143, ""), err
    assert not (shop / "model.fmf").exists()
    invoke("fit", *arguments, "--checkpoint", "kept", "--resume")
    assert_same("whole.fmf", "model.fmf")


def test_a_terminal_that_is_gone_is_no_reason_to_lose_a_round(shop):
    process = begun(shop, "ratings.csv", *ENDLESS, "--checkpoint", "kept")
    process.stderr.close()
    process.stdout.close()
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=30) == 129
    assert (shop / "kept" / "0002.fmf").exists()


def test_what_nohup_ignores_stays_ignored(shop):
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = begun(shop, "ratings.csv", *ENDLESS, preexec_fn=ignore)
    process.send_signal(signal.SIGHUP)
    for line in process.stderr:
        assert "stopping" not in line
        if "round 60/" in line:
            break
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 143, err


IN_C = """
import hashlib
from fmfkit.cli.signals import stop_after_round
with stop_after_round(None):
    print("begun", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"a", b"b", 2_000_000_000)
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_second_signal_ends_at_once_while_c_runs_too(number):
    process = subprocess.Popen([sys.executable, "-c", IN_C], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.1)
        process.send_signal(number)
        assert process.stderr.readline() == "\n"
        assert process.stderr.readline().startswith("stopping after this round")
        process.send_signal(number)
        process.communicate(timeout=30)
    finally:
        process.kill()  # what does not hear signals would run for hours
    assert process.returncode == 128 + number


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--resume"], "--resume: give --checkpoint FOLDER, too"),
        (
            ["--checkpoint", "kept", "--checkpoint-every", "now"],
            "expected a number of rounds, such as 5, or of seconds",
        ),
        (["--checkpoint", "kept"], "kept: it holds a checkpoint; go on from it"),
        (
            ["--checkpoint", "kept", "--resume", "--rank", "3"],
            "its checkpoint is of something else: rank was 2 and is 3",
        ),
        (["--checkpoint", "kept", "--resume", "--test", "0.2"], "test was 0.0 and is 0.2"),
        (["--checkpoint", "kept", "--resume", "--targets", "books.csv"], "targets differs"),
    ],
)
def test_what_cannot_be_gone_on_with_is_refused(shop, options, message):
    arguments = ["fit", "ratings.csv", "--rank", "2", "--rounds", "2"]
    invoke(*arguments, "--checkpoint", "kept")
    (shop / "model.fmf").unlink()
    result = run(*arguments, *options)
    assert result.exit_code == 1
    assert message in result.output
    assert not (shop / "model.fmf").exists()


def test_a_file_names_the_folder_of_its_checkpoint(shop):
    lines = ['[data]\npairs = "ratings.csv"', "[model]\nrank = 2\nrounds = 2"]
    (shop / "sub").mkdir()
    (shop / "ratings.csv").rename(shop / "sub" / "ratings.csv")
    (shop / "sub" / "fit.toml").write_text("\n".join([*lines, '[recipe]\ncheckpoint = "kept"\ncheckpoint_every = "5"']))
    invoke("fit", "sub/fit.toml")
    assert (shop / "sub" / "kept" / "0002.fmf").exists()
    invoke("fit", "sub/fit.toml", "--resume")
