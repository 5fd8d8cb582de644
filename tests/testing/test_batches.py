"""What is said of elements must not depend on the batch."""

import numpy as np
import pytest

from fmfkit import testing
from fmfkit.testing import batches

GIVEN = {"x": np.linspace(-3, 3, 2000), "w": np.linspace(5, 1, 2000)}


def test_functions_of_each_element_pass():
    batches.same_in_any_batch("it", lambda x, w: np.sin(x) * w, GIVEN)
    batches.remembers_nothing({"it": lambda x, w: np.sin(x) * w}, GIVEN, {"x": GIVEN["w"], "w": GIVEN["x"]})


@pytest.mark.parametrize("least", [0, 100_000, 1_000_000])
def test_what_depends_on_the_rest_of_the_batch_fails(least):
    with pytest.raises(testing.ConformanceError, match="it is another"):
        batches.same_in_any_batch("it", lambda x, w: x + (1e-6 * w.mean() if w.size > least else 0), GIVEN)


def test_what_is_kept_for_a_shape_fails():
    kept = {}

    def cached(x, w):
        return kept.setdefault(x.shape, x + w)

    with pytest.raises(testing.ConformanceError, match="it is another after it of other numbers"):
        batches.remembers_nothing({"it": cached}, GIVEN, {"x": GIVEN["w"], "w": 2 * GIVEN["x"]})
