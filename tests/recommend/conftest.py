"""A data set of readers and books, and a model of it."""

import pytest
from bookshop import liked, readers_and_books

from fmfkit import FMF


@pytest.fixture(scope="session")
def data():
    """Ratings of readers who like genres; some books nobody has read."""
    return readers_and_books()


@pytest.fixture(scope="session")
def trained(data):
    """A model of four fifths of the data."""
    train, _ = data.split_random(0.2)
    return FMF(rank=8, l2=0.1, rounds=15).fit(train, validate=0.1)


@pytest.fixture(scope="session")
def positives(data):
    """What readers liked, without ratings."""
    return liked(data)
