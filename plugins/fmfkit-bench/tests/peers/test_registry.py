from types import SimpleNamespace

import pytest
from fmfkit_bench.peers.adapters import SYSTEMS
from fmfkit_bench.peers.hooks import hookimpl
from fmfkit_bench.peers.interface import System
from fmfkit_bench.peers.registry import Package, Registry

TOY = System("toy", "numpy", "numpy", "toys:Toy")


def package(name, loads, distribution=None):
    def load():
        if isinstance(loads, BaseException):
            raise loads
        return loads

    return Package(name, distribution or name, "1.0", SimpleNamespace(load=load))


def plugin(*systems, **more):
    class Plugin:
        @hookimpl
        def fmfkit_bench_peers(self):
            return systems[0] if systems and not isinstance(systems[0], System) else list(systems)

    for name, value in more.items():
        setattr(Plugin, name, value)
    return Plugin()


def test_fmfkit_comes_first_and_the_others_by_name():
    registry = Registry([package("toys", plugin(TOY))], environ={})
    names = list(registry.systems)
    assert names[0] == "fmfkit"
    assert names[1:] == sorted([*(system.name for system in SYSTEMS[1:]), "toy"], key=str.lower)
    assert not registry.failures


@pytest.mark.parametrize(
    ("loads", "reason"),
    [
        (RuntimeError("broken"), "RuntimeError: broken"),
        (SystemExit(3), "SystemExit: 3"),
        (plugin(), "offers nothing"),
        (plugin("names"), "returned 'names', expected a list of System"),
        (plugin([1]), "gave 1, expected a System"),
        (plugin(TOY, TOY), "'toy' is already offered by the same package"),
        (plugin(System("LIBMF", "a", "a", "a:A")), "'LIBMF' is already offered by fmfkit-bench"),
        (
            plugin(TOY, fmfkit_bench_pears=lambda self: []),
            "unknown hook 'fmfkit_bench_pears'; did you mean 'fmfkit_bench_peers'?",
        ),
        (plugin(TOY, fmfkit_bench_other=hookimpl(lambda self: [])), "unknown hook 'fmfkit_bench_other'"),
    ],
)
def test_a_broken_package_is_reported_and_the_others_are_loaded(loads, reason):
    found = [package("bad", loads), package("good", plugin(System("good", "numpy", "numpy", "a:A")))]
    registry = Registry(found, environ={})
    assert "good" in registry.systems
    assert "toy" not in registry.systems
    (failure,) = registry.failures
    assert failure.package.name == "bad"
    assert reason in failure.reason
    assert "bad (bad 1.0)" in str(failure)


def test_an_interrupt_ends_the_loading():
    with pytest.raises(KeyboardInterrupt):
        Registry([package("bad", KeyboardInterrupt())], environ={})


@pytest.mark.parametrize("environ", [{"FMFKIT_BLOCK_PLUGINS": "x, toys"}, {"FMFKIT_DISABLE_PLUGIN_AUTOLOAD": "1"}])
def test_packages_can_be_left_out(environ):
    assert "toy" not in Registry([package("toys", plugin(TOY))], environ=environ).systems


def test_installed_packages_are_found(toys):
    systems = Registry(environ={}).systems
    assert {"means", "absent", "broken", "counts"} <= set(systems)
    assert systems["absent"].missing() == "not installed (python -m pip install no-such-package)"
    assert systems["means"].missing() is None
