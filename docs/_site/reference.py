"""A Sphinx extension: makes docstrings, which are written to be read as they are, the text of the reference."""

from __future__ import annotations

import re
from typing import Any

import attrs
import click
from sphinx.application import Sphinx

from fmfkit import FMF, Settings
from fmfkit.cli import main
from fmfkit.plugins.builtin import COMMANDS
from fmfkit.sklearn import FMFClassifier, FMFRegressor

ARRAY = re.compile(r"[\w.~]*ndarray\[tuple\[[\w.~]*Any, \.\.\.\], [\w.~]*dtype\[(?:[\w.~]*\.)?(\w+)\]\]")
"""An array with the type of its numbers, as Sphinx spells it out."""

TYPED = re.compile(r"(``.*?``)|`([^`]+)`|(?<![\w-])--[a-z][\w-]*|\b[a-z]+@\d+")
"""Code, and what would become something else: emphasis, a dash, an address for mail."""


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


def with_plain_signs(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Let bars be bars, as in |x|, where they would be substitutions, and ndcg@10 no address; code stays as it is."""
    parts = re.split(r"(``.*?``)", "\n".join(lines), flags=re.DOTALL)
    plain = (part if part.startswith("``") else re.sub(r"[|@]", r"\\\g<0>", part) for part in parts)
    lines[:] = "".join(plain).split("\n")


def with_whole_sentences(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Keep napoleon from taking what stands before an attribute's first colon for its type."""
    if what in ("attribute", "property"):
        lines[:0] = ["..", ""]  # an empty comment: napoleon looks at the first line only


def with_code(app: Sphinx, context: click.Context, lines: list[str]) -> None:
    """Let what is typed be code in the help of commands: names in backquotes, options, metrics with a depth."""

    def code(found: re.Match[str]) -> str:
        return found[0] if found[1] else f"``{found[2] or found[0]}``"

    lines[:] = [line if line.lstrip().startswith("..") else TYPED.sub(code, line) for line in lines]


def with_short_arrays(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Write the types of arrays as the source does."""

    def short(text: str | None) -> str | None:
        return text and ARRAY.sub(r"NDArray[\1]", text)

    return short(signature), short(returns)


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx what to call when: before napoleon, which reads the sections of docstrings."""
    for name in COMMANDS:  # sphinx-click calls a command by its own name, not by that of its place
        main.get_command(click.Context(main), name).name = name
    app.connect("autodoc-process-docstring", with_settings, priority=100)
    app.connect("autodoc-process-docstring", with_plain_signs, priority=101)
    app.connect("autodoc-process-docstring", with_whole_sentences, priority=102)
    app.connect("autodoc-process-signature", with_short_arrays)
    for part in ("description", "options", "arguments"):
        app.connect(f"sphinx-click-process-{part}", with_code)
    return {"version": "1", "parallel_read_safe": True}
