"""Sums over shards in one fixed order: a binary tree over the shards, of which any process makes the parts it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Node = tuple[int, int]
"""Shards from ... to: a node of the tree has these below it."""
Fill = Callable[[int, NDArray[Any]], None]


def middle(node: Node) -> int:
    """Return where a node's second child begins: the first has as many shards as a power of two that is not all."""
    size = node[1] - node[0]
    return node[0] + (1 << ((size - 1).bit_length() - 1))


def nodes_of(mine: Node, node: Node) -> list[Node]:
    """Return the largest nodes, of those at and below one, that have no shards but some neighbouring ones, in order."""
    if node[1] <= mine[0] or mine[1] <= node[0]:
        return []
    if mine[0] <= node[0] and node[1] <= mine[1]:
        return [node]
    return nodes_of(mine, (node[0], middle(node))) + nodes_of(mine, (middle(node), node[1]))


class Room:
    """Arrays for sums that are not complete yet, used again and again."""

    def __init__(self) -> None:
        """Begin without any."""
        self._free: dict[tuple[int, str], list[NDArray[Any]]] = {}

    def take(self, like: NDArray[Any]) -> NDArray[Any]:
        """Return a flat array as large as another one."""
        free = self._free.setdefault((like.size, like.dtype.str), [])
        return free.pop() if free else np.empty(like.size, like.dtype)

    def give(self, array: NDArray[Any]) -> None:
        """Take one back."""
        self._free[array.size, array.dtype.str].append(array)


def add_up(node: Node, out: NDArray[Any], fill: Fill, leaves: set[Node], room: Room) -> None:
    """Write the sum at a node into ``out``: ``fill`` writes what a leaf has, by its first shard."""
    if node in leaves or node[1] - node[0] == 1:
        fill(node[0], out)
        return
    add_up((node[0], middle(node)), out, fill, leaves, room)
    other = room.take(out).reshape(out.shape)
    add_up((middle(node), node[1]), other, fill, leaves, room)
    out += other
    room.give(other.reshape(-1))


__all__ = ["Fill", "Node", "Room", "add_up", "middle", "nodes_of"]
