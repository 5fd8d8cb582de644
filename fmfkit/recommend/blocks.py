"""Kinds of feature blocks by the names under which plugins offer them: "tags" is built in, "mine:hashed" a plugin's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fmfkit.data.blocks import Block
from fmfkit.errors import ModelFileError, PluginLoadError, UnknownNameError
from fmfkit.plugins import description
from fmfkit.plugins.registry import BUILTIN, get_registry


def block_class(kind: str) -> type[Block]:
    """Return the class that a kind stands for: a bare one is built in, else the only one that a plugin offers."""
    found = get_registry().load("block", kind)
    if not (isinstance(found, type) and issubclass(found, Block)):
        raise PluginLoadError(f"block {kind!r}: expected a subclass of fmfkit.data.Block, got {found!r}")
    if getattr(found, "kind", None) != kind.rpartition(":")[2]:
        told = repr(getattr(found, "kind", None))
        raise PluginLoadError(f"block {kind!r}: its class {_path(found)} has the kind {told}; name it as it is offered")
    return found


def origin(block: Block) -> dict[str, Any]:
    """Return what a file says of the class of a block; refuse a class that the file could not be read with."""
    name = get_registry().name_of("block", type(block))
    if name is None:
        raise ModelFileError(f"block {block.title!r} cannot be saved: {_why_unknown(block)}")
    plugin, _, kind = name.partition(":")
    if plugin == BUILTIN:
        return {"kind": kind}
    told = description.origin(name, get_registry())
    return {"kind": name, "distribution": told["distribution"], "version": told["version"]}


def _why_unknown(block: Block) -> str:
    mine, kind = _path(type(block)), getattr(block, "kind", None)
    offer = "offer it by the hook fmfkit_blocks of a plugin, or leave the block out"
    try:
        other = block_class(str(kind))
    except (PluginLoadError, UnknownNameError):
        return f"no plugin offers its class {mine}; {offer}"
    return f"its class {mine} is not {_path(other)}, which the kind {kind!r} stands for; give it a kind and {offer}"


def restored_class(kind: str, about: Mapping[str, Any], where: str) -> type[Block]:
    """Return the class of a block that a file holds; ``where`` is what errors call the file."""
    try:
        if ":" in kind:
            description.check_installed({**about, "name": kind}, f"{where}: its feature block", get_registry())
        return block_class(kind)
    except UnknownNameError as error:
        raise ModelFileError(f"{where}: {error}") from None


def _path(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


__all__ = ["block_class", "origin", "restored_class"]
