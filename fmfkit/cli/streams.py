"""The standard streams, whatever they are connected to: nothing, a pipe that was closed, a full disk."""

from __future__ import annotations

import io
import os
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

PIPE_CLOSED = 141
"""The exit code where nobody reads on, as shells tell of a process that a closed pipe ended."""


class _Forgetful(io.FileIO):
    """A file that forgets what cannot be written: messages are no reason to lose a model."""

    def write(self, data: Any) -> int:
        """Write what can be written."""
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


def prepare() -> None:
    """Give a process streams that can be written to: empty ones in place of those that it was started without."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # else a file that is opened would become the stream
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
        raw = io.BufferedWriter(_Forgetful(2, "w", closefd=False))
        sys.stderr = io.TextIOWrapper(raw, encoding, "backslashreplace", line_buffering=True)


@contextmanager
def printing() -> Iterator[None]:
    """Print everything before it ends; where nobody reads on, end without a word, as other programs do.

    What ends it for another reason, such as a signal, says how.
    """
    try:
        yield
    except BrokenPipeError:
        _forget()
        raise SystemExit(PIPE_CLOSED) from None
    except BaseException:
        try:
            sys.stdout.flush()
        except OSError:
            _forget()
        raise
    _flush()


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _forget()
        raise SystemExit(PIPE_CLOSED) from None
    except OSError as error:
        _forget()
        raise click.ClickException(f"what is printed cannot be written: {error.strerror or error}") from error


def _forget() -> None:
    """Let Python, which writes the rest as it ends, write it nowhere."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def shown(line: str) -> str:
    """Return text for people to read: what would move the cursor or change colours is written out."""
    return "".join(c if c == "\n" or not _hidden(c) else c.encode("unicode_escape").decode() for c in line)


def _hidden(character: str) -> bool:
    return not character.isprintable() and unicodedata.category(character) != "Zs"


def echo(line: str, *, err: bool = False) -> None:
    """Print a line for people to read."""
    click.echo(shown(line), err=err)


def text(argument: str) -> str:
    """Return an argument that is text, such as an id: UTF-8, whatever the locale says."""
    if not any("\udc80" <= character <= "\udcff" for character in argument):
        return argument
    try:  # bytes that the locale knows no character for
        return os.fsencode(argument).decode()
    except UnicodeDecodeError:
        raise click.BadParameter(f"{argument!r} is not text in UTF-8") from None


__all__ = ["PIPE_CLOSED", "echo", "prepare", "printing", "shown", "text"]
