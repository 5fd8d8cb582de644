"""What ``pytest --pyargs fmfkit.testing --fmfkit-plugin NAME`` runs."""

from __future__ import annotations

from typing import Any


def test_conformance(component: Any, check: Any) -> None:
    """Run one check on one component of the plugins that were named."""
    check(component)
