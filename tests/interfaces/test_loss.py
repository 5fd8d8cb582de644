"""Loss: what one needs to say, and what it need not."""

import numpy as np
import pytest
from numpy_plugins import PseudoHuber

from fmfkit import Loss


def test_value_gradient_and_curvature_must_be_said():
    assert Loss.__abstractmethods__ == {"value", "gradient", "curvature"}
    with pytest.raises(TypeError, match="abstract"):
        Loss()


def test_the_rest_has_defaults():
    loss, scores = PseudoHuber(), np.array([0.5, -1.0])
    assert loss.link(scores) is scores
    assert loss.offset(scores, None) == 0.0
    assert loss.check_y(np.array([-1e9, 1e9])) is None
    assert (loss.beta, loss.native, loss.calibrated, loss.metrics) == (None, None, False, ("rmse", "mae"))
