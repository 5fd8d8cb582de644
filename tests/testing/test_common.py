"""What several kinds of checks share."""

import attrs
import pytest

from fmfkit import losses, testing
from fmfkit.testing import common


@attrs.define
class Changing:
    """Equal to nothing, itself apart."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


def test_components_whose_copies_differ_or_whose_repr_says_nothing_fail():
    common.copies_are_equal(losses.Square())
    with pytest.raises(testing.ConformanceError, match=r"a copy made by copy\.copy is not equal to it"):
        common.copies_are_equal(Changing())
    with pytest.raises(testing.ConformanceError, match="its repr does not tell what it is"):
        common.copies_are_equal(Silent())


@attrs.frozen(repr=False)
class Silent:
    def __repr__(self):
        return "?"


def test_objectives_that_rise_by_more_than_rounding_fail():
    common.never_rises([3.0, 2.0, 2.0, 2.0 + 1e-15], "float64")
    with pytest.raises(testing.ConformanceError, match=r"the objective rises: round = 2, before = 2, after = 2.1"):
        common.never_rises([3.0, 2.0, 2.1], "float64")


def test_only_y_that_a_loss_takes_is_tried_on_it():
    assert common.accepted_y(losses.Logistic()).tolist() == [0.0, 1.0, 0.5, 0.25]
    assert len(common.accepted_y(losses.Square())) == len(common.CANDIDATES)
