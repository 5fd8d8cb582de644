"""What a report says of the data and of the training."""

import numpy as np
import pytest

from fmfkit.report.trained import BINS, _edges


@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5], [0.5, 1.0, 3.0, 5.0], [0, 1], [-2.5, 7.5]])
def test_each_of_few_ratings_has_a_bar_of_its_own(values):
    edges = _edges(np.array(values * 3, float))
    counts, _ = np.histogram(values, edges)
    assert sorted(counts[counts > 0]) == [1] * len(values)
    assert len(edges) <= BINS + 2


@pytest.mark.parametrize("values", [np.linspace(0, 1, 500), [1, 1 + 1e-9, 5], np.geomspace(1e-9, 1e9, 12)])
def test_ratings_that_are_many_or_close_share_bars(values):
    edges = _edges(np.array(values))
    assert len(edges) == BINS + 1
    assert np.histogram(values, edges)[0].sum() == len(values)
