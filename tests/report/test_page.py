"""The report on a model."""

import base64
import hashlib
import re

import attrs
import numpy as np
import pytest
from bookshop import clicks, readers_and_books
from pages import read
from shelf import HOSTILE, shelf, trained_on

from fmfkit import FMF, Dataset
from fmfkit.losses import Logistic
from fmfkit.report.page import Page

RATINGS = ["results", "strata", "errors", "data", "training", "features", "recommendations", "examples", "repeat"]


@pytest.fixture(scope="module")
def page(shelved):
    trained, train, test = shelved
    return trained.report(test, data=train.report())


def sections(page):
    return [one["id"] for one in page.all("section")]


def test_a_report_of_ratings_has_all_sections_and_links_to_them(page, shelved):
    trained, _, test = shelved
    found = read(page.html)
    assert sections(found) == RATINGS
    assert [one["href"] for one in found.all("a")] == [f"#{name}" for name in RATINGS]
    rmse = trained.evaluate(test)["rmse"]
    assert f"On {len(test)} held-out pairs, rmse is {rmse:.4g} (95% interval" in found.text
    assert "than biases alone" in found.text
    for words in (
        "the mean",
        "biases alone",
        "How popular targets are",
        "Learnt strengths",
        "target.genres",
        "coverage@10",
        "gini@10",
    ):
        assert words in found.text, words
    assert re.search(r"no features: target isbn \(.*\), title \(it is the label\)", found.text)
    assert re.search(r"FMF\(.*rank=4, .*rounds=6", found.text)


def test_the_numbers_are_those_of_evaluate(page, shelved):
    trained, _, test = shelved
    words = read(page.html).words
    compared = trained.compare(test)
    for value in (trained.evaluate(test)["mae"], compared.value, *compared.baselines.values()):
        assert any(word.startswith(f"{value:.4f} (") for word in words), value


def test_hostile_titles_are_text(page):
    found = read(page.html)
    assert not found.all("script")
    for title in (HOSTILE[0], HOSTILE[1], "<i>sea</i>", "love & war", "<b>r"):
        assert title in found.text, title


def test_it_holds_everything_it_needs_and_its_policy_allows_no_more(page):
    found = read(page.html)
    policy = next(one["content"] for one in found.all("meta") if one.get("http-equiv") == "Content-Security-Policy")
    style = re.search(r"<style>(.*?)</style>", page.html, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not re.search(r"url\(|@import|https?:", style)
    assert re.findall(r"(?:https?:)?//[\w.]+", re.sub(r">[^<]*<", "><", page.html)) == []


def test_a_report_without_held_out_pairs_says_what_it_cannot_say(shelved):
    found = read(shelved[0].report().html)
    assert "No pairs were held out" in found.text
    assert sections(found) == [name for name in RATINGS if name not in ("results", "strata", "errors")]


def test_a_report_of_positives_is_about_rankings():
    train, test = clicks().split_per_query(0.2)
    trained = FMF(rank=4, rounds=3, l2=1.0).fit(train, validate=0.1)
    found = read(trained.report(test).html)
    assert "recall" in sections(found)
    assert "errors" not in sections(found)
    assert "recall@20 (higher is better)" in found.text
    assert f"ndcg@10 is {trained.evaluate(test)['ndcg@10']:.4g}" in found.text
    assert "than popularity" in found.text


def test_a_report_of_two_classes_is_about_probabilities(shelved):
    data = shelf()
    trained, _, test = trained_on(attrs.evolve(data, y=(data.y > 3).astype(float)), loss=Logistic())
    found = read(trained.report(test).html)
    assert "log_loss (lower is better)" in found.text
    assert "errors" in sections(found)
    assert "Given less predicted" not in found.text


def verdict(trained, test):
    """Return what a report says of how good a model is, having read all of it."""
    page = read(trained.report(test).html)
    return page.words[next(n for n, word in enumerate(page.words) if "held-out pairs," in word)]


def test_a_model_that_is_worse_than_biases_and_one_that_may_be_no_better_are_said_to_be_so():
    train, test = readers_and_books().split_random(0.2)
    assert "That is worse, by 0.0" in verdict(FMF(rank=2, rounds=1, l2=1e6).fit(train), test)
    train, test = readers_and_books().split_cold("query", 0.2)
    assert "That may by chance be no better than" in verdict(FMF(rank=2, rounds=3).fit(train), test)


def test_a_report_of_next_to_no_data_can_be_made():
    data = Dataset.of({"user": [1, 1, 2, 2, 3], "item": [1, 2, 1, 2, 1], "rating": [1.0, 2.0, 3.0, 4.0, 5.0]})
    train, test = data.only(np.arange(5) < 4), data.only(np.arange(5) == 4)
    trained = FMF(rank=2, rounds=2, l2=1.0).fit(train)
    assert "On 1 held-out pairs" in verdict(trained, test)
    known = Dataset.of({"user": [1, 2], "item": [1, 1], "rating": [1.0, 2.0]})
    found = read(FMF(rank=2, rounds=2, l2=1.0).fit(known).report().html)
    assert "recommendations" not in sections(found)  # everybody knows everything


def test_training_pairs_are_warned_of(shelved):
    trained, train, _ = shelved
    with pytest.warns(UserWarning, match="that the model was trained on") as warned:
        trained.report(train.only(np.arange(50)))
    assert warned[0].filename == __file__


def test_a_page_is_saved_and_shown_by_notebooks(page, tmp_path):
    page.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page.html
    assert page._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert "sandbox" in page._repr_html_()
    assert repr(Page("abc")) == "<Page of 3 characters; save(path) writes it>"


@pytest.mark.filterwarnings("ignore:.*a.csv|pairs")
def test_it_repeats_what_was_left_out_and_tells_given_settings_from_chosen_ones(tmp_path):
    path = tmp_path / "a.csv"
    rows = "".join(f"{n % 20},{n % 7},{n % 5}\n" for n in range(120))
    path.write_text(f"user,item,rating\n{rows}1,2\n3,4,good\n0,0,3\n")
    data = Dataset.of(path, bad_rows="skip", duplicates="last")
    asked = FMF(rank=2, rounds=2)
    found = read(asked.fit(data).report(data=data.report(), asked=asked).html)
    for words in ("123 rows do not have 3 fields", "line 123 ('good')", "1 rows repeat a pair: of each pair the last"):
        assert words in found.text, words
    table = " ".join(found.words)
    assert re.search(r"rank 2 given", table)
    assert re.search(r"data 'ratings' chosen", table)
    assert re.search(r"loss \S+ default", table)
