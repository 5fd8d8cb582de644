"""fmfkit plugins: what is installed, what it offers, what failed."""

import json

from command import invoke
from fake_plugins import run_python


def test_plugins_lists_the_built_ins():
    assert "builtin:pl2m" in invoke("plugins")
    plugins = {plugin["name"]: plugin for plugin in json.loads(invoke("plugins", "--json"))}
    assert plugins["builtin"]["status"] == "ok"
    assert {"name": "square", "doc": "(s - y)², for ratings on a scale"} in plugins["builtin"]["offers"]["loss"]


def test_installed_plugins_and_failures_are_listed_without_warnings(installed):
    done = run_python("from fmfkit.cli import main; main(['plugins'])", installed)
    assert "good  (good-plugin 2.0)  ok" in done.stdout
    assert "good:absolute" in done.stdout
    assert "broken  (broken-plugin 2.0)  failed" in done.stdout
    assert "No module named 'no_such_module'" in done.stdout
    assert "could not be loaded" not in done.stderr
