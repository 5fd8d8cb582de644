"""Recommendations and why, as HTML."""

import pytest
from pages import Page

from fmfkit.model.answers import Contribution, Explanation
from fmfkit.report.answers import contribution_table, known_of, reasons, score_table


@pytest.fixture
def found():
    genre = [Contribution("genres", 0, 1.0, adds, "sea") for adds in (0.2, 0.3)]
    own = Contribution("indicator", 3, 1.0, -0.1, "b3")
    reader = Contribution("indicator", 0, 1.0, 0.2, "ann")
    return Explanation(
        4.0, 3.4, (Contribution("indicator", 0, 1.0, 0.1, "ann"),), (genre[1], own), (reader,), (genre[0],)
    )


def test_what_raises_a_score_is_summed_over_bias_and_match(found):
    assert reasons(found) == "genres: sea +0.50"
    assert reasons(Explanation(1.0, 1.0, (), (), (), ())) == "nothing raises its score"


def test_a_score_is_the_sum_of_its_parts(found):
    words = Page(score_table(found)).words
    assert [word for word in words if word[0] in "+-"] == ["+3.400", "+0.100", "+0.200", "+0.200"]
    assert words[-1] == "4.000"


def test_many_contributions_are_summed_up():
    listed = [Contribution("words", n, 1.0, 1.0 / (n + 1), f"<w{n}>") for n in range(20)]
    page = Page(contribution_table("Words", listed))
    assert "12 others" in page.words
    assert f"+{sum(1 / n for n in range(9, 21)):.3f}" in page.words
    assert "words: <w0>" in page.words


def test_the_best_training_pairs_come_first(shelved):
    trained = shelved[0]
    known = known_of(trained, 3, 4)
    ratings = sorted(trained.seen[[3]].data, reverse=True)
    assert [one.y for one in known] == ratings[:4]
    assert known[0].label == trained.encoder.targets.labels[known[0].target]
