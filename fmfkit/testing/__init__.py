"""The conformance suite: does a loss, regularizer, scheduler or solver keep the laws of its interface?

Three ways to run it::

    fmfkit.testing.check(MyLoss())                                     # a table, in a REPL

    @fmfkit.testing.parametrize_with_checks([MyLoss()])                # in your own tests
    def test_conformance(component, check):
        check(component)

    pytest --pyargs fmfkit.testing --fmfkit-plugin mine                # a whole installed plugin, as tox runs it

The names of the checks are public: see docs/conformance.md, and for each of them
``python -m fmfkit.testing --explain CHECK``.
"""

from __future__ import annotations

from fmfkit.testing.running import CheckResult, Results, check, checks_for, parametrize_with_checks
from fmfkit.testing.verdict import ConformanceError, NotChecked, NotCheckedWarning, Skipped

__all__ = [
    "CheckResult",
    "ConformanceError",
    "NotChecked",
    "NotCheckedWarning",
    "Results",
    "Skipped",
    "check",
    "checks_for",
    "parametrize_with_checks",
]
