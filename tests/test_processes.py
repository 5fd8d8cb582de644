import pytest
from click.testing import CliRunner

from fmfkit.cli import main
from fmfkit.processes import COUNTS, RANKS, launched, place


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    for name in (*COUNTS, *RANKS, "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", COUNTS)
def test_launchers_say_how_many_processes_there_are(name, monkeypatch):
    assert launched() == 1
    monkeypatch.setenv(name, "4")
    assert launched() == 4
    monkeypatch.setenv(name, "many")
    assert launched() == 1


def test_commands_are_not_run_by_each_of_several_processes(monkeypatch, tmp_path):
    monkeypatch.setattr("fmfkit.cli._plugin_commands", dict)
    monkeypatch.setenv("PMI_SIZE", "3")
    done = CliRunner().invoke(main, ["fit", str(tmp_path)])
    assert done.exit_code == 2
    assert "install fmfkit-mpi" in done.output
    assert "a launcher started 3 processes, and each would run `fmfkit fit` alone" in done.output
    assert CliRunner().invoke(main, ["info"]).exit_code == 0


@pytest.mark.parametrize("name", RANKS)
def test_launchers_number_their_processes(name, monkeypatch):
    assert place() is None
    monkeypatch.setenv(name, "0")
    assert place() == 0


def test_what_slurm_starts_alone_has_no_number(monkeypatch):
    monkeypatch.setenv("SLURM_PROCID", "0")  # a batch script
    assert place() is None
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "1")  # a shell to work in
    monkeypatch.setenv("PMI_RANK", "0")
    assert place() is None
    monkeypatch.delenv("PMI_RANK")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    assert place() == 0


def test_one_process_of_a_launcher_runs_the_command_of_several(monkeypatch):
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setattr("fmfkit.cli._plugin_commands", dict)
    assert main.get_command(None, "fit").name == main.get_command(None, "info").name == "command"
    asked = []
    monkeypatch.setattr("fmfkit.cli._plugin_commands", lambda: {"fit_together": ""})
    monkeypatch.setattr("fmfkit.plugins.registry.Registry.load", lambda self, kind, name: asked.append(name) or main)
    assert main.get_command(None, "fit") is main
    assert asked == ["fit_together"]


@pytest.mark.parametrize("number", ["0", "1"])
def test_an_error_of_usage_is_told_by_the_first_process_alone(number, monkeypatch):
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setenv("PMI_RANK", number)
    done = CliRunner().invoke(main, ["nothing"])
    assert done.exit_code == 2
    assert ("No such command" in done.output) == (number == "0")
