"""A Sphinx extension: runs the Python blocks of every page while the site is built, and shows what each prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import blocks
from sphinx.application import Sphinx

REPOSITORY = "https://github.com/fmfkit/fmfkit/blob/main/"
LINK = re.compile(r"\]\((\.\./[^)]+)\)")


def prepared(app: Sphinx, name: str, source: list[str]) -> None:
    """Run the blocks of a page, and let links that lead out of ``docs/`` lead to the repository."""
    page, docs = Path(app.env.doc2path(name)), Path(app.srcdir)
    if page.suffix != ".md":
        return

    def link(found: re.Match[str]) -> str:
        place = (page.parent / found[1]).resolve()
        return found[0] if place.is_relative_to(docs) else f"]({REPOSITORY}{place.relative_to(docs.parent)})"

    source[0] = LINK.sub(link, with_outputs(source[0], page))


def with_outputs(text: str, page: Path) -> str:
    """Return a page with what each block prints below it; whatever a block raises ends the build."""
    for line, block in blocks.blocks_of(text):
        printed = blocks.run(block, page, line).rstrip()
        if printed:
            fenced = f"```python\n{block}```"
            text = text.replace(fenced, f"{fenced}\n\n````{{code-block}} text\n:class: printed\n{printed}\n````", 1)
    return text


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx what to call when."""
    app.connect("source-read", prepared)
    return {"version": "1", "parallel_read_safe": False}
