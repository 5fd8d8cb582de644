"""Progress is drawn where it can be, and the logger is told."""

import io
import logging
import sys
from types import SimpleNamespace

from problems import Case

from fmfkit import FMF, Dataset, callbacks, fit
from fmfkit.notebooks import in_notebook
from fmfkit.training.progress import Bar


def test_the_logger_is_told_of_rounds_and_of_the_end(caplog):
    caplog.set_level(logging.DEBUG, "fmfkit")
    data = Dataset.of({"user": [1, 1, 2, 2, 3], "item": [1, 2, 1, 3, 2], "rating": [1.0, 2.0, 3.0, 4.0, 5.0]})
    FMF(rank=1, rounds=2, l2=0.1).fit(data)
    told = [(record.levelname, record.message.partition(", objective")[0]) for record in caplog.records]
    assert told == [
        *(("DEBUG", f"fit: round {n}/2") for n in range(3)),
        ("INFO", "fit: 2 rounds"),
    ]
    caplog.clear()
    caplog.set_level(logging.WARNING, "fmfkit")
    FMF(rank=1, rounds=2, l2=0.1).fit(data)
    assert caplog.records == []


def test_a_notebook_gets_a_bar_too(monkeypatch):
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(config={"IPKernelApp": {}}))
    assert not in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", shell)
    assert in_notebook()
    drawn = []
    monkeypatch.setattr(
        "tqdm.auto.tqdm",
        lambda **options: (
            drawn.append(options)
            or SimpleNamespace(
                set_postfix_str=lambda *told, **options: None,
                refresh=lambda: None,
                close=lambda: drawn.append("closed"),
                n=0,
            )
        ),
    )
    fit(Case().build(), rounds=2, callbacks=[callbacks.Progress("mine", io.StringIO())])
    assert (drawn[0]["desc"], drawn[0]["total"], drawn[0]["unit"], drawn[1]) == ("mine", 2, "round", "closed")


class Gone(io.StringIO):
    """A terminal that is gone."""

    def isatty(self):
        return True

    def write(self, text):
        raise OSError

    flush = write


def test_a_terminal_that_is_gone_ends_nothing():
    bar = Bar("mine", "round", 3, Gone())
    bar.show(1, "well")
    bar.close()


def test_what_was_done_before_is_not_counted_as_progress():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    bar = Bar("mine", "round", 10, stream, first=8)
    bar.show(9, "well")
    bar.close()
    assert "9/10" in stream.getvalue()
    assert "well" in stream.getvalue()
