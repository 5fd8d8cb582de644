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


class Heard:
    """A callback that writes down what it is called with."""

    def __init__(self):
        self.moments = []

    def __call__(self, event):
        self.moments.append((event.moment, event.record.round, event.stopped))

    def end(self, event):
        self(event)
        self.score = event.model().score(0, 0)


def test_callbacks_can_tell_the_start_rounds_and_the_end():
    heard, called = Heard(), []
    model = fit(Case().build(), rounds=2, callbacks=[heard, lambda event: called.append(event.moment)])
    assert heard.moments == [("start", 0, None), ("round", 1, None), ("round", 2, None), ("end", 2, None)]
    assert called == ["start", "round", "round"]  # a plain function has no end
    assert heard.score == model.score(0, 0)


def test_the_end_says_why():
    heard = Heard()
    fit(Case().build(), rounds=5, callbacks=[heard, lambda event: event.record.round == 1 and event.stop("enough")])
    assert heard.moments[-1] == ("end", 1, "enough")
