"""Fresh processes answer questions about components that can be imported."""

import sys
import types

import pytest

from fmfkit import schedulers, testing
from fmfkit.testing import fresh
from fmfkit.testing.schedulers import asked_backwards


def test_a_fresh_process_gives_the_same_answer():
    scheduler = schedulers.RandomPartition(4)
    assert fresh.ask(asked_backwards, scheduler) == asked_backwards(scheduler)


def test_components_that_cannot_be_imported_are_not_passed_over(monkeypatch):
    monkeypatch.setattr(Local, "__module__", "no_such_module")
    monkeypatch.setitem(sys.modules, "no_such_module", types.SimpleNamespace(Local=Local))
    with pytest.raises(testing.NotChecked, match="a fresh process cannot make the component: ModuleNotFoundError"):
        fresh.ask(asked_backwards, Local())


class Local(schedulers.InOrder):
    """Stands in no module that could be imported."""


def test_a_fresh_process_that_fails_is_told():
    with pytest.raises(testing.ConformanceError, match=r"a fresh process ends with status 1: (.|\n)*TypeError"):
        fresh.ask(asked_backwards)
