"""Recipes and searches that go on from a checkpoint end in the same bits as those that were not stopped."""

import attrs
import numpy as np
import pytest
from bookshop import clicks, readers_and_books

from fmfkit import FMF, Dataset, Recipe, Recommender, callbacks
from fmfkit.errors import CheckpointError


class KilledError(Exception):
    pass


@attrs.define(eq=False)
class Mortal(callbacks.Checkpoint):
    """A checkpoint that a process dies with, before or after it is kept, or that is asked to stop."""

    moment: int = -1
    how: str = "before"
    count: int = 0

    def __call__(self, event):
        self.count += event.moment == "round"
        if self.count == self.moment and self.how == "before":
            raise KilledError
        if self.count == self.moment and self.how == "stop":
            self.stop()
        callbacks.Checkpoint.__call__(self, event)
        if self.count == self.moment and self.how == "after":
            raise KilledError


RATINGS = {
    "refit": Recipe(settings=FMF(rank=4, rounds=6), test=0.1),
    "early stop": Recipe(settings=FMF(rank=4, l2=1e-4, patience=1, rounds=30)),
    "tune": Recipe(settings=FMF(rank=3, l2=0.1, rounds=4, patience=2), tune=5),
    "tune learnt": Recipe(settings=FMF(rank=3, rounds=13), tune=3),
    "sampler": Recipe(settings=FMF(rank=3, rounds=16, solver="gibbs:keep=2")),
    "sgd": Recipe(settings=FMF(rank=4, l2=0.1, rounds=5, solver="sgd", threads=1)),
}
POSITIVES = {
    "sweep": Recipe(settings=FMF(rank=16, rounds=4), test=0.1),
    "sweep and tune": Recipe(settings=FMF(rank=16, rounds=3), tune=3),
    "fresh negatives": Recipe(
        settings=FMF(rank=4, loss="logistic", l2=0.05, negatives=2.0, negatives_fresh=True, rounds=8)
    ),
}


@pytest.fixture(scope="module")
def ratings():
    return readers_and_books()


@pytest.fixture(scope="module")
def clicked():
    return clicks()


def same(a, b):
    """Assert that two outcomes are the same, times apart."""
    for one, other in ((a.recommender.model, b.recommender.model),):
        strip = [[attrs.evolve(record, seconds=0.0) for record in model.history] for model in (one, other)]
        assert strip[0] == strip[1]
        assert one.stopped == other.stopped
        np.testing.assert_array_equal(one.P, other.P)
        np.testing.assert_array_equal(one.Q, other.Q)
        for sample, twin in zip(one.samples, other.samples, strict=True):
            np.testing.assert_array_equal(sample.P, twin.P)
    assert a.recommender.validation == b.recommender.validation
    assert a.recommender.settings == b.recommender.settings
    assert (a.metrics, a.tuned, a.refitted, a.held_out, a.tested) == (
        b.metrics,
        b.tuned,
        b.refitted,
        b.held_out,
        b.tested,
    )


def goes_on_alike(recipe, data, folder):
    """Kill a recipe at several moments, one after another in each of its lives; compare with one that lived."""
    counting = Mortal(folder / "whole", 1)
    whole = recipe.run(data, progress=False, callbacks=[counting])
    assert whole.tuned is None or len(whole.tuned.trials) == recipe.tune
    same(whole, recipe.run(data, progress=False))
    for n, how in enumerate(["before", "after", "stop"]):
        lives, outcome, interrupted = 0, None, True
        while interrupted:
            mortal = Mortal(folder / how, 1, resume=True, moment=max(2, counting.count // 4 - n), how=how)
            lives, interrupted = lives + 1, False
            try:
                outcome = recipe.run(data, progress=False, callbacks=[mortal])
            except (KilledError, KeyboardInterrupt):
                interrupted = True
            interrupted |= mortal.interrupted
        assert 3 < lives < 12
        same(whole, outcome)


@pytest.mark.parametrize("name", RATINGS)
def test_a_recipe_that_was_killed_or_stopped_goes_on_alike(tmp_path, ratings, name):
    goes_on_alike(RATINGS[name], ratings, tmp_path)


@pytest.mark.parametrize("name", POSITIVES)
def test_a_recipe_for_positives_goes_on_alike(tmp_path, clicked, name):
    goes_on_alike(POSITIVES[name], clicked, tmp_path)


def test_a_search_goes_on_at_its_trial(tmp_path, ratings):
    front, rounds = FMF(rank=3, l2=0.1, rounds=3, patience=3), []
    whole = front.tune(ratings, trials=6, progress=False)
    mortal = Mortal(tmp_path, 1, moment=11)
    with pytest.raises(KilledError):
        front.tune(ratings, trials=6, progress=False, callbacks=mortal)
    listed = [callbacks.Checkpoint(tmp_path, resume=True), lambda event: rounds.append(event.record.round)]
    assert front.tune(ratings, trials=6, progress=False, callbacks=listed) == whole
    assert rounds == [2, 3, *[0, 1, 2, 3] * 3]


def test_a_fit_that_goes_on_from_a_model_goes_on_alike(tmp_path, ratings):
    train, more = ratings.split_random(0.3)
    start = FMF(rank=4, rounds=2).fit(train)
    recipe = Recipe(settings=FMF(rounds=4), validate=0.0)
    whole = recipe.run(more, start=start, progress=False)
    with pytest.raises(KilledError):
        recipe.run(more, start=start, progress=False, callbacks=Mortal(tmp_path, 1, moment=3))
    start.save(tmp_path / "start")
    again = Recommender.load(tmp_path / "start")
    same(whole, recipe.run(more, start=again, progress=False, callbacks=[callbacks.Checkpoint(tmp_path, resume=True)]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": FMF(rank=3, rounds=3)}, "rank was 2 and is 3"),
        ({"settings": FMF(rank=2, rounds=3, seed=1)}, "seed was 0 and is 1"),
        ({"validate": 0.2}, "validate was 0.1 and is 0.2"),
        ({"test": 0.3}, "test was 0.0 and is 0.3"),
        ({"refit": False}, "refit was True and is False"),
        ({"tune": 2, "metric": "mae"}, "tune was 0 and is 2; metric was None and is 'mae'"),
    ],
)
def test_other_settings_are_refused_and_named(tmp_path, ratings, change, message):
    recipe = Recipe(settings=FMF(rank=2, rounds=3))
    with pytest.raises(KilledError):
        recipe.run(ratings, progress=False, callbacks=Mortal(tmp_path, 1, moment=2))
    with pytest.raises(CheckpointError, match=message):
        attrs.evolve(recipe, **change).run(ratings, callbacks=callbacks.Checkpoint(tmp_path, resume=True))


def table(**changes):
    users, items = np.divmod(np.arange(60), 6)
    pairs = {"user": users, "item": items, "rating": (users + items) % 5.0}
    books = {"item": np.arange(6), "genre": list("abcabc")}
    pairs["rating"][17] = changes.get("rating", pairs["rating"][17])
    pairs["user"][users == 3] = changes.get("user", 3)
    books["genre"][4] = changes.get("genre", "b")
    return Dataset.of(pairs, targets=books)


@pytest.mark.parametrize(
    ("change", "named"), [({"rating": 4.5}, "pairs"), ({"user": 77}, "queries"), ({"genre": "c"}, "targets")]
)
def test_other_data_is_refused_and_named(tmp_path, change, named):
    front = FMF(rank=2, rounds=3)
    front.fit(table(), callbacks=callbacks.Checkpoint(tmp_path))
    front.fit(table(), callbacks=callbacks.Checkpoint(tmp_path, resume=True))
    with pytest.raises(CheckpointError, match=rf"of something else: {named} differs\. Repeat"):
        front.fit(table(**change), callbacks=callbacks.Checkpoint(tmp_path, resume=True))


@pytest.mark.filterwarnings("ignore:no round was better")
def test_another_validation_part_is_refused(tmp_path):
    data = table()
    train, held_out = data.split_random(0.2)
    front = FMF(rank=2, rounds=3)
    front.fit(train, validate=held_out, callbacks=callbacks.Checkpoint(tmp_path))
    other = attrs.evolve(held_out, y=held_out.y + 1)
    with pytest.raises(CheckpointError, match="validate differs"):
        front.fit(train, validate=other, callbacks=callbacks.Checkpoint(tmp_path, resume=True))
