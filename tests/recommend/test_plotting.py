"""Rounds are drawn by matplotlib."""

import numpy as np
import pytest


def test_convergence_is_plotted(trained):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = trained.plot()
    (line,) = ax.lines
    np.testing.assert_allclose(line.get_ydata(), [record.objective for record in trained.model.history])
    other = next(axes for axes in ax.figure.axes if axes is not ax)
    np.testing.assert_allclose(other.lines[0].get_ydata(), trained.validation)
    matplotlib.pyplot.close("all")
