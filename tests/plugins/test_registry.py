"""Plugins are loaded each on its own, and names are resolved; a broken one breaks nothing."""

import types
import warnings

import pytest
from fake_plugins import HUBER, EntryPoint, plugin, registry, run_python
from problems import Case

from fmfkit import Spec, fit, hookimpl, losses, solvers
from fmfkit.errors import PluginLoadError, UnknownNameError
from fmfkit.plugins.discovery import Found
from fmfkit.plugins.hookspecs import INTERFACE, OLDEST_INTERFACE
from fmfkit.plugins.registry import Registry, get_registry, resolve


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


def versioned(version):
    module = plugin(fmfkit_losses=HUBER)
    module.fmfkit_interface = version
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
    "was written for a later interface": (
        versioned(INTERFACE + 1),
        f"it was written for version {INTERFACE + 1} of the plugin interface, and fmfkit .* has version {INTERFACE}: "
        "install a newer fmfkit",
    ),
    "was written for an interface that is gone": (
        versioned(OLDEST_INTERFACE - 1),
        f"it was written for version {OLDEST_INTERFACE - 1} .* supports plugins from version {OLDEST_INTERFACE} on: "
        "install a newer release of the plugin",
    ),
    "names no version of the interface": (versioned("1"), "fmfkit_interface: expected a whole number, .* got '1'"),
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


def test_a_plugin_of_this_interface_is_loaded():
    assert registry(a=versioned(INTERFACE)).plugins["a"].status == "ok"


@pytest.mark.parametrize("offered", [HUBER, []])
def test_an_unknown_hook_that_is_optional_is_no_error(offered):
    module = plugin(fmfkit_losses=offered)
    module.fmfkit_of_tomorrow = hookimpl(optionalhook=True)(lambda: [1, 2, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert registry(a=module).plugins["a"].status == "ok"


GREET = [Spec("greet", lambda: None)]


@pytest.mark.parametrize(
    ("plugins", "refused", "whose"),
    [
        ({"a": [Spec("fit", lambda: None)]}, "a", "'fit', which is refused: fmfkit has one of that name"),
        ({"a": [Spec("new_plugin", lambda: None)]}, "a", "'new_plugin', which is refused: fmfkit has one of that name"),
        ({"a": GREET, "b": GREET}, "b", "'greet', which is refused: plugin 'a' has one of that name"),
    ],
)
def test_a_subcommand_that_shadows_another_is_refused_aloud_and_the_rest_kept(plugins, refused, whose):
    made = {name: plugin(fmfkit_commands=commands, fmfkit_losses=HUBER) for name, commands in plugins.items()}
    with pytest.warns(RuntimeWarning, match=f"plugin '{refused}' .* offers the subcommand {whose}") as caught:
        mine = registry(**made)
    assert len(caught) == 1
    assert mine.plugins[refused].status == "ok"
    assert mine.plugins[refused].refused == (f"offers the subcommand {whose}",)
    assert not any(name.startswith(f"{refused}:") for name in mine.names("command"))
    assert f"{refused}:huber" in mine.names("loss")


def test_the_name_of_a_factory_is_found_though_another_plugin_s_cannot_be_imported():
    mine = registry(a=plugin(fmfkit_losses=[Spec("gone", "no_such_module:Loss")]))
    assert mine.name_of("loss", losses.Square) == "builtin:square"
    assert mine.name_of("loss", dict) is None


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


def test_options_reach_the_factory():
    assert registry().create("solver", "sgd", learning_rate=0.25) == solvers.SGD(learning_rate=0.25)


def test_the_process_has_one_registry():
    assert get_registry() is get_registry()


def test_unknown_solver_names_are_refused_with_suggestions():
    with pytest.raises(UnknownNameError, match="no solver is called 'plm2'; did you mean 'pl2m'"):
        fit(Case().build(), solver="plm2")


def test_installed_plugins_are_found_and_trained_with(installed):
    done = run_python(
        "import numpy as np, fmfkit\n"
        "problem = fmfkit.Problem.from_coo([0, 1, 1], [0, 1, 0], [1., 2., 3.], rank=1, loss='absolute')\n"
        "print(type(problem.loss).__name__, fmfkit.fit(problem, rounds=2).history[-1].round)\n",
        installed,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["Absolute", "2"]
    assert done.stderr.count("could not be loaded") == 1


def test_components_are_given_as_themselves_or_by_name():
    assert resolve("loss", "square") == losses.Square()
    mine = losses.Logistic()
    assert resolve("loss", mine) is mine
    with pytest.raises(TypeError, match=r"loss: expected a Loss or the name of one.*write Square\(\)"):
        resolve("loss", losses.Square)
    with pytest.raises(TypeError, match="solver: expected a Solver or the name of one, got 5"):
        resolve("solver", 5)
