"""Questions to a fresh process: another hash seed, another time, another folder, nothing asked before."""

from __future__ import annotations

import datetime
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fmfkit.testing.verdict import NotChecked, fail

SECONDS = 300
CODE = "from fmfkit.testing import fresh; fresh.answer()"


def ask(question: Callable[..., Any], *given: Any) -> Any:
    """Return what a function of this package gives in a fresh process, for arguments that can be pickled."""
    seed = "101" if os.environ.get("PYTHONHASHSEED") != "101" else "202"
    path = [os.path.abspath(entry) for entry in sys.path]
    try:
        pickled = pickle.dumps(path) + pickle.dumps(question) + pickle.dumps(given)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise NotChecked(f"it cannot be sent to a fresh process: {type(error).__name__}: {error}") from None
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "question", Path(folder) / "answer"
        asked.write_bytes(pickled)
        environment = os.environ | {"PYTHONHASHSEED": seed, "TZ": "Asia/Kathmandu", "FMFKIT_FRESH": folder}
        command = [sys.executable, "-c", CODE]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS)
        if done.returncode or not answered.exists():
            fail(f"a fresh process ends with status {done.returncode}: {done.stderr[-1000:]}")
        status, found = pickle.loads(answered.read_bytes())
    if status == "unknown":
        raise NotChecked(
            f"a fresh process cannot make the component: {found}. Let it stand in a module that can be imported"
        )
    return found


def answer() -> None:
    """Answer the question that the parent left in a folder."""
    from fmfkit.testing import process

    folder = Path(os.environ.pop("FMFKIT_FRESH"))
    with (folder / "question").open("rb") as asked, process.otherwise(3):
        sys.path[:] = pickle.load(asked)
        _set_dates_forward()  # before the module of a component is imported, which may take names from there
        question = pickle.load(asked)
        try:
            given = pickle.load(asked)
        except (ImportError, AttributeError) as error:
            found = ("unknown", f"{type(error).__name__}: {error}")
        else:
            found = ("answer", question(*given))
    (folder / "answer").write_bytes(pickle.dumps(found))


def _set_dates_forward() -> None:
    """Let the dates of the module datetime be later ones."""
    from fmfkit.testing.process import LATER

    later = datetime.timedelta(seconds=LATER)

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return super().now(tz) + later

        @classmethod
        def utcnow(cls) -> Any:
            return super().now(datetime.UTC).replace(tzinfo=None) + later

        @classmethod
        def today(cls) -> Any:
            return super().today() + later

    class LaterDate(datetime.date):
        @classmethod
        def today(cls) -> Any:
            return super().today() + later

    vars(datetime).update(datetime=Later, date=LaterDate)


__all__ = ["answer", "ask"]
