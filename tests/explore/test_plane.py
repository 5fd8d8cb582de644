"""Embeddings in two dimensions."""

import numpy as np
import pytest
from pages import Page

from fmfkit.explore.plane import MOST, Plane


def test_the_two_directions_are_those_of_the_largest_variance():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    plain = rng.normal(size=(400, 5)) * [0.1, 7.0, 0.1, 3.0, 0.1]
    plane = Plane.of((plain @ turn + 20).astype(np.float32), np.arange(400))
    assert list(plane.rows[:2]) == [399, 398]  # the most frequent first
    centred = plain - plain.mean(axis=0)
    for axis, column in enumerate((1, 3)):
        assert abs(np.corrcoef(plane.places[:, axis], centred[plane.rows, column])[0, 1]) > 0.99
    left, right = (np.linalg.svd(np.asarray(part), compute_uv=False) ** 2 for part in (plane.places, centred))
    assert plane.share == pytest.approx(left.sum() / right.sum(), rel=1e-5)


def test_a_large_map_shows_the_most_frequent_and_a_model_of_one_dimension_a_line():
    plane = Plane.of(np.random.default_rng(0).normal(size=(MOST + 9, 1)), np.arange(MOST + 9))
    assert len(plane.rows) == MOST
    assert (plane.places[:, 1] == 0).all()
    assert plane.share == pytest.approx(1)
    Plane.of(np.zeros((3, 2)), np.zeros(3, int)).drawn(str, str)  # all in one place


def test_names_do_not_lie_on_each_other():
    plane = Plane.of(np.random.default_rng(0).normal(size=(300, 2)), np.arange(300))
    page = Page(plane.drawn(lambda row: f"A name <{row}> that is far too long", lambda row: f"/target?row={row}"))
    texts = [(float(one["x"]), float(one["y"])) for one in page.all("text")]
    assert 5 < len(texts) <= 40
    for n, (x, y) in enumerate(texts):
        assert all(abs(y - b) > 14 or abs(x - a) > 150 for a, b in texts[:n])
    assert any("…" in word for word in page.words)
