"""Installed plugins are found without importing them."""

import sys

from fake_plugins import run_python

from fmfkit.plugins.discovery import find


def test_find_imports_nothing_and_sorts(installed, monkeypatch):
    monkeypatch.syspath_prepend(str(installed))
    names = [found.name for found in find()]
    assert names == sorted(names)
    assert {"good", "broken"} <= set(names)
    assert "good_plugin" not in sys.modules


def test_a_distribution_that_is_on_the_path_twice_counts_once(installed, monkeypatch):
    for _ in range(2):
        monkeypatch.syspath_prepend(str(installed))
    good = [found for found in find() if found.name == "good"]
    assert [(found.distribution, found.version) for found in good] == [("good-plugin", "2.0")]


def test_broken_metadata_of_a_distribution_breaks_nothing(installed, monkeypatch):
    (installed / "broken_plugin-2.0.dist-info" / "entry_points.txt").write_text("[fmfkit]\ngarbage line\n")
    monkeypatch.syspath_prepend(str(installed))
    names = [found.name for found in find()]
    assert "good" in names
    assert "broken" not in names


def test_importing_fmfkit_touches_no_plugin(installed):
    code = "import sys, fmfkit; print([m for m in ('numpy', 'scipy', 'pluggy', 'good_plugin') if m in sys.modules])"
    assert run_python(code, installed).stdout.strip() == "[]"
