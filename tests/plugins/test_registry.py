import importlib.metadata
import re
import subprocess
import sys
import types
import warnings

import pytest

from fmfkit import Spec, fit, hookimpl, losses, solvers
from fmfkit.errors import PluginLoadError, UnknownNameError
from fmfkit.plugins.registry import Found, Registry, find, get_registry


class EntryPoint:
    """Stands for an installed entry point: loading it gives an object or raises."""

    def __init__(self, result):
        self.result = result

    def load(self):
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


def plugin(**hooks):
    module = types.ModuleType("plugin")
    for name, answer in hooks.items():
        setattr(module, name, hookimpl(lambda answer=answer: answer))
    return module


def registry(environ=None, **plugins):
    found = [Found(name, f"dist-{name}", "1.2", EntryPoint(result)) for name, result in plugins.items()]
    return Registry(found, environ or {})


HUBER = [Spec("huber", "fmfkit.losses:Square")]


def test_the_built_ins_register_through_the_hooks_of_everybody():
    built_in = registry().plugins["builtin"]
    assert built_in.status == "ok"
    assert built_in.version == importlib.metadata.version("fmfkit")
    assert {spec.name for spec in built_in.offers["solver"]} == {
        "naive",
        "l2m",
        "panel",
        "pl2m",
        "sgd",
        "hogwild",
        "reference",
    }
    assert registry().create("loss", "builtin:square") == losses.Square()


def test_a_bare_name_is_the_built_in_s_else_the_only_match():
    mine = registry(a=plugin(fmfkit_losses=[Spec("square", "fmfkit.losses:Logistic"), *HUBER]))
    assert mine.create("loss", "square") == losses.Square()
    assert mine.create("loss", "a:square") == losses.Logistic()
    assert mine.create("loss", "huber") == losses.Square()


def test_a_bare_name_with_two_matches_lists_the_candidates():
    mine = registry(a=plugin(fmfkit_losses=HUBER), b=plugin(fmfkit_losses=HUBER))
    with pytest.raises(UnknownNameError, match=r"more than one plugin: write one of \['a:huber', 'b:huber'\]"):
        mine.create("loss", "huber")


def test_an_unknown_name_suggests_what_was_meant():
    mine = registry(a=plugin(fmfkit_losses=HUBER))
    with pytest.raises(UnknownNameError, match=r"no loss is called 'hubre'; did you mean 'huber'.*'builtin:logistic'"):
        mine.create("loss", "hubre")
    with pytest.raises(UnknownNameError, match="no solver is called 'huber'"):
        mine.create("solver", "huber")


def misspelt_unmarked():
    module = types.ModuleType("plugin")
    module.fmfkit_loses = lambda: HUBER
    return module


BROKEN = {
    "raises at import": (ImportError("no module named cupy"), "ImportError: no module named cupy"),
    "exits at import": (SystemExit(3), "SystemExit: 3"),
    "misspells a hook": (plugin(fmfkit_loses=HUBER), "unknown hook 'fmfkit_loses'|fmfkit_loses"),
    "misspells a hook without a mark": (
        misspelt_unmarked(),
        "unknown hook 'fmfkit_loses'; did you mean 'fmfkit_losses'",
    ),
    "returns a string": (plugin(fmfkit_losses="huber"), r"fmfkit_losses\(\) returned 'huber', expected a list"),
    "returns numbers": (plugin(fmfkit_losses=[7]), r"fmfkit_losses\(\) gave 7, expected a fmfkit.Spec"),
    "returns one name twice": (plugin(fmfkit_losses=HUBER * 2), "gave the name 'huber' twice"),
    "offers nothing": (types.ModuleType("empty"), "it offers nothing"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_plugin_is_isolated_reported_once_and_listed_with_its_cause(what):
    result, cause = BROKEN[what]
    with pytest.warns(RuntimeWarning, match=f"plugin 'bad' .dist-bad 1.2. could not be loaded.*({cause})") as caught:
        mine = registry(bad=result, good=plugin(fmfkit_losses=HUBER))
    assert len(caught) == 1
    assert mine.plugins["bad"].status == "failed"
    assert mine.create("loss", "huber") == losses.Square()
    with pytest.raises(PluginLoadError, match=cause) as raised:
        mine.create("loss", "bad:huber")
    assert raised.value.__cause__ is mine.plugins["bad"].error
    with pytest.raises(UnknownNameError, match="plugin 'bad' is failed"):
        mine.create("loss", "nothing")


def test_an_interrupt_while_loading_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        registry(a=KeyboardInterrupt())


def test_plugins_can_be_blocked_by_name_and_all_disabled():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mine = registry({"FMFKIT_BLOCK_PLUGINS": "x, a"}, a=ImportError("never tried"), b=plugin(fmfkit_losses=HUBER))
        assert mine.plugins["a"].status == "blocked"
        assert mine.names("loss") == ["b:huber", "builtin:logistic", "builtin:square"]
        with pytest.raises(PluginLoadError, match="'a' is blocked by FMFKIT_BLOCK_PLUGINS"):
            mine.create("loss", "a:huber")
        assert list(registry({"FMFKIT_DISABLE_PLUGIN_AUTOLOAD": "1"}, a=plugin(fmfkit_losses=HUBER)).plugins) == [
            "builtin"
        ]


def test_a_second_plugin_of_the_same_name_is_refused_and_the_first_kept():
    both = [Found("a", d, "1", EntryPoint(plugin(fmfkit_losses=HUBER))) for d in ("one", "two")]
    with pytest.warns(RuntimeWarning, match="the plugin name 'a' is taken by one"):
        mine = Registry(both, {})
    assert mine.plugins["a"].distribution == "one"
    assert mine.plugins["a@two"].status == "failed"


def test_a_factory_that_cannot_be_imported_or_makes_something_else_is_an_error_when_used():
    odd = [Spec("gone", "no_such_module:Loss"), Spec("solver", "fmfkit.solvers:PL2M")]
    mine = registry(a=plugin(fmfkit_losses=odd))
    with pytest.raises(PluginLoadError, match="'no_such_module:Loss' could not be imported: ModuleNotFoundError"):
        mine.create("loss", "gone")
    with pytest.raises(PluginLoadError, match="which is no Loss"):
        mine.create("loss", "solver")


@pytest.mark.parametrize("name", ["Huber", "my-loss", "", "1st"])
def test_spec_names_are_lower_case_identifiers(name):
    with pytest.raises(ValueError, match="name"):
        Spec(name, "a:b")


@pytest.mark.parametrize("factory", ["no colon", 7, None])
def test_spec_factories_are_callables_or_paths(factory):
    with pytest.raises((ValueError, TypeError)):
        Spec("name", factory)


def test_options_reach_the_factory():
    assert registry().create("solver", "sgd", learning_rate=0.25) == solvers.SGD(learning_rate=0.25)


def test_the_process_has_one_registry():
    assert get_registry() is get_registry()


def test_unknown_solver_names_are_refused_with_suggestions():
    from problems import Case

    with pytest.raises(UnknownNameError, match="no solver is called 'plm2'; did you mean 'pl2m'"):
        fit(Case().build(), solver="plm2")


PLUGIN = """
from fmfkit import Loss, Spec, hookimpl
import numpy as np

class Absolute(Loss):
    def value(self, score, y): return np.sqrt(1 + (score - y) ** 2)
    def gradient(self, score, y): return (score - y) / np.sqrt(1 + (score - y) ** 2)
    def curvature(self, score, y): return 1.0

@hookimpl
def fmfkit_losses():
    return [Spec("absolute", Absolute, "nearly |s - y|")]

import click

@click.command()
@click.argument("name")
def greet(name):
    click.echo(f"hello {name}")

@hookimpl
def fmfkit_commands():
    return [Spec("greet", greet, "Greet somebody.")]
"""


@pytest.fixture
def installed(tmp_path):
    """A folder that looks like an installation with a good and a broken plugin, seen twice on the path."""
    for name, source in (("good", PLUGIN), ("broken", "import no_such_module")):
        (tmp_path / f"{name}_plugin.py").write_text(source)
        info = tmp_path / f"{name}_plugin-2.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-plugin\nVersion: 2.0\n")
        (info / "entry_points.txt").write_text(f"[fmfkit]\n{name} = {name}_plugin\n")
    return tmp_path


def run(code, path, **environ):
    import os

    return subprocess.run(
        [sys.executable, "-W", "always", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{path}", **environ},
    )


def test_installed_plugins_are_found_and_trained_with(installed):
    done = run(
        "import numpy as np, fmfkit\n"
        "problem = fmfkit.Problem.from_coo([0, 1, 1], [0, 1, 0], [1., 2., 3.], rank=1, loss='absolute')\n"
        "print(type(problem.loss).__name__, fmfkit.fit(problem, rounds=2).history[-1].round)\n",
        installed,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["Absolute", "2"]
    assert done.stderr.count("could not be loaded") == 1


def test_the_command_lists_installed_plugins_and_failures(installed):
    done = run("from fmfkit.cli import main; main(['plugins'])", installed)
    assert "good  (good-plugin 2.0)  ok" in done.stdout
    assert "good:absolute" in done.stdout
    assert "broken  (broken-plugin 2.0)  failed" in done.stdout
    assert "No module named 'no_such_module'" in done.stdout
    assert "could not be loaded" not in done.stderr


def test_a_plugin_adds_a_subcommand(installed):
    told = run("from fmfkit.cli import main; main(['--help'])", installed).stdout
    assert re.search(r"^  greet +Greet somebody\.$", told, re.MULTILINE)
    assert run("from fmfkit.cli import main; main(['greet', 'you'])", installed).stdout == "hello you\n"


def test_importing_fmfkit_touches_no_plugin_and_no_numpy(installed):
    code = "import sys, fmfkit; print([m for m in ('numpy', 'scipy', 'pluggy', 'good_plugin') if m in sys.modules])"
    assert run(code, installed).stdout.strip() == "[]"


def test_broken_metadata_of_a_distribution_breaks_nothing(installed):
    (installed / "broken_plugin-2.0.dist-info" / "entry_points.txt").write_text("[fmfkit]\ngarbage line\n")
    done = run("from fmfkit.cli import main; main(['plugins'])", installed)
    assert "good  (good-plugin 2.0)  ok" in done.stdout, done.stderr


def test_find_imports_nothing_and_sorts(installed, monkeypatch):
    monkeypatch.syspath_prepend(str(installed))
    names = [found.name for found in find()]
    assert names == sorted(names)
    assert {"good", "broken"} <= set(names)
    assert "good_plugin" not in sys.modules
