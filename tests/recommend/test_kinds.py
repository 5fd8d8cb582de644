"""Kinds of settings: what values each takes."""

import numpy as np
import pytest

from fmfkit.recommend.kinds import Choice, Component, Factors, Flag, Real, Switch, Whole

GOOD = [
    (Whole(1), 1),
    (Whole(1), np.int64(5)),
    (Whole(1, 4), 4),
    (Whole(1, optional=True), None),
    (Real(), 0),
    (Real(), np.float32(0.5)),
    (Real(0, 1), 1.0),
    (Choice(("a", "b")), "b"),
    (Choice(("a", "b"), Real()), "b"),
    (Choice(("a", "b"), Real()), 0.5),
    (Real(optional=True), None),
    (Flag(), False),
    (Switch(("a", "b")), "auto"),
    (Switch(("a", "b")), "b"),
    (Component("loss"), object()),
    (Factors(), {}),
    (Factors(), {"target.genres": 2}),
]
BAD = [
    (Whole(1), 0, ValueError, "it: expected at least 1, got 0"),
    (Whole(1, 4), 5, ValueError, "it: expected at most 4, got 5"),
    (Whole(1), None, TypeError, "it: expected a whole number, got None"),
    (Whole(1), 2.0, TypeError, "it: expected a whole number, got 2.0"),
    (Real(), -0.1, ValueError, "it: expected a finite number at least 0, got -0.1"),
    (Real(), float("nan"), ValueError, "it: expected a finite number"),
    (Real(), float("inf"), ValueError, "it: expected a finite number"),
    (Real(0, 1), 1.1, ValueError, "it: expected a finite number from 0 to 1, got 1.1"),
    (Real(), None, TypeError, "it: expected a number, got None"),
    (Real(), True, TypeError, "it: expected a number, got True"),
    (Real(), "1", TypeError, "it: expected a number, got '1'"),
    (Choice(("a", "b")), "c", ValueError, r"it: expected one of \['a', 'b'\], got 'c'"),
    (Choice(("a", "b"), Real()), "c", ValueError, r"it: expected one of \['a', 'b'\] or a number, got 'c'"),
    (Choice(("a", "b"), Real()), -1, ValueError, "it: expected a finite number at least 0, got -1"),
    (Choice(("a", "b"), Real()), True, TypeError, "it: expected a number, got True"),
    (Switch(("a", "b")), True, ValueError, r"it: expected one of \['auto', 'a', 'b'\], got True"),
    (Flag(), 1, TypeError, "it: expected True or False, got 1"),
    (Factors(), [1], TypeError, r"it: expected a mapping of feature blocks to numbers, got \[1\]"),
    (Factors(), {1: 1}, TypeError, "it: feature blocks are named by text, got 1"),
    (Factors(), {"a": -1}, ValueError, r"it\['a'\]: expected a finite number at least 0, got -1"),
]


@pytest.mark.parametrize(("kind", "value"), GOOD)
def test_values_of_the_kind_pass(kind, value):
    kind.check("it", value)


@pytest.mark.parametrize(("kind", "value", "error", "message"), BAD)
def test_other_values_are_refused_by_name(kind, value, error, message):
    with pytest.raises(error, match=message):
        kind.check("it", value)
