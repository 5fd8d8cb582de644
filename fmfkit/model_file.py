"""Model files: safetensors, with everything that is not an array as JSON in the header.

Loading runs no code of the file's: it holds numbers and names. Losses are stored by the name under which a plugin
offers them, with their options. A digest over all of it finds files that were changed or cut.
"""

from __future__ import annotations

import hashlib
import json
import os
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
from fmfkit.errors import ModelFileError
from fmfkit.interfaces import Loss
from fmfkit.registry import BUILTIN, Registry, get_registry
from fmfkit.state import Quantiles, RoundRecord

FORMAT = "fmfkit model"
VERSION = 1
"""Files of a higher version are refused; a change that older fmfkit cannot read raises it."""

Arrays = dict[str, NDArray[Any]]


def write(path: str | os.PathLike[str], arrays: Arrays, about: dict[str, Any]) -> None:
    """Write a file, whole or not at all."""
    target = Path(path)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    about = {"format": FORMAT, "version": VERSION, "fmfkit": fmfkit.__version__, **about}
    text = json.dumps(about, sort_keys=True)
    part = target.with_name(target.name + ".part")
    part.touch()  # with the rights that files have here; a folder that is not there, or is not ours, is told now
    rights = part.stat().st_mode
    try:
        save_file(arrays, part, metadata={"fmfkit": text, "digest": _digest(arrays, text)})
        part.chmod(rights)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def read(path: str | os.PathLike[str]) -> tuple[Arrays, dict[str, Any]]:
    """Read a file that ``write`` made; refuse any other."""
    content = Path(path).read_bytes()
    try:
        arrays = load_tensors(content)
        size = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + size]).get("__metadata__") or {}
    except (SafetensorError, ValueError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{path}: not a model file, or one that was cut short ({error})") from None
    if "fmfkit" not in metadata:
        raise ModelFileError(f"{path}: a safetensors file, but not one of fmfkit's models")
    text = metadata["fmfkit"]
    try:
        about = json.loads(text)
    except ValueError as error:
        raise ModelFileError(f"{path}: its description is not JSON ({error})") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ModelFileError(f"{path}: a safetensors file, but not one of fmfkit's models")
    if about.get("version") != VERSION:
        raise ModelFileError(
            f"{path}: version {about.get('version')} of the file format, written by fmfkit {about.get('fmfkit')}; "
            f"this is fmfkit {fmfkit.__version__}, which reads version {VERSION}: install the other one"
        )
    if metadata.get("digest") != _digest(arrays, text):
        raise ModelFileError(f"{path}: its content does not match its digest: it was changed after it was written")
    return arrays, about


def check(arrays: Arrays, about: dict[str, Any], path: Any) -> None:
    """Refuse a description or arrays that do not belong together: the digest finds accidents, not forgeries."""
    try:
        P, Q, rank = arrays["P"], arrays["Q"], about["rank"]
        for name, W in (("X", P), ("Z", Q)):
            ptr, index, value = (arrays[f"{name}.{part}"] for part in ("ptr", "index", "value"))
            cols = about[name][-1][2]
            fits = (
                W.ndim == 2 and W.shape[0] == cols and W.shape[1] in (rank, rank + 1) and value.dtype == W.dtype
                and W.dtype in (np.float32, np.float64) and W.dtype == P.dtype and len(index) == len(value) == ptr[-1]
            )  # fmt: skip
            if not fits:
                raise ValueError(f"{name} does not fit its parameters")
            sp.csr_array((value, index, ptr), shape=(len(ptr) - 1, cols)).check_format(full_check=True)
        for key in ("offset", "stopped", "loss", "history", "seed", "round", "more"):
            about[key]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: its parts do not belong together ({type(error).__name__}: {error})") from None


def _digest(arrays: Arrays, text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(cast(Any, array))
    return digest.hexdigest()


def loss_to_json(loss: Loss) -> dict[str, Any] | None:
    """Return the name of a loss and its options; None for one that no plugin offers."""
    registry, factory = get_registry(), f"{type(loss).__module__}:{type(loss).__qualname__}"
    for name in registry.names("loss"):
        if registry.spec("loss", name).factory == factory:
            info = registry.plugins[name.partition(":")[0]]
            options = attrs.asdict(cast(Any, loss)) if attrs.has(type(loss)) else {}
            return {
                "name": name, "options": options, "distribution": info.distribution, "version": info.version,
            }  # fmt: skip
    return None


def loss_from_json(given: dict[str, Any], path: Any, registry: Registry | None = None) -> Loss:
    """Make the loss that ``loss_to_json`` described."""
    registry = get_registry() if registry is None else registry
    plugin = given["name"].partition(":")[0]
    if plugin != BUILTIN and plugin not in registry.plugins:
        raise ModelFileError(
            f"{path}: its loss {given['name']!r} comes with {given['distribution']} {given['version']}, which is not "
            f"installed: python -m pip install {given['distribution']}"
        )
    loss: Loss = registry.create("loss", given["name"], **given["options"])
    return loss


def record_to_json(record: RoundRecord) -> dict[str, Any]:
    """Return a line of the history."""
    return attrs.asdict(record)


def record_from_json(given: dict[str, Any]) -> RoundRecord:
    """Return the line that ``record_to_json`` described."""
    eta = None if given["eta"] is None else Quantiles(**given["eta"])
    return RoundRecord(**{**given, "eta": eta})


Blocks = list[tuple[str, int, int]]
"""Name, first and last column (exclusive) of each block, in order."""


def features_to_arrays(name: str, features: Any) -> tuple[Arrays, Blocks]:
    """Return a feature matrix as arrays under names, and its blocks."""
    arrays = {
        f"{name}.ptr": features.row_ptr, f"{name}.index": features.row_index, f"{name}.value": features.values_by_row(),
    }  # fmt: skip
    return arrays, [(block, part.start, part.stop) for block, part in features.blocks.items()]


def blocks_from_arrays(name: str, arrays: Arrays, blocks: Blocks) -> dict[str, sp.csr_array]:
    """Return the blocks that ``features_to_arrays`` described."""
    ptr, cols = arrays[f"{name}.ptr"], blocks[-1][2]
    matrix = sp.csr_array((arrays[f"{name}.value"], arrays[f"{name}.index"], ptr), shape=(len(ptr) - 1, cols))
    matrix.sort_indices()
    return {block: sp.csr_array(matrix[:, start:stop]) for block, start, stop in blocks}
