"""Decisions made from bytes: whoever varies the bytes varies the input, a little or much."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

WHOLE = [0, 1, -1, 2, 3, 7, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**62, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30]
REAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 1e-30, 1e16, 1e30, 3.4e38, 1e300, float("inf"), float("-inf"), float("nan")]
TEXT = [
    "",
    "a",
    "ü",
    "\x00",
    "a\nb",
    "\x1b[31m",
    "\ud800",
    "user",
    "item",
    "rating",
    "a|b",
    "0",
    "-1",
    "nan",
    "/etc/passwd",
]
TEXT += ["builtin:square", "square", "tags", "x" * 5000, "日本語", "\u202e", "1e999", "True", "null", "{}", "a:b=c,d=e"]


class Choices:
    """Choices by bytes; after the last of them, by a generator that they seed."""

    def __init__(self, data: bytes) -> None:
        """Begin with the first byte."""
        self._data, self._at = data, 0
        self._random = random.Random(data)

    def below(self, count: int) -> int:
        """Return a number from 0 to ``count`` - 1."""
        if self._at >= len(self._data):
            return self._random.randrange(count)
        size = 1 if count <= 256 else 2 if count <= 65536 else 8
        part = self._data[self._at : self._at + size]
        self._at += size
        return int.from_bytes(part, "little") % count

    def chance(self, one_in: int) -> bool:
        """Return True once in so many times."""
        return self.below(one_in) == 0

    def pick(self, options: Sequence[Any]) -> Any:
        """Return one of some."""
        return options[self.below(len(options))]

    def rng(self) -> np.random.Generator:
        """Return a generator of arrays."""
        return np.random.default_rng(self.below(2**32))

    def plain(self) -> Any:
        """Return a value as JSON and TOML have them, of any kind, not nested."""
        return self.pick([None, True, False, self.pick(WHOLE), self.pick(REAL), self.pick(TEXT)])

    def value(self, depth: int = 2) -> Any:
        """Return a value as JSON has them."""
        if depth == 0 or not self.chance(4):
            return self.plain()
        several = [self.value(depth - 1) for _ in range(self.below(4))]
        return several if self.chance(2) else {self.pick(TEXT): one for one in several}


__all__ = ["REAL", "TEXT", "WHOLE", "Choices"]
