import numpy as np
import pytest
from fmfkit_bench.components import losses
from fmfkit_bench.components.logistic import InNumba, InNumPy
from fmfkit_bench.data import shapes

from fmfkit import fit


def test_the_loss_has_the_slope_that_it_says():
    loss, s, y = InNumPy(), np.linspace(-3, 3, 7), np.array([0.0, 1, 0, 1, 0, 1, 0])
    slope = (loss.value(s + 1e-6, y) - loss.value(s - 1e-6, y)) / 2e-6
    np.testing.assert_allclose(loss.gradient(s, y), slope, atol=1e-6)


def test_numba_trains_as_the_built_in_loss_does():
    pytest.importorskip("numba")
    shape = shapes.generate("weibo", 0.0005)
    trained = [fit(losses.problem(shape, 4, loss), rounds=2, threads=1) for loss in ("logistic", InNumba())]
    built_in, compiled = (model.history[-1].objective for model in trained)
    assert compiled == pytest.approx(built_in, rel=1e-3)
