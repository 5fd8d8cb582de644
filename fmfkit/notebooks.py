"""What notebooks show: whether there is one, and facts as a table in HTML."""

from __future__ import annotations

import html
import sys
from collections.abc import Iterable, Sequence


def in_notebook() -> bool:
    """Return whether a Jupyter kernel runs this process."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return "IPKernelApp" in getattr(shell, "config", {})


def facts_table(caption: str, facts: Iterable[tuple[str, str]]) -> str:
    """Return facts by name as a table."""
    rows = "".join(
        f"<tr><th scope='row' style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
        for name, value in facts
    )
    return f"<table><caption>{html.escape(caption)}</caption>{rows}</table>"


def columns_table(caption: str, names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows of values under the names of columns as a table."""
    head = "".join(f"<th scope='col'>{html.escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{html.escape(caption)}</caption><tr>{head}</tr>{body}</table>"


__all__ = ["columns_table", "facts_table", "in_notebook"]
