"""Arrays and matrices that callers give are checked, and blamed by name."""

import numpy as np
import pytest
import scipy.sparse as sp
from small_problem import Y, build

from fmfkit import Problem

BAD = [
    ({"y": [1.0, float("nan"), 2.0]}, ValueError, "y: 1 of 3 values are NaN.*first at position 1"),
    ({"y": [1.0, float("inf"), 2.0]}, ValueError, "y: 1 of 3 values are NaN, infinite"),
    ({"y": [1.0, 1e300, 2.0]}, ValueError, "too large for float32"),
    ({"y": [1.0, 2.0]}, ValueError, "y: 2 entries for 3 queries"),
    ({"y": ["a", "b", "c"]}, TypeError, "y: expected real numbers"),
    ({"y": [[1.0, 2.0, 3.0]]}, ValueError, r"y: expected a flat array, got shape \(1, 3\)"),
    ({"queries": [], "targets": [], "y": []}, ValueError, "there is no observation"),
    ({"queries": [0.0, 1.0, 1.0]}, TypeError, "queries: expected whole numbers"),
    ({"queries": [0, -1, 1]}, ValueError, "queries: index -1 is out of range"),
    ({"targets": [0, 2]}, ValueError, "targets: 2 entries for 3 queries"),
    ({"shape": (2, 2)}, ValueError, "targets: index 2 is out of range for 2 targets"),
    ({"shape": (2**31, 3)}, ValueError, "queries: 2147483648 is more than the 2147483647"),
    ({"shape": (2, 2**31)}, ValueError, "targets: 2147483648 is more than"),
    ({"X": sp.csr_array((2, 2**31))}, ValueError, "columns of X: 2147483648 is more than"),
    ({"weight": [1.0, -1.0, 1.0]}, ValueError, "weight: expected no negative weight, got -1.0 at position 1"),
    ({"weight": [1.0, 1.0]}, ValueError, "weight: 2 entries for 3 queries"),
    ({"weight": [1.0, float("nan"), 1.0]}, ValueError, "weight: 1 of 3 values"),
    ({"X": np.eye(3), "shape": (2, 3)}, ValueError, "X: 3 rows for 2 queries"),
    ({"Z": np.eye(2)}, ValueError, "targets: index 2 is out of range for 2 targets"),
    ({"X": np.array([[np.nan, 1], [0, 1]])}, ValueError, "X: 1 of 3 values are NaN"),
    ({"X": {"a": np.eye(2), "b": np.array([[np.inf], [0]])}}, ValueError, r"X\['b'\]: 1 of 1 values"),
    ({"X": {"a": np.eye(2), "b": np.eye(3)}}, ValueError, "blocks differ in their numbers of rows: {'a': 2, 'b': 3}"),
    ({"X": {}}, ValueError, "X: the mapping of feature blocks is empty"),
    ({"X": [[1, 0], [0, 1]]}, TypeError, "X: expected a scipy sparse matrix or a 2-d array, got list"),
    ({"X": np.array([["a"], ["b"]])}, TypeError, "X: expected real numbers"),
    ({"X": np.array([[1e300], [0]])}, ValueError, "X: .*too large for float32"),
    ({"dtype": "int32"}, ValueError, "dtype: expected float32 or float64, got int32"),
    ({"y": np.ma.masked_less([1.0, 2.0, 3.0], 2)}, ValueError, "y: some values are masked"),
    ({"X": sp.coo_array((2**31, 2))}, ValueError, "rows of X: 2147483648 is more than"),
    ({"X": np.ones(3)}, ValueError, r"X: expected two dimensions, got shape \(3,\)"),
]


@pytest.mark.parametrize(("changes", "error", "message"), BAD)
def test_bad_input_is_refused_with_the_argument_s_name(changes, error, message):
    with pytest.raises(error, match=message):
        build(**changes)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (np.eye(2), TypeError, "Y: expected a scipy sparse matrix .* got ndarray"),
        (None, TypeError, "Y: expected a scipy sparse matrix .* got NoneType"),
    ],
)
def test_y_must_be_sparse(given, error, message):
    with pytest.raises(error, match=message):
        Problem.from_scipy(given, rank=1)


def test_malformed_index_arrays_are_refused():
    X = sp.csr_array(np.eye(2))
    X.indices[1] = 10_000_000
    with pytest.raises(ValueError, match="X: malformed sparse matrix"):
        build(X=X)
    coordinates = sp.coo_array(np.eye(2))
    coordinates.coords[0][1] = 10_000_000
    with pytest.raises(ValueError, match="X: malformed sparse matrix: indices from 0 to 10000000 for a size of 2"):
        build(X=coordinates)
    bad = Y.copy()
    bad.indices[0] = 99
    with pytest.raises(ValueError, match="Y: malformed sparse matrix"):
        Problem.from_scipy(bad, rank=1)


def test_values_of_a_matrix_are_blamed_on_the_matrix():
    bad = Y.copy()
    bad.data[0] = np.nan
    with pytest.raises(ValueError, match="Y: 1 of 3 values are NaN"):
        Problem.from_scipy(bad, rank=1)


def test_every_index_dtype_and_every_sparse_format_will_do():
    for dtype in ("int8", "uint16", "int64"):
        assert build(queries=np.array([0, 0, 1], dtype)).pairs == 3
    for kind in ("csr", "csc", "coo", "lil", "dok", "bsr"):
        assert Problem.from_scipy(Y.asformat(kind), rank=1).pairs == 3


@pytest.mark.parametrize("last", [-1, 0, 1])
def test_rows_that_end_before_they_begin_are_refused(last):
    X = sp.csr_array(np.ones((2, 2)))
    X.indptr[-1] = last  # -1 passes all of scipy's checks
    with pytest.raises(ValueError, match="X: malformed sparse matrix: its rows or columns end before they begin"):
        build(X=X)
