"""A Sphinx extension: gives the settings, written down once with their help, as parameters of what takes them."""

from __future__ import annotations

from typing import Any

import attrs
from sphinx.application import Sphinx

from fmfkit import FMF, Settings
from fmfkit.sklearn import FMFClassifier, FMFRegressor


def with_settings(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Add the settings to the docstring of a class that takes them all."""
    if thing not in (FMF, Settings, FMFClassifier, FMFRegressor) or "Args:" in lines:
        return
    lines += ["", "Args:"]
    for field in attrs.fields(Settings):
        if (help := field.metadata.get("help")) is not None:
            default = field.metadata["default"]
            shown = "" if callable(default) or default is None else f" Default: {default!r}."
            lines.append(f"    {field.name}: {help.replace('`', '``')}{shown}")
    if thing in (FMFClassifier, FMFRegressor):
        lines += [f"    {name}: As for ``Dataset.of``." for name in ("queries", "targets", "history")]
    lines.append("")


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx what to call when: before napoleon, which reads the sections of docstrings."""
    app.connect("autodoc-process-docstring", with_settings, priority=100)
    return {"version": "1", "parallel_read_safe": True}
