"""What commands of plugins share with ours: reading tables of pairs, checkpoints, and how a model is kept."""

from __future__ import annotations

from fmfkit.cli.common import keep, plain_warnings
from fmfkit.data.ids import normal
from fmfkit.data.joins import key_of
from fmfkit.data.positives import Recognised
from fmfkit.data.roles import by_place, find_roles, unused, usable
from fmfkit.recommend.attributes import kept_attributes
from fmfkit.training.folders import locked
from fmfkit.training.identity import differences, spelled

__all__ = [
    "Recognised",
    "by_place",
    "differences",
    "find_roles",
    "keep",
    "kept_attributes",
    "key_of",
    "locked",
    "normal",
    "plain_warnings",
    "spelled",
    "unused",
    "usable",
]
