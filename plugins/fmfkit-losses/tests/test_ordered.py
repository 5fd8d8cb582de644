"""The ordinal loss: probabilities, cut points that are learnt between rounds, and what it refuses."""

import itertools

import numpy as np
import pytest
from fmfkit_losses.ordered import OrderedProbit, Ordinal
from scipy.stats import truncnorm

from fmfkit import FMF, Dataset, LearntPenalty, Model, Problem, callbacks, fit


def planted(seed=0, cuts=(-3.0, -2.5, 0.0, 0.5), classes=(1, 2, 3, 4, 5), pairs=6000):
    rng = np.random.default_rng(seed)
    U, V = rng.normal(size=(200, 2)), rng.normal(size=(100, 2))
    i, j = np.divmod(rng.permutation(200 * 100)[:pairs], 100)
    latent = 1.5 * np.sum(U[i] * V[j], axis=1) + rng.logistic(size=pairs)
    return i, j, np.array(classes, float)[np.searchsorted(cuts, latent)]


BOTH = pytest.mark.parametrize("loss", [Ordinal(), OrderedProbit()], ids=repr)


@BOTH
def test_values_are_the_negative_logarithms_of_probabilities_that_sum_to_one(loss):
    score = np.linspace(-6, 6, 9)
    probabilities = [np.exp(-loss.value(score, np.full(9, float(k)))) for k in loss.classes]
    np.testing.assert_allclose(np.sum(probabilities, axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(loss.link(score), np.array(loss.classes) @ probabilities, rtol=1e-12)


@BOTH
def test_cut_points_are_learnt_between_rounds_and_the_objective_never_rises(loss):
    i, j, y = planted()
    model = fit(Problem.from_coo(i, j, y, rank=4, loss=loss, dtype="float64", offset=0.0), rounds=12)
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
    with pytest.raises(ValueError, match=r"y: the loss has the classes .* got 2.5"):
        Ordinal().check_y(np.array([1.0, 2.5]))
    with pytest.raises(ValueError, match="the loss has the classes"):
        Problem.from_coo(np.arange(99), np.zeros(99, int), np.arange(99.0), rank=1, loss="ordinal")


@BOTH
def test_newton_s_step_is_the_one_that_differences_give(loss):
    rng = np.random.default_rng(3)
    score, y, weight = rng.normal(size=50), rng.choice(loss.classes, 50), rng.random(50)
    cuts, h = np.array(loss.cuts), 1e-4

    def total(cuts):
        return float(weight @ type(loss)(loss.classes, cuts).value(score, y))

    eye = h * np.eye(len(cuts))
    slope = np.array([(total(cuts + e) - total(cuts - e)) / (2 * h) for e in eye])
    hessian = np.array(
        [[(total(cuts + a + b) - total(cuts + a - b) - total(cuts - a + b) + total(cuts - a - b)) / (4 * h * h)
          for b in eye] for a in eye]
    )  # fmt: skip
    np.testing.assert_allclose(loss._newton(score, y, weight), -np.linalg.solve(hessian, slope), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("score", [-8.0, -0.5, 0.0, 3.0, 9.0])
@pytest.mark.parametrize("y", [1.0, 3.0, 5.0])
def test_what_lies_behind_a_class_is_within_its_ends(score, y):
    loss, n = OrderedProbit(), 20_000
    z = loss.augmented(np.full(n, score), np.full(n, y), np.random.default_rng(0).random(n))
    low, high = [-np.inf, *loss.cuts][int(y) - 1], [*loss.cuts, np.inf][int(y) - 1]
    assert (z >= low - 1e-9).all()
    assert (z <= high + 1e-9).all()
    expected = truncnorm(low - score, high - score, loc=score)
    assert z.mean() == pytest.approx(expected.mean(), abs=6 * expected.std() / np.sqrt(n))


def test_stars_are_sampled_by_the_ordered_probit():
    i, j, y = planted(pairs=8000)
    train, test = Dataset.of({"user": i, "item": j, "rating": y}).split_random(0.2)
    sampled = FMF(rank=2, loss="ordered_probit", solver="gibbs").fit(train)
    assert sampled.model.state.mean.samples == 80
    assert sampled.evaluate(test)["mae"] < 0.8 * FMF(rank=2, l2=1e4).fit(train).evaluate(test)["mae"]


def test_cut_points_are_drawn_from_their_posterior():
    """Of one cut point the posterior is known on a grid."""
    rng = np.random.default_rng(0)
    score, y = rng.normal(size=12), np.array([1.0, 2.0] * 6)
    loss, drawn = OrderedProbit(classes=(1, 2), cuts=(0.4,)), []
    for _ in range(4000):
        loss = loss.drawn(score, y, rng)
        drawn.append(loss.cuts[0])
    grid = np.linspace(-4, 4, 801)
    log = np.array([-OrderedProbit(classes=(1, 2), cuts=(cut,)).value(score, y).sum() for cut in grid])
    density = np.exp(log - log.max()) / np.exp(log - log.max()).sum()
    mean = density @ grid
    deviation = np.sqrt(density @ (grid - mean) ** 2)
    assert np.mean(drawn) == pytest.approx(mean, abs=0.08 * deviation)
    assert np.std(drawn) == pytest.approx(deviation, rel=0.08)


def test_sampling_of_stars_goes_on_from_a_file_as_if_it_had_not_stopped(tmp_path):
    i, j, y = planted(pairs=600)
    problem = Problem.from_coo(i, j, y, rank=2, loss="ordered_probit", penalty=LearntPenalty(rounds=2))
    whole = fit(problem, solver="gibbs", rounds=7)
    fit(problem, solver="gibbs", rounds=4).save(tmp_path / "model")
    resumed = fit(problem, solver="gibbs", rounds=3, init=Model.load(tmp_path / "model"))
    assert whole.loss == resumed.loss
    np.testing.assert_array_equal(whole.P, resumed.P)


@BOTH
def test_going_on_with_classes_that_the_model_does_not_know_begins_with_those_of_the_data(loss):
    i, j, y = planted(pairs=600)
    few, more = (Problem.from_coo(i, j, stars, rank=2, loss=type(loss)()) for stars in (10 * np.minimum(y, 3), 10 * y))
    model = fit(more, rounds=2, init=fit(few, rounds=3))
    assert set(np.unique(10 * y)) <= set(model.loss.classes)
    assert np.isfinite(model.history[-1].objective)


@pytest.mark.parametrize(
    ("loss", "solver", "moment"),
    [
        (Ordinal(), "panel", 3),
        (OrderedProbit(), "panel", 1),
        (OrderedProbit(), "gibbs", 7),
        (OrderedProbit(), "gibbs", 4),
    ],
)
def test_cut_points_go_on_from_a_checkpoint_as_if_nothing_had_happened(tmp_path, loss, solver, moment):
    i, j, y = planted(pairs=2000)
    problem = Problem.from_coo(i, j, y, rank=2, loss=loss, penalty=LearntPenalty(rounds=4), offset=0.0)
    whole = fit(problem, solver=solver, rounds=9)

    def stop(event):
        if event.record.round == moment:
            checkpoint.stop()

    checkpoint = callbacks.Checkpoint(tmp_path, 1)
    assert fit(problem, solver=solver, rounds=9, callbacks=[stop, checkpoint]).stopped == "interrupted"
    model = fit(problem, solver=solver, rounds=9, callbacks=callbacks.Checkpoint(tmp_path, 1, resume=True))
    assert model.loss == whole.loss != loss
    np.testing.assert_array_equal(model.P, whole.P)
    assert [record.objective for record in model.history] == [record.objective for record in whole.history]


@BOTH
def test_a_model_of_the_best_round_has_the_cut_points_that_were_learnt(loss):
    i, j, y = planted(pairs=3000)
    trained = FMF(rank=2, loss=loss, l2=0.1, rounds=8).fit(
        Dataset.of({"user": i, "item": j, "rating": y}), validate=0.2
    )
    assert trained.model.loss == trained.model.state.loss
    widths = np.diff(trained.model.loss.cuts)
    assert widths[1] > 2 * widths[0]  # not those of the first guess
