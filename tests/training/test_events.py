"""What a callback sees."""

import numpy as np
from problems import Case

from fmfkit import fit


def test_the_model_of_an_event_is_that_of_the_round():
    scores = []
    fit(Case().build(), rounds=2, callbacks=lambda event: scores.append(event.model().score([0, 1], [0, 1]).copy()))
    for rounds in (1, 2):
        np.testing.assert_array_equal(scores[rounds], fit(Case().build(), rounds=rounds).score([0, 1], [0, 1]))


def test_the_first_reason_to_stop_counts():
    def twice(event):
        event.stop("first")
        event.stop("second")

    assert fit(Case().build(), rounds=3, callbacks=twice).stopped == "first"


def test_the_last_round_is_counted_from_the_start():
    seen = []
    start = fit(Case().build(), rounds=2)
    fit(Case().build(), rounds=3, init=start, callbacks=lambda event: seen.append((event.rounds, event.last)))
    assert set(seen) == {(3, 5)}
