"""Kinds of settings: what values each takes. The command line, TOML files and scikit-learn read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs
import numpy as np

from fmfkit.arguments import whole


@attrs.frozen
class Whole:
    """A whole number."""

    least: int = 0
    most: int | None = None
    optional: bool = False
    """Whether None is allowed."""

    def check(self, name: str, value: Any) -> None:
        """Refuse any other value."""
        if not (self.optional and value is None):
            whole(name, value, least=self.least, most=self.most)


@attrs.frozen
class Real:
    """A finite number."""

    least: float = 0.0
    most: float | None = None
    optional: bool = False
    """Whether None is allowed."""

    def check(self, name: str, value: Any) -> None:
        """Refuse any other value."""
        if self.optional and value is None:
            return
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise TypeError(f"{name}: expected a number, got {value!r}")
        if not self.least <= value < np.inf or (self.most is not None and value > self.most):
            bounds = f"at least {self.least:g}" if self.most is None else f"from {self.least:g} to {self.most:g}"
            raise ValueError(f"{name}: expected a finite number {bounds}, got {value!r}")


@attrs.frozen
class Choice:
    """One of some words, or a number if numbers are allowed."""

    options: tuple[str, ...]
    numbers: Real | None = None

    def check(self, name: str, value: Any) -> None:
        """Refuse any other value."""
        if value in self.options:
            return
        if self.numbers is None or isinstance(value, str):
            also = "" if self.numbers is None else " or a number"
            raise ValueError(f"{name}: expected one of {list(self.options)}{also}, got {value!r}")
        self.numbers.check(name, value)


@attrs.frozen
class Flag:
    """Yes or no."""

    def check(self, name: str, value: Any) -> None:
        """Refuse any other value."""
        if not isinstance(value, bool):
            raise TypeError(f"{name}: expected True or False, got {value!r}")


@attrs.frozen
class Switch:
    """One of two words, or "auto", which leaves it to the data; the command line has a flag for each word."""

    words: tuple[str, str]

    @property
    def options(self) -> tuple[str, ...]:
        """All values."""
        return "auto", *self.words

    def check(self, name: str, value: Any) -> None:
        """Refuse any other value."""
        Choice(self.options).check(name, value)


@attrs.frozen
class Component:
    """A component of a plugin, itself or by name; files and command lines have names only."""

    kind: Literal["loss", "regularizer", "solver"]
    optional: bool = False

    def check(self, name: str, value: Any) -> None:
        """Let everything pass: it is resolved when it is used."""


@attrs.frozen
class Factors:
    """A number of at least 0 for each of some feature blocks, such as {"target.genres": 0.3}."""

    def check(self, name: str, value: Any) -> None:
        """Refuse any other value."""
        if not isinstance(value, Mapping):
            raise TypeError(f"{name}: expected a mapping of feature blocks to numbers, got {value!r}")
        for block, factor in value.items():
            if not isinstance(block, str):
                raise TypeError(f"{name}: feature blocks are named by text, got {block!r}")
            Real().check(f"{name}[{block!r}]", factor)


Kind = Whole | Real | Choice | Flag | Switch | Component | Factors

__all__ = ["Choice", "Component", "Factors", "Flag", "Kind", "Real", "Switch", "Whole"]
