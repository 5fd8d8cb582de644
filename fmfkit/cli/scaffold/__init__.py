"""Writes a new plugin package that passes its tests at once: what ``fmfkit new-plugin`` does."""

from __future__ import annotations

import importlib.metadata
import keyword
import re
from pathlib import Path
from string import Template
from typing import Literal, get_args

import attrs

Kind = Literal["loss", "regularizer", "scheduler", "solver", "metric", "block", "callback", "command"]
Compiler = Literal["c", "numba"]

TEMPLATES = Path(__file__).parent / "templates"
HOOKS = {
    "loss": "fmfkit_losses",
    "regularizer": "fmfkit_regularizers",
    "scheduler": "fmfkit_schedulers",
    "solver": "fmfkit_solvers",
    "metric": "fmfkit_metrics",
    "block": "fmfkit_blocks",
    "callback": "fmfkit_callbacks",
    "command": "fmfkit_commands",
}
DOCS = {
    "loss": "square near zero, absolute far away",
    "regularizer": "l2/2 w²",
    "scheduler": "features dealt out in turn",
    "solver": "several rounds of another solver in one",
    "native_solver": "shared features one after the other",
    "metric": "the share of predictions that are close",
    "block": "the length of a text",
    "callback": "stops when the objective is low enough",
    "command": "counts what a file of pairs has",
}
NEEDS = {
    "metric": ["numpy>=2.0"],
    "block": ["attrs>=24.1", "numpy>=2.0", "polars>=1.21", "scipy>=1.15"],
    "callback": ["attrs>=24.1"],
    "command": ["click>=8.2"],
}
"""What packages of a kind require beside fmfkit, where it is not attrs and numpy."""
CHECKED = ("loss", "regularizer", "scheduler", "solver")
"""What the conformance suite has checks for."""
FUNCTIONS = ("metric", "command")
"""What is a function, and no class."""
COMPILERS: dict[Compiler, tuple[str, ...]] = {"c": ("loss", "regularizer", "solver"), "numba": ("loss",)}
"""The kinds that there are templates for."""
NATIVE = {"loss": ("NativeLoss", "delta"), "regularizer": ("NativeRegularizer", "l2")}
"""The class of the compiled form that stands beside NumPy's, and the parameter that it takes."""
TABLE = "const void *table(void);"
UPDATE = "(const void *side, const int32_t *order, int64_t n, int32_t sweeps);"
C_FUNCTIONS = {
    "loss": TABLE,
    "regularizer": TABLE,
    "solver": f"int32_t abi(void);\nvoid update_f32{UPDATE}\nvoid update_f64{UPDATE}",
}
"""What Python calls of the C code."""


@attrs.frozen
class Plugin:
    """What is to be written."""

    name: str
    """Of the package, without fmfkit- before it: lower-case words with hyphens between."""
    kind: Kind
    component: str
    """The name of the component, by which users ask for it."""
    compiler: Compiler | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse what cannot be written."""
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", self.name):
            raise ValueError(
                f"name: expected lower-case words with hyphens between, such as my-loss, got {self.name!r}"
            )
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind: expected one of {sorted(get_args(Kind))}, got {self.kind!r}")
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.component):
            raise ValueError(
                f"component: expected a lower-case name with underscores, such as huber, got {self.component!r}"
            )
        if self.object in self._taken() or keyword.iskeyword(self.object):
            raise ValueError(
                f"component: {self.component!r} would be {self.object} in Python, which means something else there; "
                "choose another name (--name)"
            )
        if self.compiler is not None and self.kind not in (can := COMPILERS[self.compiler]):
            raise ValueError(f"a {self.kind} cannot be compiled by {self.compiler} here: {' and '.join(can)} can")

    @property
    def package(self) -> str:
        """The name of the package to import."""
        return "fmfkit_" + self.name.replace("-", "_")

    @property
    def object(self) -> str:
        """The name of the class or function."""
        return self.component if self.kind in FUNCTIONS else self.component.title().replace("_", "")

    @property
    def form(self) -> str:
        """The name of the templates of its module and tests: the kind, but that a solver in C is another solver."""
        return "native_solver" if self.kind == "solver" and self.compiler else self.kind

    def _taken(self) -> set[str]:
        """Return the names that the module imports."""
        lines = (TEMPLATES / f"{self.form}.py.in").read_text("utf-8").splitlines()
        words = {word for line in lines if line.startswith(("import ", "from ")) for word in re.findall(r"\w+", line)}
        return words | {native for native, _ in NATIVE.values()}

    def words(self) -> dict[str, str]:
        """Return what stands for the placeholders of the templates."""
        plugin = self.name.replace("-", "_")
        words = {
            "name": self.name,
            "package": self.package,
            "plugin": plugin,
            "kind": self.kind,
            "component": self.component,
            "object": self.object,
            "hook": HOOKS[self.kind],
            "doc": DOCS[self.form],
            "functions": C_FUNCTIONS.get(self.kind, ""),
            "suite": f"\n    pytest --pyargs fmfkit.testing --fmfkit-plugin {plugin}" if self.kind in CHECKED else "",
        }
        return words | self._requirements() | self._untyped() | self._compiled()

    def _requirements(self) -> dict[str, str]:
        fmfkit = f"fmfkit{_bounds(importlib.metadata.version('fmfkit'))}"
        building, running = ["setuptools>=77"], [fmfkit, *NEEDS.get(self.kind, ["attrs>=24.1", "numpy>=2.0"])]
        if self.compiler == "c":
            building += ["cffi>=2.0", fmfkit]  # for its header
            running += ["cffi>=2.0"]
        if self.compiler == "numba":
            running += ["numba>=0.60"]
        return {"build_needs": _quoted(building), "needs": _quoted(sorted(running))}

    def _untyped(self) -> dict[str, str]:
        """Return what mypy must not look for: modules without annotations."""
        module = {"c": f"{self.package}._native", "numba": "numba.*"}.get(self.compiler or "")
        module = "scipy.*" if self.kind == "block" else module
        table = f'\n\n[[tool.mypy.overrides]]\nmodule = "{module}"\nignore_missing_imports = true'
        return {"untyped": table if module else ""}

    def _compiled(self) -> dict[str, str]:
        """Return what differs where the component is compiled too."""
        publish = "The wheel is for every Python from 3.11 on. PyPI wants Linux wheels as cibuildwheel makes them."
        words = {"publish": f"\n\n{publish}" if self.compiler == "c" else ""}
        if self.compiler is None or self.kind not in NATIVE:
            return words | dict.fromkeys(("import_native", "import_compiled", "native", "test_native"), "")
        native, parameter = NATIVE[self.kind]
        return words | {
            "import_native": f"\nfrom fmfkit.native import {native}",
            "import_compiled": f"\n\nfrom {self.package}.compiled import compiled",
            "native": f"\n\n    @property\n    def native(self) -> {native}:\n"
            f'        """The same, compiled: solvers call it without Python."""\n'
            f"        return compiled(self.{parameter})",
            "test_native": "\n\n\ndef test_there_is_a_compiled_form_for_the_suite_to_compare():\n"
            f"    assert {self.object}().native is not None",
        }

    def files(self) -> dict[str, str]:
        """Return the template of each file."""
        package = self.package
        files = {
            "pyproject.toml": "pyproject.toml",
            "README.md": "README.md",
            "LICENSE": "LICENSE",
            "tox.ini": "tox.ini",
            ".gitignore": "gitignore",
            ".github/workflows/test.yml": "test.yml",
            f"{package}/__init__.py": "__init__.py",
            f"{package}/{self.kind}.py": f"{self.form}.py",
            f"{package}/py.typed": "py.typed",
            f"tests/test_{self.kind}.py": f"test_{self.form}.py",
        }
        if self.compiler is not None:
            files[f"{package}/compiled.py"] = f"{self.kind}_{self.compiler}.py"
        if self.compiler == "c":
            building = ("setup.py", "MANIFEST.in", "build_native.py")
            files |= {name: name for name in building} | {f"csrc/{self.kind}.c": f"{self.kind}.c"}
        return files


def _quoted(requirements: list[str]) -> str:
    return ", ".join(f'"{requirement}"' for requirement in requirements)


def _bounds(version: str) -> str:
    """Return the versions that keep what this one promises: up to the next major one, below 1.0 the next minor one."""
    major, minor = (int(part) for part in re.findall(r"\d+", version)[:2])
    return f">={major}.{minor},<{major}.{minor + 1}" if major == 0 else f">={major}.{minor},<{major + 1}"


def new_plugin(
    name: str, kind: Kind, folder: Path, *, component: str | None = None, compiler: Compiler | None = None
) -> list[Path]:
    """Write the package into ``folder``/fmfkit-NAME, which must not be there, and return its files.

    The component is called as the package unless it is given a name.
    """
    plugin = Plugin(name, kind, component or name.replace("-", "_"), compiler)
    root = folder / f"fmfkit-{name}"
    if root.exists():
        raise FileExistsError(f"{root}: it is there already")
    words, files = plugin.words(), plugin.files()
    for path, template in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(Template((TEMPLATES / f"{template}.in").read_text("utf-8")).substitute(words), "utf-8")
    return [root / path for path in files]


__all__ = ["Compiler", "Kind", "new_plugin"]
