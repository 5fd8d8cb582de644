import numpy as np
import pytest
import scipy.sparse as sp
from fmfkit_schedulers.conflict import BoundedConflict, ConflictFree, first_fit
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fmfkit import Problem, fit, solvers

VALUES = st.sampled_from([np.nan, np.nan, np.nan, 1.0, 1.0, -1.0, 0.5, 3.0, 0.1, 0.0])


def features_of(matrix, dtype="float32"):
    """Lay a matrix out as features; NaN stands for values that are not stored, 0 for zeros that are."""
    row, column = np.nonzero(~np.isnan(matrix))
    given = {"x": sp.csr_array((matrix[row, column], (row, column)), shape=matrix.shape)}
    return Problem.from_coo([0], [0], [1.0], shape=(matrix.shape[0], 1), rank=1, X=given, dtype=dtype).X


def dense(features):
    parts = features.values_by_column(), features.col_index, features.col_ptr
    return np.abs(sp.csc_array(parts, shape=(features.rows, features.cols)).toarray()).astype(float)


def within(size, bound):
    """Tell whether each row's sum is at most bound times the least of its values, zeros left aside."""
    least = np.where(size > 0, size, np.inf).min(axis=1, initial=np.inf)
    return (size.sum(axis=1) <= bound * least * (1 + 1e-12)).all()


def plain_first_fit(size, order, bound):
    """Return what first_fit promises, in a few slow lines."""
    sets = []
    for feature in order:
        for members in sets:
            if within(size[:, [*members, feature]], bound):
                members.append(feature)
                break
        else:
            sets.append([feature])
    set_of = np.empty(len(order), int)
    for k, members in enumerate(sets):
        set_of[members] = k
    return set_of


@st.composite
def problems(draw):
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 14))
    matrix = draw(arrays(np.float64, shape, elements=VALUES, fill=st.nothing()))
    order = np.array(draw(st.permutations(range(shape[1]))))
    return features_of(matrix, draw(st.sampled_from(["float32", "float64"]))), order


@settings(deadline=None, derandomize=True)
@given(problems(), st.sampled_from([1.0, 1.5, 2.0, 4.0, 100.0]))
def test_sets_are_those_of_the_plain_first_fit(problem, bound):
    features, order = problem
    found = first_fit(features, order, bound)
    np.testing.assert_array_equal(found, plain_first_fit(dense(features), order, bound))


@pytest.mark.parametrize("bound", [1.0, 3.0])
def test_hundreds_of_sets_are_those_of_the_plain_first_fit(bound):
    rng = np.random.default_rng(0)
    features = features_of(rng.choice([np.nan, 1.0, 0.8, 0.5], (8, 300)))
    order = rng.permutation(300)
    found = first_fit(features, order, bound)
    assert found.max() > 64
    np.testing.assert_array_equal(found, plain_first_fit(dense(features), order, bound))


@settings(deadline=None, derandomize=True)
@given(problems(), st.sampled_from([1.0, 2.5, 4.0]), st.integers(0, 3))
def test_every_feature_is_in_one_set_and_every_set_within_the_bound(problem, bound, seed):
    features, _ = problem
    partition = BoundedConflict(bound).partition(features, 0, np.random.default_rng(seed))
    assert sorted(partition.order) == list(range(features.cols))
    assert all(len(members) and within(dense(features)[:, members], bound) for members in partition.sets)


def test_a_bound_of_four_lets_four_equal_values_meet():
    partition = BoundedConflict(4.0).partition(features_of(np.ones((3, 8))), 0, np.random.default_rng(0))
    assert [len(members) for members in partition.sets] == [4, 4]


def test_equal_features_fall_to_other_sets_in_other_rounds():
    features = features_of(np.ones((3, 8)))
    drawn = {tuple(ConflictFree().partition(features, 0, np.random.default_rng(seed)).order) for seed in range(5)}
    assert len(drawn) == 5


@pytest.mark.parametrize(("scheduler", "promise"), [(BoundedConflict(4.0), 0.25), (ConflictFree(), 1.0)])
def test_eta_is_never_below_what_the_bound_promises(scheduler, promise):
    rng = np.random.default_rng(0)
    i, j = np.divmod(rng.choice(300 * 40, 3000, replace=False), 40)
    words = sp.random_array((300, 60), density=4 / 60, rng=rng, data_sampler=lambda size: rng.normal(size=size))
    problem = Problem.from_coo(i, j, rng.normal(size=3000), shape=(300, 40), rank=2, X={"words": words})
    model = fit(problem, solver=solvers.PL2M(scheduler=scheduler), rounds=3)
    assert min(record.eta.minimum for record in model.history[1:]) >= promise * (1 - 1e-6)
