"""The Python code blocks of the documentation: each runs when it is pasted alone."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path

FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield the Python blocks of a page, each with the number of its first line."""
    for found in FENCE.finditer(text):
        yield text.count("\n", 0, found.start()) + 2, found.group(1)


def run(block: str, page: Path, line: int) -> str:
    """Run a block in a namespace of its own, and return what it prints.

    The namespace is that of a module for as long as it runs: where pickle finds the classes of the block.
    """
    module = types.ModuleType(f"block_{page.stem}_{line}")
    sys.modules[module.__name__] = module
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + block, str(page), "exec"), vars(module))
    finally:
        del sys.modules[module.__name__]
    return printed.getvalue()
