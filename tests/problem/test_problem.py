import numpy as np
import pytest
import scipy.sparse as sp
from numpy_plugins import NumpySquare
from problems import Case

from fmfkit import Penalties, Penalty, Problem, losses
from fmfkit.errors import PluginContractError, UnknownNameError
from fmfkit.regularizers import ElasticNet
from fmfkit.solvers import reference

Y = sp.csr_array(np.array([[1.0, 0, 2], [0, 3, 0]]))
PAIRS = {"queries": [0, 0, 1], "targets": [0, 2, 1], "y": [1.0, 2.0, 3.0]}


def build(**changes):
    return Problem.from_coo(**{**PAIRS, "rank": 2, **changes})


def test_from_scipy_and_from_coo_give_the_same_pairs_in_both_orders():
    for problem in (Problem.from_scipy(Y, rank=2), build(queries=[1, 0, 0], targets=[1, 2, 0], y=[3, 2, 1])):
        by_query, by_target = problem.query.pairs, problem.target.pairs
        np.testing.assert_array_equal(by_query.ptr, [0, 2, 3])
        np.testing.assert_array_equal(by_query.other, [0, 2, 1])
        np.testing.assert_array_equal(by_query.y, [1, 2, 3])
        np.testing.assert_array_equal(by_target.ptr, [0, 1, 2, 3])
        np.testing.assert_array_equal(by_target.other, [0, 1, 0])
        np.testing.assert_array_equal(by_target.y, [1, 3, 2])
        assert by_query.ptr.dtype == by_target.ptr.dtype == np.int64
        assert by_query.other.dtype == by_target.other.dtype == np.int32


def test_explicit_zeros_are_observations():
    stored = sp.csr_array(([0.0, 5.0], ([0, 1], [1, 0])), shape=(2, 2))
    assert Problem.from_scipy(stored, rank=1).pairs == 2


def test_duplicates_are_refused_or_summed_with_their_weights():
    repeated = {"queries": [0, 1, 0], "targets": [1, 1, 1], "y": [2.0, 5.0, 3.0], "weight": [1.0, 1.0, 0.5]}
    with pytest.raises(
        ValueError, match=r"1 observations repeat a pair, such as query 0 with target 1.*duplicates='sum'"
    ):
        Problem.from_coo(**repeated, rank=1)
    problem = Problem.from_coo(**repeated, rank=1, duplicates="sum")
    np.testing.assert_array_equal(problem.query.pairs.y, [5, 5])
    np.testing.assert_array_equal(problem.query.pairs.weight, [1.5, 1])


def test_absent_features_are_indicators():
    problem = build()
    np.testing.assert_array_equal(reference.dense(problem.X), np.eye(2))
    np.testing.assert_array_equal(reference.dense(problem.Z), np.eye(3))


def test_feature_blocks_stand_side_by_side_under_their_names():
    problem = build(X={"id": sp.eye_array(2), "tags": np.array([[0.0, 2, 0], [1, 0, 0]])})
    assert dict(problem.X.blocks) == {"id": slice(0, 2), "tags": slice(2, 5)}
    np.testing.assert_array_equal(reference.dense(problem.X), [[1, 0, 0, 2, 0], [0, 1, 1, 0, 0]])


def test_the_caller_s_matrices_are_left_as_they_are():
    X = sp.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2)).tocsr(copy=True)
    unsorted = sp.csr_array((np.array([2.0, 1.0, 1.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    before = (unsorted.data.copy(), unsorted.indices.copy())
    assert build(X=unsorted).X.nonzeros == 2
    np.testing.assert_array_equal(unsorted.data, before[0])
    np.testing.assert_array_equal(unsorted.indices, before[1])
    assert build(X=X).X.nonzeros == 2


def test_offset_is_the_loss_s_unless_given():
    assert build().offset == 2.0
    assert build(y=[0, 1, 1], loss="logistic").offset == 0.0
    assert build(offset=0.5).offset == 0.5


def test_biases_are_on_unless_refused():
    assert (build().query_bias, build().target_bias) == (True, True)
    problem = build(query_bias=False)
    assert (problem.query_bias, problem.target_bias) == (False, True)


def test_observed_weights_are_kept_in_both_orders():
    problem = Problem.from_scipy(
        Y, rank=1, weight=sp.csr_array((np.array([1.0, 2, 3]), Y.indices, Y.indptr), shape=Y.shape)
    )
    np.testing.assert_array_equal(problem.query.pairs.weight, [1, 2, 3])
    np.testing.assert_array_equal(problem.target.pairs.weight, [1, 3, 2])
    np.testing.assert_array_equal(problem.query.pairs.totals, [3, 3])


def test_every_index_dtype_and_every_sparse_format_will_do():
    for dtype in ("int8", "uint16", "int64"):
        assert build(queries=np.array([0, 0, 1], dtype)).pairs == 3
    for kind in ("csr", "csc", "coo", "lil", "dok", "bsr"):
        assert Problem.from_scipy(Y.asformat(kind), rank=1).pairs == 3


def test_chunks_cover_all_rows_in_order():
    for case in (Case(), Case(queries=1, targets=1, pairs=1), Case(queries=300, targets=300, pairs=60_000)):
        for side in case.build().sides:
            assert side.pairs.chunk[0] == 0
            assert side.pairs.chunk[-1] == side.pairs.rows
            assert (np.diff(side.pairs.chunk) > 0).all()


def test_repr_tells_sizes_not_arrays():
    assert repr(build()) == "<Problem 2 queries x 3 targets, 3 pairs, 2 + 3 features, rank 2, Square(), float32>"


BAD = [
    ({"rank": 0}, ValueError, "rank: expected at least 1, got 0"),
    ({"rank": 2.5}, TypeError, "rank: expected a whole number, got 2.5"),
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
    ({"duplicates": "last"}, ValueError, "duplicates: expected 'error' or 'sum', got 'last'"),
    ({"offset": float("nan")}, ValueError, "offset: expected a number"),
    ({"loss": "sqare"}, UnknownNameError, "no loss is called 'sqare'; did you mean 'square'"),
    ({"loss": losses.Square}, TypeError, r"loss: expected a Loss .* write Square\(\)"),
    ({"penalty": "elasticnet"}, UnknownNameError, "did you mean 'elastic_net'"),
    ({"penalty": Penalty(strengths={"indicatr": 2})}, ValueError, "no feature block 'indicatr'.*'indicator'"),
    ({"rank": 2**70}, ValueError, "rank: expected at most 65536"),
    ({"offset": 1j}, ValueError, "offset: expected a number that float32 can hold"),
    ({"y": np.ma.masked_less([1.0, 2.0, 3.0], 2)}, ValueError, "y: some values are masked"),
    ({"X": sp.coo_array((2**31, 2))}, ValueError, "rows of X: 2147483648 is more than"),
    ({"penalty": ElasticNet(l2=1e39)}, ValueError, "the strength of feature 0 is too large for float32"),
    ({"shape": 5}, ValueError, r"shape: expected \(number of queries, number of targets\), got 5"),
    ({"shape": (2, 3, 4)}, ValueError, "shape: expected"),
    ({"offset": "a"}, ValueError, "offset: expected a number that float32 can hold, got 'a'"),
    ({"offset": 1e300}, ValueError, "offset: expected a number that float32 can hold, got 1e[+]300"),
    ({"X": np.ones(3)}, ValueError, r"X: expected two dimensions, got shape \(3,\)"),
    ({"X": np.full((2, 1), 1e25)}, ValueError, "the strength of feature 0 is too large for float32"),
    ({"loss": "logistic"}, ValueError, "logistic loss takes y between 0 and 1, got values from 1 to 3"),
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


def test_weights_must_lie_where_y_does():
    with pytest.raises(ValueError, match="weight: its 2 entries are not at the places of Y's 3"):
        Problem.from_scipy(Y, rank=1, weight=sp.csr_array(([1.0, 1.0], ([0, 1], [0, 1])), shape=Y.shape))
    with pytest.raises(ValueError, match="weight: shape"):
        Problem.from_scipy(Y, rank=1, weight=sp.csr_array((3, 3)))


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


def test_the_problem_shares_no_memory_with_the_caller_s_features():
    X = sp.csr_array(np.eye(2, dtype=np.float32))
    problem = build(X=X)
    X.data[:] = 7
    np.testing.assert_array_equal(reference.dense(problem.X), np.eye(2))


def test_duplicates_whose_sum_overflows_are_refused():
    twice = {"queries": [0, 0], "targets": [0, 0], "rank": 1, "duplicates": "sum"}
    with pytest.raises(ValueError, match="y: 1 of 1 values"):
        Problem.from_coo(**twice, y=[3e38, 3e38])
    with pytest.raises(ValueError, match="weight: 1 of 1 values"):
        Problem.from_coo(**twice, y=[1, 1], weight=[3e38, 3e38])
    X = sp.csr_array((np.array([3e38, 3e38, 1]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    with pytest.raises(ValueError, match="X: 1 of 2 values"):
        build(X=X, penalty=Penalty(scale="uniform"))


def test_small_weights_beside_huge_ones_keep_their_rows_totals():
    problem = Problem.from_coo([0, 1, 2], [0, 1, 2], [1, 2, 3], rank=1, weight=[1e20, 1, 1])
    np.testing.assert_array_equal(problem.query.factors.strength, np.array([1e20, 2, 2], np.float32))


def test_a_block_is_known_by_its_own_side_unless_both_share_the_regularizer():
    features = {"X": {"a": np.eye(2)}, "Z": {"b": np.eye(3)}}
    build(**features, penalty=Penalty(strengths={"a": 2, "b": 3}))
    with pytest.raises(ValueError, match=r"P has no feature block 'b'; there are \['a'\]"):
        build(**features, penalty=Penalties(P=Penalty(strengths={"b": 2})))


def test_growth_multiplies_the_strengths_of_later_dimensions_of_factors_alone():
    problem = build(rank=4, penalty=Penalty(growth=0.5))
    for side in problem.sides:
        np.testing.assert_allclose(side.factors.growth, [1, 2**0.5, 3**0.5, 2], rtol=1e-6)
        np.testing.assert_allclose(side.factors.strength_in(3), 2 * side.factors.strength)
        np.testing.assert_array_equal(side.bias.growth, [1])
    np.testing.assert_array_equal(build(rank=4).query.factors.growth, np.ones(4))


@pytest.mark.parametrize("growth", [-0.5, np.inf, np.nan])
def test_senseless_growth_is_refused(growth):
    with pytest.raises(ValueError, match="growth: expected a finite number of at least 0"):
        Penalty(growth=growth)


def test_growth_too_large_for_the_precision_is_refused():
    with pytest.raises(ValueError, match=r"too large for float32: .* lower l1, l2 and growth"):
        build(rank=64, penalty=Penalty(growth=30))


class WrongShape(NumpySquare):
    def gradient(self, score, y):
        return np.zeros((len(y), 2))


class NotNumbers(NumpySquare):
    def value(self, score, y):
        return np.array(["x"] * len(y))


class Nan(NumpySquare):
    def gradient(self, score, y):
        return np.full_like(y, np.nan)


class Concave(NumpySquare):
    def curvature(self, score, y):
        return -2.0


class InPlace(NumpySquare):
    def gradient(self, score, y):
        score -= y
        return 2 * score


class Ragged(NumpySquare):
    def gradient(self, score, y):
        return [[1.0], [2.0, 3.0], []]


class OneNumber(NumpySquare):
    def gradient(self, score, y):
        return 0.0


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (WrongShape(), r"WrongShape.gradient returned shape \(3, 2\) for a batch of shape \(3,\)"),
        (OneNumber(), r"OneNumber.gradient returned shape \(\) for a batch of shape \(3,\)"),
        (NotNumbers(), "NotNumbers.value returned <U1, expected real numbers"),
        (Ragged(), r"Ragged.gradient returned shape \(\) for a batch"),
        (Nan(), "Nan.gradient returned NaN or infinite values"),
        (Concave(), "Concave.curvature returned -2.0, expected no negative curvature"),
    ],
)
def test_a_loss_that_breaks_its_interface_is_refused_before_any_work(loss, message):
    with pytest.raises(PluginContractError, match=message):
        build(loss=loss)


def test_a_loss_cannot_write_to_what_it_is_given():
    with pytest.raises(ValueError, match="read-only"):
        build(loss=InPlace())


def test_values_that_are_one_per_row_are_left_out_and_come_back():
    tags = np.array([[0, 2.0, 2, 0], [3, 3, 0, 3], [0, 0, 0, 0.5]])
    problem = build(X={"id": 7 * np.eye(3), "tags": tags}, queries=[0, 1, 2], targets=[0, 1, 2], y=[1, 2, 3])
    X = problem.X
    assert X.row_value is None
    assert X.col_value is None
    np.testing.assert_array_equal(X.row_scale, [2, 3, 0.5])
    np.testing.assert_array_equal(X.own, [0, 1, 2])
    np.testing.assert_array_equal(X.own_value, [7, 7, 7])
    whole = sp.csr_array((X.values_by_row(), X.row_index, X.row_ptr), shape=(3, 7)).toarray()
    np.testing.assert_array_equal(whole, np.hstack([7 * np.eye(3), tags]))
    by_column = sp.csc_array((X.values_by_column(), X.col_index, X.col_ptr), shape=(3, 7)).toarray()
    np.testing.assert_array_equal(by_column, whole)


def test_values_that_differ_within_a_row_are_kept():
    X = build(X=np.array([[1.0, 2, 0], [1, 1, 1]]), queries=[0, 1], targets=[0, 1], y=[1, 2]).X
    assert X.row_scale is None
    np.testing.assert_array_equal(X.values_by_row(), [1, 2, 1, 1, 1])
