"""A model of a shelf with hostile titles."""

import pytest
from shelf import shelf, trained_on


@pytest.fixture(scope="session")
def shelved():
    """A model, its training pairs, and pairs that were held out."""
    return trained_on(shelf())
