"""The door of model files: bytes that were changed, and whole files that were forged."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from fmfkit import Model
from fmfkit.errors import DataError, ModelFileError, PluginLoadError
from fmfkit.model import file as model_file
from fmfkit.recommend.recommender import Recommender
from fuzzing.choices import REAL, WHOLE, Choices
from fuzzing.corpus import folder, model_files
from fuzzing.law import LawError, finite, finite_scores

DTYPES = ["float32", "float64", "float16", "int8", "uint8", "int32", "int64", "uint64", "bool"]


def mutated_file(choices: Choices) -> None:
    """Load a file some of whose bytes were changed: it is refused, or what was changed does not matter."""
    name = choices.pick(list(model_files()))
    content = bytearray(model_files()[name])
    for _ in range(1 + choices.below(4)):
        _change_bytes(choices, content)
    path = folder() / f"mutated-{os.getpid()}"
    path.write_bytes(content)
    _load_and_use(choices, path)


def forged_file(choices: Choices) -> None:
    """Load a file whose digest fits what somebody changed."""
    path = folder() / f"forged-{os.getpid()}"
    sections = _copy(_sections(choices.pick(list(model_files()))))
    for _ in range(1 + choices.below(3)):
        _forge(choices, sections)
    try:
        model_file.write(path, sections)
    except (TypeError, ValueError):  # JSON or safetensors cannot hold it: no file
        return
    _load_and_use(choices, path)


def _change_bytes(choices: Choices, content: bytearray) -> None:
    header = 8 + int.from_bytes(content[:8], "little")
    end = choices.pick([len(content), min(header, len(content)), 8])
    place = choices.below(max(end, 1))
    kind = choices.below(5)
    if kind == 0 and content:
        content[place % len(content)] ^= 1 << choices.below(8)
    elif kind == 1:
        content[place : place + 1] = bytes([choices.below(256)])
    elif kind == 2:
        del content[place:]
    elif kind == 3:
        content[place:place] = bytes(choices.below(256) for _ in range(choices.below(20)))
    else:
        del content[place : place + choices.below(200)]


def _sections(name: str) -> dict[str, model_file.Section]:
    return model_file.read(folder() / name)


def _copy(sections: dict[str, model_file.Section]) -> dict[str, model_file.Section]:
    return {
        name: model_file.Section(json.loads(json.dumps(s.about)), {key: a.copy() for key, a in s.arrays.items()})
        for name, s in sections.items()
    }


def _forge(choices: Choices, sections: dict[str, model_file.Section]) -> None:
    """Change one thing: what is told, an array, or which sections there are."""
    if not sections:
        return
    kind = choices.below(20)
    name = choices.pick(sorted(sections))
    if kind == 0:
        other = _copy(_sections(choices.pick(list(model_files()))))
        sections[name] = choices.pick(list(other.values()))
    elif kind == 1:
        del sections[name]
    elif kind < 11:
        _forge_about(choices, sections[name].about)
    else:
        _forge_array(choices, sections[name].arrays)


def _forge_about(choices: Choices, about: Any) -> None:
    """Change a value somewhere in what is told."""
    while isinstance(about, dict | list) and about:
        place = choices.pick(sorted(about)) if isinstance(about, dict) else choices.below(len(about))
        inner = about[place]
        if isinstance(inner, dict | list) and inner and not choices.chance(4):
            about = inner
            continue
        kind = choices.below(6)
        if kind == 0:
            del about[place]
        elif kind == 1 and isinstance(inner, int | float):
            about[place] = inner + choices.pick([-1, 1, 1000, 0.5])
        elif kind == 2 and isinstance(about, list):
            about.append(inner)
        else:
            about[place] = choices.value()
        return


def _forge_array(choices: Choices, arrays: dict[str, np.ndarray]) -> None:
    """Change an array: its numbers, its shape, its type, or whether it is there."""
    if not arrays:
        return
    name = choices.pick(sorted(arrays))
    array, kind = arrays[name], choices.below(9)
    with np.errstate(all="ignore"):
        if kind == 0:
            del arrays[name]
        elif kind == 1:
            arrays[name] = array.astype(choices.pick(DTYPES))
        elif kind == 2:
            arrays[name] = array[: choices.below(len(array) + 1)] if array.ndim else array.reshape(1)
        elif kind == 3:
            arrays[name] = np.concatenate([array, array]) if array.ndim else array
        elif kind == 4:
            arrays[name] = choices.pick([array.ravel(), array[None], array[::-1] if array.ndim else array])
        elif kind == 5:
            arrays[name] = arrays[choices.pick(sorted(arrays))]
        elif array.size:
            flat = array.reshape(-1)
            numbers = REAL if array.dtype.kind == "f" else [n for n in WHOLE if _fits(n, array.dtype)]
            near = flat[choices.below(flat.size)]
            for _ in range(1 + choices.below(3)):
                flat[choices.below(flat.size)] = choices.pick(numbers) if choices.chance(2) else near


def _fits(number: int, dtype: np.dtype[Any]) -> bool:
    if dtype.kind not in "iu":
        return number in (0, 1)
    return bool(np.iinfo(dtype).min <= number <= np.iinfo(dtype).max)


def _load_and_use(choices: Choices, path: Any) -> None:
    """Load a file through both doors, and ask what was loaded whatever it can answer."""
    refusals = []
    for load, use in ((Model.load, _use_model), (Recommender.load, _use_recommender)):
        try:
            made = load(path, threads=1)
        except (ModelFileError, DataError, PluginLoadError) as error:
            refusals.append(error)
            continue
        except Exception as error:
            raise LawError(f"loading: {type(error).__name__}: {error}") from error
        use(choices, made)
    if len(refusals) == 2:
        raise refusals[0]


def _use_model(choices: Choices, model: Model) -> None:
    for W in (model.P, model.Q):
        finite("parameters", W)
    if not (model.X.rows and model.Z.rows):
        return
    i, j = choices.below(model.X.rows), choices.below(model.Z.rows)
    _moderate(model.score([i], [j]))
    model.recommend(k=2)
    model.recommend([i], k=2, candidates=[j])
    model.similar([j], k=2)
    model.explain(i, j)
    if model.state.strengths is not None and model.observed is not None:
        model.interval([i], [j])
    repr(model)


def _moderate(score: Any) -> None:
    if np.isnan(score).any():
        raise LawError(f"a score is {score}")


def _use_recommender(choices: Choices, made: Recommender) -> None:
    _use_model(choices, made.model)
    if not (len(made.encoder.queries.ids) and len(made.encoder.targets.ids)):
        return
    query = made.encoder.queries.ids.at([choices.below(len(made.encoder.queries.ids))])
    target = made.encoder.targets.ids.at([choices.below(len(made.encoder.targets.ids))])
    finite_scores(made.recommend(k=2))
    made.recommend(query, k=3, seen=True)
    made.predict(query, target)
    made.similar(target, k=2)
    str(made.explain(query[0], target[0]))
    repr(made)
    made.save(folder() / f"again-{os.getpid()}")
    Recommender.load(folder() / f"again-{os.getpid()}", threads=1)


__all__ = ["forged_file", "mutated_file"]
