"""Whatever the surroundings of a command, there is a result or a clear error, and nothing is lost."""

import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from command import invoke, run

from fmfkit.cli import common, streams
from fmfkit.errors import WriteError
from fmfkit.recommend.recommender import Recommender

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""An environment in which Python takes everything as ASCII."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with pairs, and a model of them, whose ids are no ASCII and try to change colours."""
    folder = tmp_path_factory.mktemp("surroundings")
    rows = [f"ü{n // 30},i\x1b[31m{n % 30},{n % 5 + 1}" for n in range(0, 30000, 7)]
    (folder / "pairs.csv").write_text("\n".join(["user,item,rating", *rows]), encoding="utf-8")
    shell("fmfkit fit pairs.csv --rank 2 --rounds 1 --validate 0", folder)
    return folder


def shell(command, folder, limit=None, **environ):
    """Run a line of bash in a folder, with no file larger than a limit."""
    fmfkit = f'fmfkit() {{ {sys.executable} -m fmfkit "$@"; }}; '
    environ = {**os.environ, **environ}
    if limit:  # what coverage counts would not fit
        environ = {name: value for name, value in environ.items() if not name.startswith("COVERAGE_")}
        environ["GCOV_PREFIX"] = os.devnull
    return subprocess.run(
        ["bash", "-c", fmfkit + command],
        cwd=folder,
        env=environ,
        preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) if limit else None,
        capture_output=True,
        timeout=120,
    )


def told(ran):
    """Return what a command says that failed as it should: in a few words, without a traceback."""
    text = (ran.stdout + ran.stderr).decode()
    assert ran.returncode == 1, text
    assert "Traceback" not in text
    assert "Exception ignored" not in text
    return text[text.index("Error: ") :]


REFUSED = {
    "a folder that is not there": (
        "fit pairs.csv --out nowhere/model",
        "nowhere/model: there is no folder to write it to",
    ),
    "a device": ("fit pairs.csv --out /dev/null", "/dev/null: it is a device; give the path of a file"),
    "a full device": ("predict model.fmf pairs.csv --out /dev/full", "/dev/full: it is a device"),
    "a pipe": ("recommend model.fmf --all --out pipe", "pipe: it is a pipe or socket; give the path of a file"),
    "a deleted working directory": ("fit {folder}/pairs.csv", "the folder it is relative to is gone"),
    "a model that is a folder's": ("recommend /dev/zero --all", "/dev/zero: not a model file: it is no file at all"),
    "a disk that is full for what is printed": ("recommend model.fmf --all > /dev/full", "No space left on device"),
    "a file name in another encoding": ("fit nämlich.csv", "its name is not text in this locale"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_command_that_cannot_end_well_says_why_at_once(folder, tmp_path, case):
    command, expected = REFUSED[case]
    for name in ("pairs.csv", "model.fmf"):
        shutil.copy(folder / name, tmp_path)
    shutil.copy(folder / "pairs.csv", tmp_path / "nämlich.csv")
    os.mkfifo(tmp_path / "pipe")
    before = (tmp_path / "model.fmf").read_bytes()
    environ = ASCII if "encoding" in case else {}
    prefix = "mkdir gone; cd gone; rmdir ../gone; " if "deleted" in case else ""
    ran = shell(prefix + "fmfkit " + command.format(folder=folder), tmp_path, **environ)
    assert expected in told(ran)
    assert (tmp_path / "model.fmf").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.fmf", "nämlich.csv", "pairs.csv", "pipe"]


def test_a_folder_as_a_path_is_refused(folder):
    for command in ("fit pairs.csv", "predict model.fmf pairs.csv", "recommend model.fmf --all"):
        ran = shell(f"fmfkit {command} --out .", folder)
        assert ran.returncode == 2
        assert b"File '.' is a directory" in ran.stderr


def test_a_read_only_folder_is_refused_before_training(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(os, "access", lambda path, mode: not (mode & os.W_OK))  # root may write anywhere
    result = run("fit", "pairs.csv", "--out", tmp_path / "model")
    assert result.exit_code == 1
    assert f"its folder {tmp_path} cannot be written to" in result.output
    assert "round" not in result.output


def test_a_model_that_cannot_be_saved_is_saved_elsewhere(folder, tmp_path, monkeypatch):
    model = Recommender.load(folder / "model.fmf")
    save, (there, elsewhere) = Recommender.save, (tmp_path / "there", tmp_path / "elsewhere")
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))

    def full(self, path):
        if Path(path) == there:
            raise WriteError(f"{path}: cannot be written: No space left on device")
        save(self, path)

    monkeypatch.setattr(Recommender, "save", full)
    with pytest.raises(
        WriteError, match=r"there: cannot be written: .*; the model is not lost: it was saved as"
    ) as caught:
        common.keep(model, str(there))
    saved = re.search(r"saved as (\S+)", str(caught.value))[1]
    assert Path(saved).is_relative_to(elsewhere)
    assert Recommender.load(saved).recommend(k=1).equals(model.recommend(k=1))


def test_where_no_disk_has_room_that_is_said(folder, tmp_path):
    (tmp_path / "model.fmf").write_bytes(b"old")
    ran = shell(f"fmfkit fit {folder}/pairs.csv --rank 2 --rounds 1 --out model.fmf", tmp_path, limit=4096)
    assert "model.fmf: cannot be written: File too large; nor could the model be saved elsewhere" in told(ran)
    assert (tmp_path / "model.fmf").read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.fmf"]


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("command", ["predict model.fmf {folder}/pairs.csv", "recommend model.fmf --all"])
def test_answers_that_a_disk_has_no_room_for_leave_the_old_file(folder, tmp_path, command, out):
    shutil.copy(folder / "model.fmf", tmp_path)
    (tmp_path / out).write_text("old")
    ran = shell(f"fmfkit {command.format(folder=folder)} --out {out}", tmp_path, limit=4096)
    assert f"{out}: cannot be written: File too large" in told(ran)
    assert (tmp_path / out).read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["model.fmf", out])


@pytest.mark.parametrize(
    "command", ["recommend model.fmf --all", "recommend model.fmf --all --json", "predict model.fmf pairs.csv"]
)
def test_a_reader_that_has_read_enough_ends_a_command_quietly(folder, command):
    ran = shell(f"fmfkit {command} | head -c 30 >&2; exit ${{PIPESTATUS[0]}}", folder)
    assert ran.returncode in (0, streams.PIPE_CLOSED)  # all may have been in the pipe before
    assert len(ran.stderr) == 30


def test_a_pipe_that_is_closed_before_anything_is_printed_is_noticed(folder):
    ran = shell("(sleep 1; fmfkit recommend model.fmf --all) | true; exit ${PIPESTATUS[0]}", folder)
    assert (ran.returncode, ran.stderr) == (streams.PIPE_CLOSED, b"")


@pytest.mark.parametrize(
    "streams", ["2>&-", "2> >(head -c 1 > /dev/null)", "2> /dev/full", ">&- 2>&- <&-", "> /dev/null 2>&1"]
)
def test_messages_that_nobody_hears_do_not_stop_a_fit(folder, tmp_path, streams):
    ran = shell(f"fmfkit fit {folder}/pairs.csv --rank 2 --rounds 3 --out {tmp_path}/model {streams}", folder)
    assert ran.returncode == 0, ran
    assert len(Recommender.load(tmp_path / "model").recommend(["ü3"], k=2)) == 2


@pytest.mark.parametrize("environ", [ASCII, {"LC_ALL": "C"}], ids=["ascii", "c"])
def test_ids_are_utf_8_in_every_locale(folder, tmp_path, environ):
    ran = shell("fmfkit recommend model.fmf --query ü3 -k 1 --json", folder, **environ)
    assert ran.returncode == 0, ran
    assert '"query":"ü3"' in ran.stdout.decode()
    (tmp_path / "ask.csv").write_text("user,item\nü3,i\x1b[31m2\n", encoding="utf-8")
    ran = shell(f"fmfkit predict model.fmf {tmp_path}/ask.csv", folder, **environ)
    assert ran.returncode == 0, ran
    assert "ü3," in ran.stdout.decode()
    ran = shell("fmfkit recommend model.fmf --query ü3 -k 1", folder, **environ)
    assert ran.returncode == 0, ran
    ran = shell(
        "sed 1s/user/üser/ pairs.csv > named.csv; fmfkit fit named.csv --query üser --rank 1 --rounds 1 --out other",
        folder,
        **environ,
    )
    assert ran.returncode == 0, ran


def test_an_id_that_is_no_text_is_refused(folder):
    ran = shell("fmfkit recommend model.fmf --query $'\\xff'", folder)
    assert ran.returncode == 2
    assert b"is not text in UTF-8" in ran.stderr


def test_what_people_read_moves_no_cursor(folder, monkeypatch):
    monkeypatch.chdir(folder)
    printed = invoke("recommend", "model.fmf", "--query", "ü3", "-k", "2")
    assert "\x1b" not in printed
    assert r"i\x1b[31m" in printed
    assert streams.shown("a\tb\r\x9b\u202e\u3000\xa0é\n日") == "a\\tb\\r\\x9b\\u202e\u3000\xa0é\n日"
    result = run("recommend", "model.fmf", "--query", "\x1b[31mnobody")
    assert "\x1b" not in result.output


def test_no_home_is_needed(folder, tmp_path):
    ran = shell(f"unset HOME; fmfkit fit {folder}/pairs.csv --rank 2 --rounds 1 --out {tmp_path}/model", folder)
    assert ran.returncode == 0, ran


def test_absolute_paths_work_in_a_deleted_working_directory(folder, tmp_path):
    gone = "mkdir gone; cd gone; rmdir ../gone; "
    ran = shell(f"{gone} fmfkit fit {folder}/pairs.csv --rank 2 --rounds 1 --out {tmp_path}/model", tmp_path)
    assert ran.returncode == 0, ran
    ran = shell(f"{gone} fmfkit recommend {tmp_path}/model --query ü3 -k 1", tmp_path)
    assert ran.returncode == 0, ran


def test_a_table_is_written_in_utf_8(tmp_path):
    common.write_table(pl.DataFrame({"é": ["ü"]}), str(tmp_path / "out.csv"))
    assert (tmp_path / "out.csv").read_bytes() == "é\nü\n".encode()
