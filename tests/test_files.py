"""Files are written whole or not at all, whatever stands in the way."""

import errno
import os
import resource
import stat
import subprocess
import sys
import threading

import pytest

from fmfkit.errors import WriteError
from fmfkit.files import destination, replacing


def write(path, content=b"new"):
    with replacing(path) as file:
        file.write(content)


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_a_file_is_made_with_the_permissions_that_files_have(tmp_path):
    (tmp_path / "other").touch()
    write(tmp_path / "new")
    assert (tmp_path / "new").read_bytes() == b"new"
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write(path)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(tmp_path) == ["file"]


def test_nothing_is_at_the_path_before_all_is_written(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("failure", [ValueError("why"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, failure):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(file):
        file.write(b"half")
        raise failure

    with pytest.raises(type(failure)), replacing(path) as file:
        fail(file)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_what_the_system_refuses_is_told_with_the_path(tmp_path, monkeypatch, call):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(WriteError, match="file: cannot be written: No space left on device") as caught:
        write(path)
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_a_file_too_large_for_its_place_leaves_the_old_one(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    script = f"from test_files import write; write({str(path)!r}, bytes(1 << 20))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.path.dirname(__file__)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert f"WriteError: {path}: cannot be written: File too large" in done.stderr
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_the_file_is_on_the_disk_before_it_has_its_name_and_its_name_at_the_end(tmp_path, monkeypatch):
    done = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append(stat.S_ISDIR(os.fstat(file).st_mode)), fsync(file)))
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("replace"), replace(*paths)))
    write(tmp_path / "file")
    assert done == [False, "replace", True]


def test_a_folder_that_cannot_be_synced_is_no_failure(tmp_path, monkeypatch):
    fsync = os.fsync

    def picky(file):
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(file)

    monkeypatch.setattr(os, "fsync", picky)
    write(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"new"


def test_files_of_other_names_are_left_alone(tmp_path):
    for name in ("file.part", "file.tmp", ".file"):
        (tmp_path / name).write_bytes(b"mine")
    write(tmp_path / "file")
    assert names(tmp_path) == [".file", "file", "file.part", "file.tmp"]
    assert (tmp_path / "file.part").read_bytes() == b"mine"


def test_writers_at_the_same_time_do_not_meet(tmp_path):
    path, failures = tmp_path / "file", []

    def often(letter):
        try:
            for _ in range(40):
                write(path, letter * 5000)
        except OSError as error:
            failures.append(error)

    writers = [threading.Thread(target=often, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failures == []
    assert path.read_bytes() in (b"a" * 5000, b"b" * 5000, b"c" * 5000)
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("there", [False, True])
def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path, there):
    (tmp_path / "far").mkdir()
    real, link = tmp_path / "far" / "file", tmp_path / "link"
    if there:
        real.write_bytes(b"old")
    link.symlink_to(real)
    write(link)
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert names(tmp_path / "far") == ["file"]


def test_what_is_no_file_is_refused_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "null").symlink_to("/dev/null")
    refused = {"pipe": "a pipe or socket", "folder": "a folder", "null": "a device", ".": "a folder"}
    for name, kind in refused.items():
        with pytest.raises(WriteError, match=f"it is {kind}; give the path of a file"):
            write(tmp_path / name)
    with pytest.raises(WriteError, match="/dev/full: it is a device"):
        write("/dev/full")
    assert names(tmp_path) == ["folder", "null", "pipe"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_folders_that_are_not_there_are_told(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(WriteError, match="there is no folder to write it to"):
        destination(tmp_path / "nowhere" / "file")
    with pytest.raises(WriteError, match="there is no folder to write it to"):
        destination(tmp_path / "file" / "file")
    with pytest.raises(WriteError, match="loop: it is a link to itself"):
        destination(tmp_path / "loop")


def test_a_deleted_working_directory_is_told(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(WriteError, match="file: the folder it is relative to is gone; give an absolute path"):
        destination("file")
    write(tmp_path / "file")


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(WriteError, match=r"its folder .* cannot be written to"):
        destination(tmp_path / "file")
