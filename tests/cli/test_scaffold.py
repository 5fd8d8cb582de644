"""fmfkit new-plugin: the packages it writes are plugins that pass the conformance suite."""

import importlib
import subprocess
import sys

import pytest
from click.testing import CliRunner

from fmfkit import testing
from fmfkit.cli import main
from fmfkit.cli.scaffold import CLASSES, new_plugin

KINDS = [
    ("loss", False),
    ("loss", True),
    ("regularizer", False),
    ("regularizer", True),
    ("scheduler", False),
    ("solver", False),
]


@pytest.mark.parametrize(("kind", "native"), KINDS)
def test_what_is_written_keeps_the_laws_of_its_kind(tmp_path, monkeypatch, kind, native):
    name = f"tried-{kind}{'-native' if native else ''}"
    result = CliRunner().invoke(
        main, ["new-plugin", name, "--kind", kind, "--in", str(tmp_path), *(["--native"] if native else [])]
    )
    assert result.exit_code == 0, result.output
    root = tmp_path / f"fmfkit-{name}"
    if native:
        pytest.importorskip("setuptools")
        build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        subprocess.run(build, cwd=root, check=True, capture_output=True, timeout=300)
    monkeypatch.syspath_prepend(root)
    package = f"fmfkit_{name.replace('-', '_')}"
    component = getattr(importlib.import_module(f"{package}.{kind}"), CLASSES[kind])()
    results = testing.check(component)
    assert results.ok, str(results)
    skipped = [check.name for check in results.checks if check.status == "skipped"]
    assert ("check_native_equals_numpy" in skipped) == (kind in ("loss", "regularizer") and not native)
    (spec,) = getattr(importlib.import_module(package), f"fmfkit_{'losses' if kind == 'loss' else kind + 's'}")()
    assert spec.load() is type(component)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("My_Loss", "loss"), "expected lower-case words with hyphens between"),
        (("x", "command"), "kind: expected one of"),
    ],
)
def test_senseless_names_and_kinds_are_refused(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        new_plugin(*arguments, tmp_path)
    with pytest.raises(ValueError, match="a solver is a Python class over arrays"):
        new_plugin("x", "solver", tmp_path, native=True)
    new_plugin("x", "solver", tmp_path)
    with pytest.raises(FileExistsError, match="it is there already"):
        new_plugin("x", "solver", tmp_path)
