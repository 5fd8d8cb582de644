import pytest
from click.testing import CliRunner

from fmfkit.cli import main
from fmfkit.processes import COUNTS, launched


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    for name in COUNTS:
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
