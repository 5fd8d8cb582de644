"""The errors that are fmfkit's own; bad arguments raise ValueError or TypeError as everywhere."""

from __future__ import annotations


class PluginLoadError(RuntimeError):
    """A plugin that was asked for by name could not be loaded; ``__cause__`` is what it raised."""


class UnknownNameError(LookupError):
    """No plugin, or more than one, offers a component of the name asked for."""


class PluginContractError(TypeError):
    """A loss, regularizer, scheduler or solver returned something its interface does not allow."""


class IncompatibleError(ValueError):
    """The solver cannot work on the problem; the message lists every reason."""


class DivergedError(ArithmeticError):
    """Training left the finite numbers; the message says what to change."""


class ConfigError(ValueError):
    """A configuration file has errors; the message lists all of them, each with its location."""


class DataError(ValueError):
    """A table, or a file with one, cannot be learnt from; the message names the table, the column and what to do."""


class ModelFileError(ValueError):
    """A file is no model, or a damaged one, or it needs something that is not installed."""


class WriteError(OSError):
    """A file could not be written; what was at its path stays as it was. ``errno`` is the system's reason, if any."""

    def __init__(self, message: str, errno: int | None = None) -> None:
        """Say which file, and why."""
        super().__init__(message)
        self.errno = errno


__all__ = [
    "ConfigError",
    "DataError",
    "DivergedError",
    "IncompatibleError",
    "ModelFileError",
    "PluginContractError",
    "PluginLoadError",
    "UnknownNameError",
    "WriteError",
]
