"""The door of configurations: TOML that is wrong in its letters, or in what it says."""

from __future__ import annotations

import json
import os
from typing import Any

from fmfkit import FMF
from fmfkit.cli.config import read_config
from fuzzing.choices import Choices
from fuzzing.corpus import folder

SEED = {
    "data": {
        "pairs": "ratings.csv",
        "query": "user",
        "history": False,
        "duplicates": "last",
        "targets": {
            "table": "books.csv",
            "blocks": [{"kind": "tags", "column": "genres", "strength": 0.3}, {"kind": "numeric", "column": "year"}],
            "indicator": True,
        },
        "queries": "users.csv",
    },
    "model": {
        "rank": 8,
        "l2": 0.1,
        "loss": "square",
        "solver": "panel",
        "rounds": 3,
        "strengths": {"target.genres": 1.0},
    },
    "recipe": {"test": 0.1, "split": "random", "tune": 0, "metrics": ["rmse"], "callbacks": [], "out": "model.fmf"},
}
NAMES = ["kind", "pairs", "table", "rank", "", "a.b", "ü", "l2", "data", "out", "bins", "levels", "links", "x"]


def config(choices: Choices) -> None:
    """Read a configuration, and make the settings that it names."""
    told = json.loads(json.dumps(SEED))
    for _ in range(1 + choices.below(4)):
        _change(choices, told)
    content = bytearray(_toml(told).encode("utf-8", "surrogatepass"))
    for _ in range(choices.below(3)):
        place = choices.below(max(len(content), 1))
        content[place : place + choices.below(4)] = bytes(choices.below(256) for _ in range(choices.below(4)))
    path = folder() / f"config-{os.getpid()}.toml"
    path.write_bytes(content)
    for name in ("ratings.csv", "books.csv", "users.csv"):
        (folder() / name).touch()
    FMF(**read_config(path).settings)


def _change(choices: Choices, told: dict[str, Any]) -> None:
    part: Any = told
    while isinstance(part, dict | list) and part:
        place = choices.pick(sorted(part)) if isinstance(part, dict) else choices.below(len(part))
        inner = part[place]
        if isinstance(inner, dict | list) and inner and not choices.chance(4):
            part = inner
            continue
        kind = choices.below(4)
        if kind == 0:
            del part[place]
        elif kind == 1 and isinstance(part, dict):
            part[choices.pick(NAMES)] = inner
        else:
            part[place] = choices.value()
        return


def _toml(value: Any) -> str:
    """Return a table as TOML, every table within it in one line."""
    return "\n".join(f"{json.dumps(name)} = {_inline(part)}" for name, part in value.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {_inline(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return '"none"' if value is None else json.dumps(value)


__all__ = ["config"]
