"""Generated tables: the same for the same seed, of the sizes asked for, and such that features help."""

import pytest

from fmfkit import FMF, Dataset, Recipe, examples

MADE = [examples.ratings, examples.clicks, examples.tags, examples.affinities]


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_a_seed_decides_the_tables(make):
    assert all(one.equals(other) for one, other in zip(make(seed=3), make(seed=3), strict=True))
    assert not make(seed=3)[0].equals(make(seed=4)[0])


def test_tables_have_the_sizes_asked_for():
    ratings, readers, books = examples.ratings(readers=50, books=40, pairs=500)
    assert (len(readers), len(books)) == (50, 40)
    assert 300 < len(ratings) <= 500
    assert ratings["book"].max() < 36  # the last tenth has no ratings
    clicks, items = examples.clicks(users=20, items=10, pairs=70)
    assert (len(clicks), len(items)) == (70, 10)
    tagged, images = examples.tags(images=30, tags=5)
    assert len(images) == 30
    assert tagged["tag"].n_unique() <= 5
    affinities, drugs, proteins = examples.affinities(drugs=40, proteins=12, share=0.5)
    assert (len(drugs), len(proteins)) == (40, 12)
    assert 0.4 < len(affinities) / 480 < 0.6


def test_features_say_something_of_ratings_of_new_books():
    ratings, readers, books = examples.ratings()
    train, test = Dataset.of(ratings, queries=readers, targets=books).split_cold("target", 0.2)
    assert FMF(rank=8).fit(train).compare(test).gain > 0.1


def test_clicks_follow_tastes_and_not_popularity_alone():
    outcome = Recipe(settings=FMF(rank=16), test=0.1).run(Dataset.of(examples.clicks()[0]))
    assert outcome.tested.gain > 0.3
