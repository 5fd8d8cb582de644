"""What is asked of a section is there and of its kind, or it is said what is not."""

import numpy as np
import pytest

from fmfkit.sections import Section, check_ascending, check_rows

GOOD = {
    "whole": 3,
    "real": -0.5,
    "number": float("inf"),
    "flag": True,
    "text": "é",
    "text_or_none": None,
    "items": [1],
}
BAD = {
    "whole": [None, True, 3.0, "3", -1, 2**63],
    "real": [None, False, "1", float("nan"), float("inf"), 10**400],
    "number": [None, True, "inf", 10**400],
    "flag": [None, 0, "true"],
    "text": [None, 3, b"x", "\ud800", ["x"]],
    "text_or_none": [3, "\udfff"],
    "items": [None, "abc", {"a": 1}],
    "part": [None, [1], "x", {"\ud800": 1}],
    "parts": [None, {}, [3], [{}, None]],
}


@pytest.mark.parametrize("method", GOOD)
def test_what_is_as_expected_is_returned(method):
    assert getattr(Section({"it": GOOD[method]}, {}), method)("it") == GOOD[method]


@pytest.mark.parametrize(
    ("method", "value"),
    [(method, value) for method, bad in BAD.items() for value in bad],
    ids=lambda given: str(given)[:9],
)
def test_anything_else_is_refused_by_name(method, value):
    with pytest.raises(ValueError, match=r"^it"):
        getattr(Section({"it": value}, {}), method)("it")
    with pytest.raises(ValueError, match="it is missing"):
        getattr(Section({}, {}), method)("it")


def test_numbers_keep_to_their_bounds():
    section = Section({"n": 3, "x": 0.0}, {})
    with pytest.raises(ValueError, match="n: expected a whole number from 4 to 9, got 3"):
        section.whole("n", least=4, most=9)
    for bounds in ({"above": 0.0}, {"least": 0.1}):
        with pytest.raises(ValueError, match="x: expected a finite number"):
            section.real("x", **bounds)


def test_arrays_have_their_type_and_shape_and_finite_values():
    section = Section({}, {"a.x": np.ones((2, 3)), "a.bad": np.array([1.0, np.nan]), "b": np.zeros(0)})
    assert sorted(section.within("a.")) == ["bad", "x"]
    assert section.array("a.x", np.float64, (2, -1)).shape == (2, 3)
    assert section.array("b", np.float64, (-1,)).size == 0
    for dtype, shape in ((np.float32, (2, 3)), (np.float64, (3, 3)), (np.float64, (-1,))):
        with pytest.raises(ValueError, match=r"a\.x: expected"):
            section.array("a.x", dtype, shape)
    with pytest.raises(ValueError, match=r"a\.bad holds NaN or infinite values"):
        section.array("a.bad", np.float64, (2,))
    with pytest.raises(ValueError, match="the array c is missing"):
        section.array("c", np.float64, (1,))


def test_rows_must_be_rows_of_a_matrix():
    ptr, index = np.array([0, 2, 2, 3]), np.array([0, 4, 1], np.int32)
    check_rows("m", ptr, index, 5)
    check_ascending("m", ptr, index, ptr)
    for wrong in ([1, 2, 2, 3], [0, 2, 1, 3], [0, 2, 2, 4], [0, -1, 2, 3]):
        with pytest.raises(ValueError, match="m: the rows' ends do not run from 0 to 3"):
            check_rows("m", np.array(wrong), index, 5)
    for columns in ([0, 5, 1], [-1, 2, 1]):
        with pytest.raises(ValueError, match="m: columns run from"):
            check_rows("m", ptr, np.array(columns, np.int32), 5)
    for columns in ([4, 0, 1], [1, 1, 1]):
        with pytest.raises(ValueError, match="the columns of a row do not ascend"):
            check_ascending("m", ptr, np.array(columns, np.int32), ptr)
    check_ascending("m", ptr, np.array([4, 0, 1], np.int32), np.array([1]))
