"""What is known of a round."""

import numpy as np
from problems import Case

from fmfkit import Quantiles, fit, schedulers, solvers


def test_quantiles_are_those_of_the_values_and_none_have_none():
    assert Quantiles.of(np.array([5.0, 1, 2, 3, 4])) == Quantiles(1, 2, 3, 4, 5)
    assert Quantiles.of(np.zeros(0)) is None


def test_eta_is_reported_by_solvers_that_update_sets_and_is_a_share():
    alone, together = (
        fit(Case().build(), solver=solvers.PL2M(scheduler=schedulers.InOrder(size)), rounds=1).history[1].eta
        for size in (1, 19)
    )
    assert alone == Quantiles(1, 1, 1, 1, 1)  # a lone step is left whole
    assert 0 < together.minimum < together.maximum <= 1
    assert fit(Case().build(), solver="naive", rounds=1).history[1].eta is None
