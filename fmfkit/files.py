"""Writing files: whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fmfkit.errors import WriteError

UNSYNCED = {errno.EACCES, errno.EINVAL, errno.ENOTSUP}
"""What file systems, and folders, say that cannot be synced on their own."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a file whose content stands at ``path`` afterwards, on the disk, with the permissions of what was there.

    What is written goes to a file of its own beside it. Where anything fails, that file is removed, and what was at
    ``path`` stays as it was. A link stays too: what it points to is replaced.

    Args:
        path: where the file shall be.
    """
    target = destination(path)
    part = target.with_name(f".fmfkit-{secrets.token_hex(8)}")
    try:
        with open(part, "xb") as file:
            if target.exists():
                os.chmod(part, stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
        _sync(target.parent)
    except OSError as error:
        raise _refusal(path, error) from error
    finally:
        part.unlink(missing_ok=True)


def destination(path: str | os.PathLike[str]) -> Path:
    """Return the file that writing to ``path`` makes or replaces; refuse what is no file, and folders that are shut.

    Args:
        path: where a file shall be.
    """
    try:
        target = Path(os.path.realpath(path))
    except FileNotFoundError as error:  # the working directory was deleted
        raise WriteError(f"{path}: the folder it is relative to is gone; give an absolute path", error.errno) from error
    for place in (path, target):  # a link to an open pipe, such as /dev/stdout, leads to no path
        if os.path.exists(place) and not os.path.isfile(place):
            raise WriteError(f"{path}: it is a {_kind(place)}; give the path of a file")
    if target.is_symlink():
        raise WriteError(f"{path}: it is a link to itself; give the path of a file", errno.ELOOP)
    if not target.parent.is_dir():
        raise WriteError(f"{path}: there is no folder to write it to", errno.ENOENT)
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise WriteError(f"{path}: its folder {target.parent} cannot be written to", errno.EACCES)
    return target


def _kind(path: str | os.PathLike[str]) -> str:
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        return "folder"
    return "pipe or socket" if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else "device"


def _sync(folder: Path) -> None:
    """Let the disk hold the names of a folder, where its file system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # it may be written to, but not read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in UNSYNCED:
            raise
    finally:
        os.close(descriptor)


def hold(descriptor: int) -> None:
    """Lock an open file until it is closed or the process ends; an OSError says that another process holds it.

    Args:
        descriptor: of the open file.
    """
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _refusal(path: str | os.PathLike[str], error: OSError) -> WriteError:
    """Return an error with the path that was given, and the reason in words."""
    if isinstance(error, WriteError):
        return error
    return WriteError(f"{path}: cannot be written: {error.strerror or error}", error.errno)


__all__ = ["destination", "hold", "replacing"]
