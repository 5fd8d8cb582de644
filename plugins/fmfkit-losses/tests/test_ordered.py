"""The ordinal loss: probabilities, cut points that are learnt between rounds, and what it refuses."""

import itertools

import numpy as np
import pytest
from fmfkit_losses.ordered import Ordinal

from fmfkit import FMF, Dataset, LearntPenalty, Model, Problem, fit


def planted(seed=0, cuts=(-3.0, -2.5, 0.0, 0.5), classes=(1, 2, 3, 4, 5), pairs=6000):
    rng = np.random.default_rng(seed)
    U, V = rng.normal(size=(200, 2)), rng.normal(size=(100, 2))
    i, j = np.divmod(rng.permutation(200 * 100)[:pairs], 100)
    latent = 1.5 * np.sum(U[i] * V[j], axis=1) + rng.logistic(size=pairs)
    return i, j, np.array(classes, float)[np.searchsorted(cuts, latent)]


def test_values_are_the_negative_logarithms_of_probabilities_that_sum_to_one():
    loss = Ordinal()
    score = np.linspace(-6, 6, 9)
    probabilities = [np.exp(-loss.value(score, np.full(9, float(k)))) for k in loss.classes]
    np.testing.assert_allclose(np.sum(probabilities, axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(loss.link(score), np.array(loss.classes) @ probabilities, rtol=1e-12)


def test_cut_points_are_learnt_between_rounds_and_the_objective_never_rises():
    i, j, y = planted()
    model = fit(Problem.from_coo(i, j, y, rank=4, loss="ordinal", dtype="float64", offset=0.0), rounds=12)
    objectives = [record.objective for record in model.history]
    assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(objectives)), objectives
    widths = np.diff(model.loss.cuts)
    assert widths[1] > 3 * widths[0]  # the second class is narrow, the third is wide
    assert widths[1] > 3 * widths[2]


def test_learnt_cut_points_are_the_best_for_given_scores():
    rng = np.random.default_rng(1)
    score = 2 * rng.normal(size=3000)
    y = np.array([1.0, 2.0, 4.0])[np.searchsorted([-1.0, 0.5], score + rng.logistic(size=3000))]
    found = Ordinal((1, 2, 4), (-0.1, 0.1)).learnt(score, y, None)
    np.testing.assert_allclose(found.cuts, [-1.0, 0.5], atol=0.2)
    best = found.value(score, y).sum()
    for change in ([0.01, 0], [0, 0.01], [-0.01, 0.01]):
        other = Ordinal((1, 2, 4), np.array(found.cuts) + change)
        assert other.value(score, y).sum() > best


def test_weights_count():
    y = planted()[2]
    score = np.random.default_rng(2).normal(size=len(y))
    weight = (np.arange(len(y)) % 2).astype(float)
    heavy = Ordinal().learnt(score, y, weight)
    half = Ordinal().learnt(score[weight > 0], y[weight > 0], None)
    np.testing.assert_allclose(heavy.cuts, half.cuts, rtol=1e-6)


def test_the_classes_are_found_from_y():
    i, j, y = planted(classes=(0.5, 1, 1.5, 3, 9))
    problem = Problem.from_coo(i, j, y, rank=2, loss="ordinal")
    assert problem.loss.classes == (0.5, 1, 1.5, 3, 9)
    assert problem.loss.cuts == tuple(sorted(problem.loss.cuts))


@pytest.mark.parametrize("options", [{}, {"l2": 0.1}])
def test_stars_of_unequal_width_are_predicted_better_than_by_the_square_loss(options):
    i, j, y = planted(pairs=8000)
    train, test = Dataset.of({"user": i, "item": j, "rating": y}).split_random(0.2)
    ordinal, square = (FMF(rank=4, loss=loss, **options).fit(train) for loss in ("ordinal", "square"))
    assert ordinal.evaluate(test, "mae")["mae"] < square.evaluate(test, "mae")["mae"]


def test_cut_points_come_back_from_a_file(tmp_path):
    i, j, y = planted()
    model = fit(Problem.from_coo(i, j, y, rank=2, loss="ordinal", penalty=LearntPenalty()), rounds=4)
    model.save(tmp_path / "model")
    assert Model.load(tmp_path / "model").loss == model.loss


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": (1,)}, "classes"),
        ({"classes": (1, 1, 2), "cuts": (0, 1)}, "classes: expected finite numbers, each above"),
        ({"cuts": (0, 1, 2)}, "cuts: expected 4 for 5 classes"),
        ({"cuts": (3, 1, 2, 0)}, "cuts: expected finite numbers, each above"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Ordinal(**options)


def test_y_that_is_no_class_is_refused():
    with pytest.raises(ValueError, match=r"y: the ordinal loss has the classes .* got 2.5"):
        Ordinal().check_y(np.array([1.0, 2.5]))
    with pytest.raises(ValueError, match="the ordinal loss has the classes"):
        Problem.from_coo(np.arange(99), np.zeros(99, int), np.arange(99.0), rank=1, loss="ordinal")
