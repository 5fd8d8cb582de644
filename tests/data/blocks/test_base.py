"""What all blocks share: names, normalisation, strengths."""

import numpy as np
import pytest
from bookshop import BOOKS, dense

from fmfkit.data import (
    Tags,
    Text,
)


def test_rows_are_normalised_by_their_number_or_their_length():
    _, root = dense(Tags("genres", normalise="root"), BOOKS)
    np.testing.assert_allclose(root[0], [0.5**0.5, 0.5**0.5, 0])
    _, unit = dense(Text("title", normalise="rows"), {"title": ["a a b"]})
    np.testing.assert_allclose(unit, [[2 / 5**0.5, 1 / 5**0.5]], rtol=1e-6)


def test_a_block_is_called_like_its_column_unless_it_has_a_name():
    assert Tags("genres").title == "genres"
    assert Tags("genres", name="kinds").title == "kinds"
    assert Tags("genres", name="kinds").columns == ("genres",)


@pytest.mark.parametrize("options", [{"strength": -1}, {"normalise": "columns"}, {"at_least": 0}])
def test_senseless_options_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Tags("genres", **options)
