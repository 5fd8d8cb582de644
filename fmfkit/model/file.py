"""Model files: safetensors, in named sections, with everything that is not an array as JSON in the header.

Loading runs no code of the file's: it holds numbers and names. Losses are stored by the name under which a plugin
offers them, with their options. A digest over all of it finds files that were changed or cut.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save_file

import fmfkit
from fmfkit._kernels.library import resolve_threads
from fmfkit.errors import ModelFileError
from fmfkit.interfaces import Loss
from fmfkit.model.intervals import Observed
from fmfkit.plugins import description
from fmfkit.problem.features import FeatureRows
from fmfkit.problem.learnt import SideStrengths, Strengths
from fmfkit.training.records import Quantiles, RoundRecord
from fmfkit.training.state import Mean, State

FORMAT = "fmfkit model"
VERSION = 2
"""Files of another version are refused; a change that older fmfkit cannot read raises it."""

Arrays = dict[str, NDArray[Any]]


@attrs.frozen(eq=False)
class Section:
    """A part of a file: what JSON can hold, and arrays."""

    about: dict[str, Any]
    arrays: Arrays


def write(path: str | os.PathLike[str], sections: Mapping[str, Section]) -> None:
    """Write a file, whole or not at all."""
    target = Path(path)
    arrays = {
        f"{name}/{key}": np.ascontiguousarray(array)
        for name, section in sections.items()
        for key, array in section.arrays.items()
    }
    header = {"format": FORMAT, "version": VERSION, "fmfkit": fmfkit.__version__}
    text = json.dumps(header | {"sections": {name: s.about for name, s in sections.items()}}, sort_keys=True)
    part = target.with_name(target.name + ".part")
    part.touch()  # with the permissions that files have here; a folder that is missing, or not ours, is an error now
    rights = part.stat().st_mode
    try:
        save_file(arrays, part, metadata={"fmfkit": text, "digest": _digest(arrays, text)})
        part.chmod(rights)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def read(path: str | os.PathLike[str]) -> dict[str, Section]:
    """Read a file that ``write`` made; refuse any other."""
    content = Path(path).read_bytes()
    try:
        arrays = load_tensors(content)
        size = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + size]).get("__metadata__") or {}
    except (SafetensorError, ValueError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{path}: not a model file, or one that was cut short ({error})") from None
    about = _checked(metadata, path)
    if metadata.get("digest") != _digest(arrays, metadata["fmfkit"]):
        raise ModelFileError(f"{path}: its content does not match its digest: it was changed after it was written")
    sections = {name: Section(found, {}) for name, found in about["sections"].items()}
    for key, array in arrays.items():
        name, _, rest = key.partition("/")
        sections[name].arrays[rest] = array
    return sections


def _checked(metadata: Mapping[str, str], path: Any) -> dict[str, Any]:
    """Return the description of a file of this version."""
    if "fmfkit" not in metadata:
        raise ModelFileError(f"{path}: a safetensors file, but not one of fmfkit's models")
    try:
        about = json.loads(metadata["fmfkit"])
    except ValueError as error:
        raise ModelFileError(f"{path}: its description is not JSON ({error})") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ModelFileError(f"{path}: a safetensors file, but not one of fmfkit's models")
    if about.get("version") != VERSION:
        raise ModelFileError(
            f"{path}: version {about.get('version')} of the file format, written by fmfkit {about.get('fmfkit')}; "
            f"this is fmfkit {fmfkit.__version__}, which reads version {VERSION}: install the other one"
        )
    return about


def _digest(arrays: Arrays, text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(cast(Any, array))
    return digest.hexdigest()


def model_parts(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Return what a file holds of a Model."""
    about: dict[str, Any] = {
        "rank": model.rank,
        "offset": model.offset,
        "stopped": model.stopped,
        "loss": description.describe(model.loss),
        "history": [attrs.asdict(record) for record in model.history],
        "seed": model.state.seed,
        "round": model.state.round,
    }
    arrays: Arrays = {"P": model.P, "Q": model.Q}
    arrays |= {f"{SOLVER}{name}": np.ascontiguousarray(array) for name, array in model.state.arrays.items()}
    if model.state.strengths is not None:
        about["strengths"], learnt = strengths_parts(model.state.strengths)
        arrays |= learnt
    if model.observed is not None:
        about["pairs"] = model.observed.pairs
        arrays |= {"observed.X": model.observed.X, "observed.Z": model.observed.Z}
    if model.state.mean is not None:
        mean = model.state.mean.joined()
        about["mean"] = {"samples": mean.samples, "loss": mean.loss, "skipped": mean.skipped, "kept": len(mean.kept)}
        arrays |= {
            f"kept.{n}.{name}": W for n, kept in enumerate(mean.kept) for name, W in zip("PQ", kept, strict=True)
        }
        arrays |= {"P": mean.P, "Q": mean.Q, "last.P": model.state.P, "last.Q": model.state.Q}
    for name, features in (("X", model.X), ("Z", model.Z)):
        about[name] = [(block, part.start, part.stop) for block, part in features.blocks.items()]
        held = {field: getattr(features, field) for field in ROW_ARRAYS}
        arrays |= {f"{name}.{field}": array for field, array in held.items() if array is not None}
    return about, arrays


def strengths_parts(strengths: Strengths) -> tuple[dict[str, Any], Arrays]:
    """Return what a file holds of learnt strengths."""
    about = {name: getattr(strengths, name) for name in ("noise", "curvature", "unit", "start", "rounds")}
    arrays: Arrays = {}
    for name, side in (("query", strengths.query), ("target", strengths.target)):
        about[name] = {"bias_variance": side.bias_variance}
        held = {field: getattr(side, field) for field in STRENGTH_ARRAYS}
        arrays |= {f"strengths.{name}.{field}": array for field, array in held.items() if array is not None}
    return about, arrays


SOLVER = "solver."
"""Before the names of arrays that a solver keeps."""
STRENGTH_ARRAYS = ("factors", "bias", "variance")
"""The arrays of ``SideStrengths``."""


def _strengths(about: dict[str, Any], arrays: Arrays, P: Any, Q: Any, rank: int) -> Strengths | None:
    """Return the learnt strengths that a file holds, if any; refuse arrays that are not what they should be."""
    given = about.get("strengths")
    if given is None:
        return None
    sides = {}
    for name, features, W in (("query", "X", P), ("target", "Z", Q)):
        held = {field: arrays.get(f"strengths.{name}.{field}") for field in STRENGTH_ARRAYS}
        blocks, biased = len(about[features]), W.shape[1] > rank
        shapes = {"factors": (blocks, rank), "bias": (blocks, 1) if biased else None, "variance": (rank,)}
        for field, shape in shapes.items():
            array = held[field]
            found = None if array is None or array.dtype != np.float64 else array.shape
            if found != shape or (array is None) != (shape is None):
                raise ValueError(f"strengths.{name}.{field} does not fit the parameters")
        sides[name] = SideStrengths(**cast(Any, held), bias_variance=float(given[name]["bias_variance"]))
    numbers = {name: float(given[name]) for name in ("noise", "curvature", "unit", "start")}
    return Strengths(sides["query"], sides["target"], **numbers, rounds=int(given["rounds"]))


def _mean(about: dict[str, Any], arrays: Arrays, last: tuple[Any, Any]) -> Mean:
    """Return the mean of samples that a file holds; refuse samples that do not belong to it."""
    given, P, Q = about["mean"], arrays["P"], arrays["Q"]
    if any(a.shape[0] != b.shape[0] or a.dtype != b.dtype for a, b in zip(last, (P, Q), strict=True)):
        raise ValueError("the last sample does not fit the mean")
    kept = tuple((arrays[f"kept.{n}.P"], arrays[f"kept.{n}.Q"]) for n in range(given["kept"]))
    if any(a.shape != b.shape or a.dtype != b.dtype for one in kept for a, b in zip(one, last, strict=True)):
        raise ValueError("a sample that was kept does not fit the last one")
    samples, skipped = int(given["samples"]), int(given["skipped"])
    return Mean(P=P, Q=Q, rank=about["rank"], samples=samples, loss=float(given["loss"]), skipped=skipped, kept=kept)


ROW_ARRAYS = ("row_ptr", "row_index", "row_value", "row_scale", "own", "own_value")
"""The arrays of ``FeatureRows``."""


def checked_parts(section: Section, path: Any, loss: Loss | None, threads: int | None) -> dict[str, Any]:
    """Return what a file holds of a Model, embeddings apart; refuse what does not belong together."""
    about, arrays = section.about, section.arrays
    if about.get("loss") is None and loss is None:
        raise ModelFileError(f"{path}: its loss is no plugin's; give it: load(..., loss=...)")
    try:
        P, Q, rank = arrays["P"], arrays["Q"], about["rank"]
        features = {name: _features(name, about, arrays, W, rank) for name, W in (("X", P), ("Z", Q))}
        if P.dtype != Q.dtype:
            raise ValueError("P and Q differ in precision")
        history = tuple(record(each) for each in about["history"])
        last = arrays.get("last.P", P), arrays.get("last.Q", Q)
        strengths = _strengths(about, arrays, *last, rank - (P.shape[1] - last[0].shape[1]))
        own = {name.removeprefix(SOLVER): array for name, array in arrays.items() if name.startswith(SOLVER)}
        kept = {"seed": about["seed"], "round": about["round"], "strengths": strengths, "arrays": own}
        state = State(P=P, Q=Q, threads=resolve_threads(threads), **kept)
        if about.get("mean") is not None:
            mean = _mean(about, arrays, last)
            state = attrs.evolve(state, P=last[0], Q=last[1], mean=mean)
            P, Q = mean.parameters()
        observed = _observed(about, arrays) if strengths is not None else None
        rest = {"offset": about["offset"], "stopped": about["stopped"]}
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: its parts do not belong together ({type(error).__name__}: {error})") from None
    try:
        made = description.create(about["loss"], str(path)) if loss is None else loss
    except LookupError as error:
        raise ModelFileError(str(error)) from None
    state = attrs.evolve(state, loss=made if made.learns else None)
    parts = {"P": P, "Q": Q, "rank": rank, "loss": made, "history": history, "state": state, "observed": observed}
    return {**parts, **features, **rest}


def _observed(about: dict[str, Any], arrays: Arrays) -> Observed:
    X, Z = arrays["observed.X"], arrays["observed.Z"]
    for name, found, W in (("X", X, arrays["P"]), ("Z", Z, arrays["Q"])):
        if found.shape != (len(W),) or found.dtype != np.float32:
            raise ValueError(f"observed.{name} does not fit the parameters")
    return Observed(X, Z, float(about["pairs"]))


def _features(name: str, about: dict[str, Any], arrays: Arrays, W: NDArray[Any], rank: int) -> FeatureRows:
    """Return the features of one side; refuse arrays that are not what they should be."""
    held = {field: arrays.get(f"{name}.{field}") for field in ROW_ARRAYS}
    ptr, index = held["row_ptr"], held["row_index"]
    if ptr is None or index is None or held["own"] is None or held["own_value"] is None:
        raise ValueError(f"{name}: an array is missing")
    if (held["row_value"] is None) == (held["row_scale"] is None):
        raise ValueError(f"{name}: expected values, or one for each row")
    rows, cols = len(ptr) - 1, about[name][-1][2]
    if W.ndim != 2 or W.shape[0] != cols or W.shape[1] not in (rank, rank + 1):
        raise ValueError(f"{name} does not fit its parameters")
    for field, dtype, length in (
        ("row_ptr", np.int64, rows + 1),
        ("row_index", np.int32, int(ptr[-1])),
        ("row_value", W.dtype, int(ptr[-1])),
        ("row_scale", W.dtype, rows),
        ("own", np.int32, rows),
        ("own_value", W.dtype, rows),
    ):
        array = held[field]
        if array is not None and (array.dtype != dtype or array.shape != (length,)):
            raise ValueError(f"{name}.{field} is {array.dtype} of shape {array.shape}")
    sp.csr_array((np.zeros(len(index), np.int8), index, ptr), shape=(rows, cols)).check_format(full_check=True)
    _check_own(name, ptr, index, cast(NDArray[np.int32], held["own"]))
    blocks = {block: slice(start, stop) for block, start, stop in about[name]}
    return FeatureRows(rows=rows, cols=cols, blocks=blocks, **cast(Any, held))


def _check_own(name: str, ptr: NDArray[np.int64], index: NDArray[np.int32], own: NDArray[np.int32]) -> None:
    """Refuse own features that do not stand first in their rows."""
    owners = np.flatnonzero(own >= 0)
    if owners.size and ((ptr[owners] == ptr[owners + 1]).any() or (index[ptr[owners]] != own[owners]).any()):
        raise ValueError(f"{name}.own: a row does not begin with its own feature")


def record(given: dict[str, Any]) -> RoundRecord:
    """Return the record of a round that a file holds."""
    eta = None if given["eta"] is None else Quantiles(**given["eta"])
    return RoundRecord(**{**given, "eta": eta})


__all__ = ["Section", "checked_parts", "model_parts", "read", "record", "write"]
