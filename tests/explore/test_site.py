"""The pages of a model."""

import re

import numpy as np
import pytest
from pages import read
from shelf import HOSTILE, shelf, trained_on

from fmfkit.explore.server import document
from fmfkit.explore.site import NotFoundError, Site


@pytest.fixture(scope="module")
def site(shelved):
    return Site(shelved[0])


def shown(site, path, **given):
    """Return a page, having checked what must hold of every page."""
    asked = {name: value if isinstance(value, list) else [str(value)] for name, value in given.items()}
    return read(document(site.view(path, asked), path, asked))


def book(site, n):
    """Return the row number of a book."""
    return int(site.trained.encoder.targets.ids.known_rows([f"b{n}"], "books")[0])


def links(page, path):
    return [one["href"] for one in page.all("a") if one["href"].split("?")[0] == path]


def test_every_page_is_well_formed_labelled_and_runs_nothing_whatever_titles_hold(site):
    shown(site, "/")
    shown(site, "/search", q="<script>")
    shown(site, "/map")
    shown(site, "/map", side="query")
    shown(site, "/like", like=["0", "1"], q="Book")
    for n, title in enumerate(HOSTILE):
        row = book(site, n)
        page = shown(site, "/target", row=row)
        assert title.replace("\x00", "\ufffd").replace("\x07", "\ufffd") in page.text
        shown(site, "/query", row=n)
        shown(site, "/why", query=n, target=row)


def test_the_start_tells_what_the_model_is(site, shelved):
    page = shown(site, "/")
    for words in ("40", "60", f"{shelved[0].seen.nnz:,}", "indicator, genres"):
        assert words in page.text
    assert len(links(page, "/query")) == len(links(page, "/target")) == 10


@pytest.mark.parametrize("text", ["book 1", "BOOK 1", "<SCRIPT>", "b59", "onerror", "r1</b>"])
def test_search_finds_parts_of_titles_and_ids_in_any_case(site, shelved, text):
    encoder = shelved[0].encoder
    page = shown(site, "/search", q=text)
    for path, side in (("/query", encoder.queries), ("/target", encoder.targets)):
        both = zip(side.labels, side.ids.names, strict=True)
        rows = [n for n, names in enumerate(both) if any(text.lower() in name.lower() for name in names)]
        assert sorted(links(page, path)) == sorted(f"{path}?row={row}" for row in rows)
    assert text in page.text


def test_search_for_nothing_finds_nothing(site):
    page = shown(site, "/search", q="no such book")
    assert "No queries are called so." in page.text
    assert "No targets are called so." in page.text
    assert shown(site, "/search").text.count("are called so") == 2


def test_a_query_shows_what_recommend_and_similar_answer(site, shelved):
    trained = shelved[0]
    page = shown(site, "/query", row=7)
    best = trained.recommend([trained.encoder.queries.ids.at([7])[0]], k=15)
    rows = trained.encoder.targets.ids.known_rows(best["target"], "targets")
    assert links(page, "/target")[:15] == [f"/target?row={row}" for row in rows]
    assert links(page, "/why") == [f"/why?query=7&target={row}" for row in rows]
    alike = trained.model.similar(queries=7, k=10).targets[0]
    assert links(page, "/query") == [f"/query?row={row}" for row in alike]
    known = links(page, "/target")[15:]
    assert set(known) <= {f"/target?row={row}" for row in trained.seen[[7]].indices}
    assert len(known) == 10


def test_a_target_shows_its_features_and_what_is_similar(site, shelved):
    trained = shelved[0]
    page = shown(site, "/target", row=3)
    alike = trained.similar([trained.encoder.targets.ids.at([3])[0]], k=10)
    assert links(page, "/target") == [
        f"/target?row={row}" for row in trained.encoder.targets.ids.known_rows(alike["similar"], "targets")
    ]
    assert re.search(r"genres: (<i>sea</i>|love & war|'crime')", page.text)
    assert links(page, "/like")[1:] == ["/like?like=3"]


def test_why_adds_up(site, shelved):
    trained = shelved[0]
    page = shown(site, "/why", query=2, target=9)
    score = float(trained.model.score([2], [9])[0])
    assert f"{score:.3f}" in page.words
    assert "genres: " in page.text


def test_a_map_has_a_dot_for_each_and_hides_it_from_who_is_told_in_words(site):
    page = shown(site, "/map")
    assert len(page.all("circle")) == 60
    assert {one["tabindex"] for one in page.all("a") if one["href"].startswith("/target")} == {"-1"}
    assert page.all("svg")[0]["aria-hidden"] == "true"
    assert len(shown(site, "/map", side="query").all("circle")) == 40


def test_who_likes_some_targets_is_told_what_recommend_new_answers():
    trained = trained_on(shelf(history=True))[0]
    site = Site(trained)
    page = shown(site, "/like", like=["3", "10", "3"])
    ids = trained.encoder.targets.ids.at([3, 10])
    best = trained.recommend_new({"reader": ["you"]}, 15, pairs={"reader": ["you", "you"], "book": ids})
    rows = trained.encoder.targets.ids.known_rows(best["target"], "books")
    assert not {3, 10} & set(rows)
    assert links(page, "/target") == [f"/target?row={row}" for row in (3, 10, *rows)]
    removed = [one["href"] for one in page.all("a") if one.get("aria-label", "").startswith("Remove")]
    assert removed == ["/like?like=10", "/like?like=3"]
    found = shown(site, "/like", like=["3"], q="Book 2")
    added = [one["href"] for one in found.all("a") if one.get("aria-label", "").startswith("Add Book 20")]
    assert added == [f"/like?like=3&like={book(site, 20)}"]
    assert [one["value"] for one in found.all("input") if one["name"] == "like"] == ["3"]


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/nowhere", {}),
        ("/query", {"row": 40}),
        ("/query", {"row": -1}),
        ("/target", {"row": "x"}),
        ("/target", {}),
        ("/why", {"query": 1}),
        ("/like", {"like": ["0", "60"]}),
        ("/query", {"row": "\u0663"}),
        ("/query", {"row": "9" * 99}),
    ],
)
def test_what_is_not_there_is_said_to_be_not_there(site, path, given):
    with pytest.raises(NotFoundError, match="There is no"):
        shown(site, path, **given)


def test_models_of_one_dimension_and_other_ids_can_be_shown(shelved):
    import polars as pl

    from fmfkit import FMF, Dataset

    rng = np.random.default_rng(0)
    pairs = {
        "user": pl.Series([("a", int(n)) for n in rng.integers(0, 9, 60)], dtype=pl.Object),
        "item": np.arange(60) % 20,
    }
    data = Dataset.of(pairs, duplicates="last")
    trained = FMF(rank=1, rounds=2, l2=1.0).fit(data)
    site = Site(trained)
    for path in ("/", "/map", "/like"):
        shown(site, path)
    assert "('a', " in shown(site, "/query", row=0).text
    shown(site, "/why", query=0, target=0)
