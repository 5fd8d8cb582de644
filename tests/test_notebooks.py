"""What notebooks show is short, complete HTML, and text in it stays text."""

from html.parser import HTMLParser

import pytest
from bookshop import BOOKS, build

from fmfkit import FMF, Recipe
from fmfkit.notebooks import columns_table, facts_table

HOSTILE = "<script>alert('x')</script>"


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def shown():
    pairs = {"user": [1, 1, 2, 2, 3, 3], HOSTILE: [3, 5, 5, 7, 7, 3], "rating": [1.0, 2, 3, 4, 5, 2]}
    books = BOOKS | {HOSTILE: BOOKS["book"]}
    data = build(pairs=pairs, targets={name: books[name] for name in (HOSTILE, "title", "year")})
    outcome = Recipe(settings=FMF(rank=1, rounds=2, l2=0.1), validate=0).run(data, progress=False)
    return {"a data set": data, "a report": data.report(), "an outcome": outcome, "a recommender": outcome.recommender}


@pytest.mark.parametrize("what", ["a data set", "a report", "an outcome", "a recommender"])
def test_what_is_shown_in_notebooks_is_a_table(what):
    page = shown()[what]._repr_html_()
    tags = Tags(page).seen
    assert tags[0] == "table"
    assert set(tags) <= {"table", "caption", "tr", "th", "td", "p"}
    assert len(page) < 4000


def test_hostile_text_stays_text():
    assert "<script>" not in facts_table(HOSTILE, [(HOSTILE, HOSTILE)])
    assert "<script>" not in columns_table(HOSTILE, [HOSTILE], [[HOSTILE]])
    assert "&lt;script&gt;" in shown()["a report"]._repr_html_()


def test_reprs_are_short():
    found = shown()
    data, outcome = found["a data set"], found["an outcome"]
    problem = FMF(rank=1, l2=0.1).problem(data)
    for thing in (FMF(), outcome, data, data.queries, data.queries.ids, problem.X, outcome.recommender.model.state):
        assert len(repr(thing)) < 400, repr(thing)
    assert repr(FMF(rank=3, l2=0.1)) == "FMF(rank=3, l2=0.1)"
    assert repr(FMF()) == "FMF()"


def test_a_search_is_shown_in_a_line():
    tuned = FMF(rank=1, rounds=2, l2=0.1).tune(build(), trials=2, validate=0.4, metric="rmse")
    assert repr(tuned).startswith(f"Tuned(rmse {tuned.value:.4f} with FMF(")
    assert "the best of 2 trials" in repr(tuned)
