"""Writes a new plugin package that passes its tests at once: what ``fmfkit new-plugin`` does."""

from __future__ import annotations

import importlib.metadata
import json
import re
from pathlib import Path
from string import Template
from typing import Literal

Kind = Literal["loss", "regularizer", "scheduler", "solver"]

TEMPLATES = Path(__file__).parent / "templates"
HOOKS = {"loss": "losses", "regularizer": "regularizers", "scheduler": "schedulers", "solver": "solvers"}
CLASSES = {"loss": "PseudoHuber", "regularizer": "Ridge", "scheduler": "EvenAndOdd", "solver": "TwiceAsMuch"}
DOCS = {
    "loss": "square near zero, absolute far away",
    "regularizer": "l2/2 w²",
    "scheduler": "features with even numbers, then those with odd ones",
    "solver": "two rounds of another solver in one",
}


def new_plugin(name: str, kind: Kind, folder: Path, *, native: bool = False) -> list[Path]:
    """Write the package into ``folder``/fmfkit-NAME, which must not be there, and return its files."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise ValueError(f"name: expected lower-case words with hyphens between, such as my-loss, got {name!r}")
    if kind not in CLASSES:
        raise ValueError(f"kind: expected one of {sorted(CLASSES)}, got {kind!r}")
    if native and kind not in ("loss", "regularizer"):
        raise ValueError(f"native: losses and regularizers can be native, a {kind} is a Python class over arrays")
    root = folder / f"fmfkit-{name}"
    if root.exists():
        raise FileExistsError(f"{root}: it is there already")
    words = {
        "name": name,
        "package": "fmfkit_" + name.replace("-", "_"),
        "plugin": name.replace("-", "_"),
        "kind": kind,
        "hook": f"fmfkit_{HOOKS[kind]}",
        "cls": CLASSES[kind],
        "doc": DOCS[kind],
        "fmfkit": _where_fmfkit_is(),
        "component": re.sub(r"(?<!^)([A-Z])", r"_\1", CLASSES[kind]).lower(),
        "build_needs": ', "cffi>=2.0", "fmfkit"' if native else "",
        "needs": ', "cffi>=2.0"' if native else "",
        "tox_needs": "\n    cffi>=2.0" if native else "",
    }
    package = words["package"]
    written = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        "tox.ini": "tox.ini",
        f"{package}/__init__.py": "__init__.py",
        f"{package}/{kind}.py": f"{kind}{'_native' if native else ''}.py",
        f"tests/test_{kind}.py": "test.py",
    }
    if native:
        written |= {"setup.py": "setup.py", "build_native.py": "build_native.py", f"csrc/{kind}.c": f"{kind}.c"}
    for path, template in written.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(Template((TEMPLATES / f"{template}.in").read_text("utf-8")).substitute(words), "utf-8")
    return [root / path for path in written]


def _where_fmfkit_is() -> str:
    """Return what pip installs this fmfkit from: the folder it came from, else its name."""
    try:
        text = importlib.metadata.distribution("fmfkit").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        text = None
    url = json.loads(text).get("url", "") if text else ""
    return url.removeprefix("file://") if url.startswith("file://") else "fmfkit"


__all__ = ["new_plugin"]
