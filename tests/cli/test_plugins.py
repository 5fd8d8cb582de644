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


def test_requirements_that_are_not_met_and_subcommands_that_are_refused_are_listed(installed):
    metadata = installed / "good_plugin-2.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text() + "Requires-Dist: numpy>=999\nRequires-Dist: click\n")
    source = installed / "good_plugin.py"
    source.write_text(source.read_text().replace('Spec("greet"', 'Spec("fit", greet), Spec("greet"'))
    code = "from fmfkit.cli import main; main({})"
    told = run_python(code.format(["plugins"]), installed).stdout
    assert "requires numpy>=999, and" in told
    assert "requires click" not in told
    assert "offers the subcommand 'fit', which is refused: fmfkit has one of that name" in told
    listed = json.loads(run_python(code.format(["plugins", "--json"]), installed).stdout)
    good = next(plugin for plugin in listed if plugin["name"] == "good")
    assert len(good["unmet"]) == len(good["refused"]) == 1
    help_ = run_python(code.format(["--help"]), installed)
    assert "offers the subcommand 'fit', which is refused" in help_.stderr
    assert "Train a model on a file of pairs" in help_.stdout
