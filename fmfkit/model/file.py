"""Model files: safetensors, in named sections, with everything that is not an array as JSON in the header.

Loading runs no code of the file's: it holds numbers and names. Losses are stored by the name under which a plugin
offers them, with their options. A digest over all of it finds files that were changed or cut.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors

import fmfkit
from fmfkit.errors import ModelFileError
from fmfkit.files import replacing
from fmfkit.sections import Arrays, Section, mapping

FORMAT = "fmfkit model"
VERSION = 3
"""Files of another version are refused; a change that older fmfkit cannot read raises it."""

TYPES = {
    f"{kind}{bits}": code
    for kind, letter in (("float", "F"), ("int", "I"), ("uint", "U"))
    for bits, code in ((bits, f"{letter}{bits}") for bits in (8, 16, 32, 64))
    if kind != "float" or bits > 8
} | {"bool": "BOOL"}
"""What safetensors calls the types of arrays."""


def write(path: str | os.PathLike[str], sections: Mapping[str, Section]) -> None:
    """Write a file, whole or not at all."""
    arrays = {
        f"{name}/{key}": np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        for name, section in sections.items()
        for key, array in section.arrays.items()
    }
    header = {"format": FORMAT, "version": VERSION, "fmfkit": fmfkit.__version__}
    text = json.dumps(header | {"sections": {name: s.about for name, s in sections.items()}}, sort_keys=True)
    with replacing(path) as file:
        _write_tensors(file, arrays, {"fmfkit": text, "digest": _digest(arrays, text)})


def _write_tensors(file: BinaryIO, arrays: Arrays, metadata: dict[str, str]) -> None:
    """Write arrays as safetensors has them: the header's length, the header, the arrays, the widest types first."""
    header: dict[str, Any] = {"__metadata__": metadata}
    ordered = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    end = 0
    for name in ordered:
        array, begin = arrays[name], end
        if array.dtype.name not in TYPES:
            raise TypeError(f"{name}: arrays of {array.dtype} cannot be saved")
        end += array.nbytes
        header[name] = {"dtype": TYPES[array.dtype.name], "shape": array.shape, "data_offsets": [begin, end]}
    content = json.dumps(header).encode()
    content += b" " * (-len(content) % 8)
    file.write(len(content).to_bytes(8, "little"))
    file.write(content)
    for name in ordered:
        file.write(cast(Any, arrays[name].reshape(-1).view(np.uint8)))


def read(path: str | os.PathLike[str]) -> dict[str, Section]:
    """Read a file that ``write`` made; refuse any other."""
    place = Path(path)
    if place.exists() and not place.is_file():
        raise ModelFileError(f"{path}: not a model file: it is no file at all")
    content = place.read_bytes()
    try:
        arrays = load_tensors(content)
        size = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + size]).get("__metadata__") or {}
    except (SafetensorError, ValueError, KeyError) as error:  # KeyError: a type of numbers that NumPy does not have
        raise ModelFileError(f"{path}: not a model file, or one that was cut short ({error})") from None
    about = _checked(metadata, path)
    if metadata.get("digest") != _digest(arrays, metadata["fmfkit"]):
        raise ModelFileError(f"{path}: its content does not match its digest: it was changed after it was written")
    with checking(path):
        sections = {
            name: Section(mapping(name, found), {}) for name, found in mapping("sections", about["sections"]).items()
        }
        for key, array in arrays.items():
            name, _, rest = key.partition("/")
            if name not in sections:
                raise ValueError(f"the array {key!r} belongs to no section")
            sections[name].arrays[rest] = array
    return sections


@contextmanager
def checking(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say of whatever is wrong with what a file holds that it is the file's fault."""
    try:
        yield
    except ModelFileError:
        raise
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: its parts do not belong together ({error})") from error


def section_of(sections: Mapping[str, Section], name: str) -> Section:
    """Return a section that must be there."""
    if name not in sections:
        raise ValueError(f"the section {name!r} is missing")
    return sections[name]


def _checked(metadata: Mapping[str, str], path: Any) -> dict[str, Any]:
    """Return the description of a file of this version."""
    if "fmfkit" not in metadata:
        raise ModelFileError(f"{path}: a safetensors file, but not one of fmfkit's models")
    try:
        about = json.loads(metadata["fmfkit"])
    except (ValueError, RecursionError) as error:
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


__all__ = ["Section", "checking", "read", "section_of", "write"]
