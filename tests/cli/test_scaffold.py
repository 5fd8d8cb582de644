"""fmfkit new-plugin: the packages it writes are plugins that pass the conformance suite."""

import importlib
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from command import invoke

from fmfkit import testing
from fmfkit.cli.scaffold import HOOKS, _bounds, new_plugin
from fmfkit.plugins import hookspecs

KINDS = [
    ("loss", None),
    ("loss", "c"),
    ("regularizer", None),
    ("regularizer", "c"),
    ("scheduler", None),
    ("solver", None),
    ("solver", "c"),
]
OTHERS = [(kind, None) for kind in ("metric", "block", "callback", "command") if hasattr(hookspecs, HOOKS[kind])]
EVERY = [*KINDS, ("loss", "numba"), *OTHERS]


def written(folder, kind, compiler):
    """Write a package and return its folder, and the name to import."""
    name = f"tried-{kind}-{compiler}".lower()
    new_plugin(name, kind, folder, component="chosen_one", compiler=compiler)
    return folder / f"fmfkit-{name}", f"fmfkit_{name.replace('-', '_')}"


def build_in_place(root):
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(build, cwd=root, check=True, capture_output=True, timeout=300)


@pytest.mark.parametrize(("kind", "compiler"), KINDS)
def test_what_is_written_keeps_the_laws_of_its_kind(tmp_path, monkeypatch, kind, compiler):
    root, package = written(tmp_path, kind, compiler)
    if compiler == "c":
        build_in_place(root)
    monkeypatch.syspath_prepend(root)
    (spec,) = getattr(importlib.import_module(package), HOOKS[kind])()
    component = spec.load()()
    assert (spec.name, type(component).__name__) == ("chosen_one", "ChosenOne")
    results = testing.check(component)
    assert results.ok, str(results)
    skipped = [check.name for check in results.checks if check.status == "skipped"]
    assert ("check_native_equals_numpy" in skipped) == (kind in ("loss", "regularizer") and compiler is None)


def test_a_loss_compiled_by_numba_is_the_one_in_numpy(tmp_path, monkeypatch):
    pytest.importorskip("numba")
    root, package = written(tmp_path, "loss", "numba")
    monkeypatch.syspath_prepend(root)
    results = testing.check(importlib.import_module(f"{package}.loss").ChosenOne(delta=0.5))
    assert results.ok, str(results)
    assert "check_native_equals_numpy" not in [check.name for check in results.checks if check.status == "skipped"]


def test_their_own_tests_pass_once_they_are_installed(tmp_path):
    """All in one process, and without the conformance suite, which is run above."""
    for kind, compiler in EVERY:
        if compiler == "numba" and importlib.util.find_spec("numba") is None:
            continue
        root, package = written(tmp_path, kind, compiler)
        if compiler == "c":
            build_in_place(root)
        about = root / f"{package}-0.1.0.dist-info"  # what an installed package is found by
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {root.name}\nVersion: 0.1.0\n")
        (about / "entry_points.txt").write_text(f"[fmfkit]\n{package.removeprefix('fmfkit_')} = {package}\n")
    roots = sorted(map(str, tmp_path.iterdir()))
    command = [sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", "-k", "not conformance", *roots]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(roots)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("kind", "compiler"), EVERY)
def test_its_own_tests_and_every_other_file_can_be_read(tmp_path, kind, compiler):
    root, package = written(tmp_path, kind, compiler)
    for path in root.rglob("*.py"):
        compile(path.read_text("utf-8"), str(path), "exec")
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["entry-points"]["fmfkit"] == {package.removeprefix("fmfkit_"): package}
    assert (root / "LICENSE").read_text("utf-8").startswith("BSD 3-Clause License")
    assert (root / package / "py.typed").exists()
    text = "".join(path.read_text("utf-8") for path in root.rglob("*") if path.is_file())
    assert str(tmp_path) not in text
    assert str(Path.home()) not in text
    assert "$" not in text


def test_the_sdist_holds_what_builds_the_native_part_and_the_wheel_suits_every_python(tmp_path):
    root, package = written(tmp_path, "loss", "c")
    build = [sys.executable, "setup.py", "-q", "sdist", "bdist_wheel"]
    subprocess.run(build, cwd=root, check=True, capture_output=True, timeout=300)
    (sdist,) = (root / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert {"build_native.py", "csrc/loss.c", "LICENSE", f"{package}/py.typed"} <= packed
    (wheel,) = (root / "dist").glob("*-cp311-abi3-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert f"{package}/_native.abi3.so" in archive.namelist()


def test_fmfkit_is_needed_in_versions_that_keep_their_promises(tmp_path):
    assert (_bounds("0.1.0"), _bounds("0.12.3"), _bounds("2.3.1")) == (">=0.1,<0.2", ">=0.12,<0.13", ">=2.3,<3")
    root, _ = written(tmp_path, "loss", "c")
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    needed = "fmfkit" + _bounds(importlib.metadata.version("fmfkit"))
    assert needed in project["project"]["dependencies"]
    assert needed in project["build-system"]["requires"]


def test_the_component_is_called_as_the_package_unless_it_is_given_a_name(tmp_path):
    invoke("new-plugin", "soft-loss", "--kind", "loss", "--in", tmp_path)
    assert "class SoftLoss(Loss)" in (tmp_path / "fmfkit-soft-loss/fmfkit_soft_loss/loss.py").read_text("utf-8")
    invoke("new-plugin", "other", "--kind", "loss", "--name", "huber_2", "--in", tmp_path)
    assert "class Huber2(Loss)" in (tmp_path / "fmfkit-other/fmfkit_other/loss.py").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "more", "message"),
    [
        (("My_Loss", "loss"), {}, "expected lower-case words with hyphens between"),
        (("x", "metrics"), {}, "kind: expected one of"),
        (("x", "loss"), {"component": "Huber"}, "expected a lower-case name with underscores"),
        (("loss", "loss"), {}, "'loss' would be Loss in Python"),
        (("native-loss", "loss"), {"compiler": "c"}, "'native_loss' would be NativeLoss in Python"),
        (("x", "loss"), {"component": "none"}, "'none' would be None in Python"),
        (
            ("x", "metric"),
            {"compiler": "c"},
            "a metric cannot be compiled by c here: loss and regularizer and solver can",
        ),
        (("solver", "solver"), {"compiler": "c"}, "'solver' would be Solver in Python"),
        (("x", "regularizer"), {"compiler": "numba"}, "a regularizer cannot be compiled by numba here: loss can"),
    ],
)
def test_senseless_names_and_kinds_are_refused(tmp_path, arguments, more, message):
    with pytest.raises(ValueError, match=message):
        new_plugin(*arguments, tmp_path, **more)
    assert not list(tmp_path.iterdir())


def test_a_package_that_is_there_is_left_alone(tmp_path):
    new_plugin("x", "solver", tmp_path)
    with pytest.raises(FileExistsError, match="it is there already"):
        new_plugin("x", "solver", tmp_path)
