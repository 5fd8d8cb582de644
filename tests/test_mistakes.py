"""The mistakes that new users made, each with the answer that it gets: an error, a warning, or what was meant."""

import os
import re
import warnings

import numpy as np
import polars as pl
import pytest
from bookshop import BOOKS, PAIRS, write_files
from command import run

from fmfkit import FMF, Dataset, Recipe
from fmfkit.data import Precomputed, SideTable

RATINGS = pl.DataFrame(PAIRS)
GERMAN = {"Kundennr": [1, 2, 3, 1], "Artikelnr": [1, 2, 3, 4], "Note": [3.0, 4.0, 5.0, 2.0]}
CONFIG = """
[data]
pairs = "ratings.csv"
[model]
loss = "bpr"
rank = "many"
[recipe]
metric = "ndcg"
"""


def fit(*arguments):
    """Run ``fmfkit fit``; return what it printed if it failed."""
    result = run("fit", *arguments, "--rounds", "2", "--out", "model.fmf")
    return None if result.exit_code == 0 else result.output


def without_header():
    data = Dataset.of("no-header.csv")
    assert data.y.tolist() == [3, 4, 5]


def zero_rounds():
    rng = np.random.default_rng(0)
    pairs = pl.DataFrame({"user": np.arange(300) % 30, "item": np.arange(300) // 30, "rating": rng.normal(size=300)})
    pairs.write_csv("noise.csv")
    said = fit("noise.csv", "--l2", "0", "--bias-l2", "0", "--no-refit")
    assert not os.path.exists("model.fmf")
    return said


def zero_rounds_in_python():
    zero_rounds()
    FMF(rounds=2, l2=0.0, bias_l2=0.0).fit(Dataset.of("noise.csv"), validate=0.1)


def piped():
    reading, writing = os.pipe()
    os.write(writing, RATINGS.write_csv().encode())
    os.close(writing)
    data = Dataset.of(f"/dev/fd/{reading}")  # as <(...) in a shell
    os.close(reading)
    assert len(data) == 6


def empty_pipe():
    reading, writing = os.pipe()
    os.close(writing)
    return Dataset.of(f"/dev/fd/{reading}")


def unfitted():
    classifier = pytest.importorskip("fmfkit.sklearn", exc_type=ImportError).FMFClassifier(loss="bpr")
    with pytest.raises(LookupError, match="no loss is called 'bpr'"):
        classifier.fit([[1, 2], [2, 1]], [0, 1])
    classifier.predict([[1, 2]])


def other_rows():
    targets = SideTable(BOOKS, blocks=[Precomputed(np.ones((7, 2)))])
    FMF(rank=1, rounds=1).fit(Dataset.of(RATINGS, targets=targets))


def left_out():
    return str(Dataset.of(RATINGS.with_columns(shop=pl.lit("a")), targets=BOOKS).report())


def list_columns():
    tags = {"book": [3, 5, 7], "genres": [["sea", "war"], ["sea"], ["sea", "war"]]}
    return str(Dataset.of(RATINGS, targets=tags).report())


def toml():
    with open("fit.toml", "w") as file:
        file.write(CONFIG)
    return fit("fit.toml")


def exchanged():
    """Start from a model with an update whose columns, of names that say nothing, stand in another order."""
    before = Dataset.of({"Kunde": [1, 2, 3], "Artikel": [7, 8, 7], "Note": [3.0, 4.0, 5.0]})
    after = Dataset.of({"Artikel": [7, 8], "Kunde": [3, 1], "Note": [3.0, 4.0]})
    FMF(rank=1, rounds=1).fit(after, start=FMF(rank=1, rounds=1).fit(before))


MISTAKES = {
    "a CSV without a header": (without_header, "its first line looks like data, so it is read .* without a header"),
    "the users' table as --targets": (
        lambda: fit("ratings.csv", "--targets", "users.csv"),
        "targets: the table has no column 'book', but 'user', which holds queries: was it to be given as the queries",
    ),
    "0 rounds saved": (
        zero_rounds,
        "model.fmf: not written, for there is nothing in it: no round was better than none",
    ),
    "0 rounds in Python": (
        zero_rounds_in_python,
        "no round was better on the validation part than none: the model has",
    ),
    "--negatives on ratings": (
        lambda: fit("ratings.csv", "--negatives", "4"),
        "negatives: they are pairs with y = 0, .* leave out negatives, or take the pairs as positives",
    ),
    "FMF(negatives=20) on ratings": (
        lambda: FMF(negatives=20).fit(Dataset.of(RATINGS)),
        "but the ratings run from 1 to 5; leave out negatives",
    ),
    "FMF().fit(df)": (
        lambda: FMF().fit(RATINGS),
        r"data: expected a Dataset, got DataFrame; Dataset.of\(...\) makes one of a table",
    ),
    "FMF().tune(df)": (lambda: FMF().tune(RATINGS), "data: expected a Dataset, got DataFrame"),
    "Recipe().run(df)": (lambda: Recipe().run(RATINGS), "data: expected a Dataset, got DataFrame"),
    "a path as a start": (
        lambda: FMF().fit(Dataset.of(RATINGS), start="model.fmf"),
        r"start: expected a Recommender, got str; Recommender.load\(path\) reads one",
    ),
    "a table to validate on": (
        lambda: FMF().fit(Dataset.of(RATINGS), validate=RATINGS),
        "validate: expected a share, such as 0.1, or a Dataset, got DataFrame",
    ),
    "ndcg without a depth": (
        lambda: FMF().fit(Dataset.of(RATINGS), validate=0.3, metric="ndcg"),
        "metric 'ndcg': it needs a depth, as in 'ndcg@10'",
    ),
    "a metric that is a function of two": (
        lambda: FMF().fit(Dataset.of(RATINGS), validate=0.3, metric=lambda y, predicted: 0.0),
        r"expected a function of y, predictions and weights whose larger values are better; wrap another one: Metric\(",
    ),
    "an unfitted classifier": (unfitted, "is not fitted yet"),
    "TOML errors of meaning and of form": (
        toml,
        r"3 errors:(.|\n)*'many' @ config.model.rank(.|\n)*'bpr'(.|\n)*'ndcg@10'",
    ),
    "an update with its sides exchanged": (
        exchanged,
        "column 'Artikel' was taken as the query, and is the target of .*: Dataset.of.*columns=start.columns",
    ),
    "loss='bpr'": (lambda: FMF(loss="bpr"), "no loss is called 'bpr'; there are"),
    "--loss bpr before anything is read": (lambda: fit("broken.csv", "--loss", "bpr"), "no loss is called 'bpr'"),
    "a pipe": (piped, None),
    "an empty pipe": (empty_pipe, "/dev/fd/[0-9]+: the file is empty"),
    "a table joined by a column of another name": (
        lambda: Dataset.of(RATINGS, targets={"isbn": [3, 5, 7], "genre": ["a", "a", "b"]}),
        "targets: joined by column 'isbn', which is 'book' in the pairs; it has 3 of the 3 ids",
    ),
    "the users' table as --targets, by a name like the users'": (
        lambda: Dataset.of(GERMAN, targets={"KundenID": [1, 2, 3], "Alter": [30, 40, 30]}),
        "targets: the table has no column 'Artikelnr', but 'KundenID', which holds queries: was it to be given as the",
    ),
    "a totals row in a table": (
        lambda: fit("ratings.csv", "--targets", "totals.csv"),
        r"targets: 1 of 3 ids in 'book' are missing or no numbers, as those .* are: line 4 \('Gesamt'\); mend",
    ),
    "a row that a table has twice": (
        lambda: fit("ratings.csv", "--targets", "twice.csv"),
        r"targets: column 'book' has ids twice, such as 3; 1 rows repeat an id: line 4 \(3\); mend them, or leave",
    ),
    "a totals row of the pairs beside a table": (
        lambda: fit("totals-of-pairs.csv", "--targets", "books.csv"),
        r"targets: ids in 'book' are numbers, those of the pairs are text, because of line 4 \('Gesamt'\); mend it",
    ),
    "a block with another number of rows": (
        other_rows,
        "block 'precomputed': the 7 rows of the matrix stand for the ids",
    ),
    "rows that cannot be read": (
        lambda: fit("broken.csv"),
        r"1 of 3 rows .*: line 3 \(2 fields\); mend them, or leave",
    ),
    "a rating that is no number": (
        lambda: fit("text.csv"),
        r"1 of 3 values of 'rating', .* are missing or no finite numbers: line 3 \('good'\); mend .*, or leave",
    ),
    "a folder": (lambda: fit("."), "it is a folder, expected a file; .*--loader movielens"),
    "columns of the pairs that are for nothing": (left_out, "not used: columns 'shop' of the pairs"),
    "columns of a table that become no features": (
        left_out,
        r"no features: target .*author .text that hardly repeats.*title .it is the label",
    ),
    "lists as tags": (list_columns, "target.genres +tags"),
}
"""What is done, and what is said of it: by an error, by a warning, or in what is returned; None: it works."""


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    (tmp_path / "no-header.csv").write_text("1,7,3\n2,7,4\n3,9,5\n")
    (tmp_path / "users.csv").write_text("user,age\nu1,30\nu2,40\n")
    (tmp_path / "totals.csv").write_text("book;title\n3;Emma\n5;Walden\nGesamt;2\n")
    (tmp_path / "twice.csv").write_text("book;title\n3;Emma\n5;Walden\n3;Ulysses\n")
    (tmp_path / "totals-of-pairs.csv").write_text("user;book;rating\n1;3;4\n2;5;3\n3;Gesamt;7\n")
    (tmp_path / "broken.csv").write_text("user,item,rating\n1,2,3\n2,2\n3,3,4\n")
    (tmp_path / "text.csv").write_text("user,item,rating\n1,2,3\n2,2,good\n3,3,4\n")


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_an_answer_that_helps(mistake):
    make, answer = MISTAKES[mistake]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            said = make()
        except (ValueError, TypeError, LookupError) as error:
            said = str(error)
    told = [str(one.message) for one in warned if issubclass(one.category, UserWarning)]
    told += [said] if isinstance(said, str) else []
    if answer is None:
        assert told == []
    else:
        assert any(re.search(answer, text, re.DOTALL) for text in told), told
