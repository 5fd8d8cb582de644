"""What plugins offer, on the command line and in TOML files: metrics, feature blocks, callbacks, loaders."""

import json

import pytest
from command import printed, run
from fake_plugins import install, run_python

PLUGIN = """
import attrs
from typing import ClassVar
import numpy as np
from fmfkit import Metric, Spec, hookimpl
from fmfkit.data import Categorical

fmfkit_interface = 1

def within(tolerance: float = 0.5) -> Metric:
    return Metric("within", lambda on: float(np.mean(np.abs(on.prediction - on.y) <= tolerance)), larger=True)

@attrs.frozen
class First(Categorical):
    kind: ClassVar[str] = "first"
    letters: int = 1

    def tokens(self, given):
        found = super().tokens(given)
        return found.with_columns(found["token"].str.head(self.letters))

@attrs.frozen
class Shout:
    word: str = "round"

    def __call__(self, event):
        print(self.word, event.moment, event.record.round)

    def end(self, event):
        self(event)

def semicolons(path, skip: int = 0):
    rows = [line.split(";") for line in open(path).read().splitlines()][skip:]
    return {name: [float(row[n]) for row in rows] for n, name in enumerate(("reader", "book", "rating"))}

@hookimpl
def fmfkit_metrics():
    return [Spec("within", within, "share of predictions that are close")]

@hookimpl
def fmfkit_blocks():
    return [Spec("first", First, "first letters")]

@hookimpl
def fmfkit_callbacks():
    return [Spec("shout", Shout, "prints every event")]

@hookimpl
def fmfkit_loaders():
    return [Spec("semicolons", semicolons, "three columns, with semicolons between")]
"""

TOML = """
[data]
pairs = "pairs.txt"
loader = "mine:semicolons:skip=1"
[data.targets]
table = "books.csv"
blocks = [{kind = "mine:first", column = "word", letters = 1}]
[model]
rank = 2
rounds = 2
l2 = 0.1
solver = "pl2m:scheduler=random:size=3"
[recipe]
test = 0.2
validate = 0
metrics = ["mine:within:tolerance=0.7", "rmse"]
callbacks = ["mine:shout:word=said", "log:to=fit.jsonl"]
"""


@pytest.fixture
def folder(tmp_path):
    install(tmp_path, mine=PLUGIN)
    rows = [f"{reader};{book};{(reader * book) % 5 + 1}" for reader in range(12) for book in range(8)]
    (tmp_path / "pairs.txt").write_text("\n".join(["9;9;9", *rows]))
    (tmp_path / "books.csv").write_text("book,word\n" + "".join(f"{n},{'abc'[n % 3]}{n}\n" for n in range(8)))
    (tmp_path / "fit.toml").write_text(TOML)
    return tmp_path


def command(folder, *arguments):
    code = f"import os; os.chdir({str(folder)!r})\nfrom fmfkit.cli import main; main({list(map(str, arguments))!r})"
    done = run_python(code, folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_toml_file_names_what_plugins_offer(folder):
    told = command(folder, "fit", "fit.toml")
    assert [line for line in told.splitlines() if line.startswith("said")] == [
        *("said start 0", "said round 1", "said round 2", "said end 2")
    ]
    assert "mine:within:tolerance=0.7 0." in told
    moments = [json.loads(line)["moment"] for line in (folder / "fit.jsonl").read_text().splitlines()]
    assert moments == ["start", "round", "round", "end"]
    told = command(folder, "evaluate", "model.fmf", "pairs.txt", "--loader", "semicolons:skip=1", "--metric", "within")
    assert told.startswith("96 pairs: within 0.")
    predicted = command(folder, "predict", "model.fmf", "pairs.txt", "--loader", "semicolons:skip=1")
    assert len(predicted.splitlines()) == 97
    assert "word (3)" in command(folder, "inspect", "model.fmf")


def test_the_command_line_names_what_plugins_offer(folder):
    options = ["--loader", "semicolons:skip=1", "--callback", "shout", "--rank", 2, "--rounds", 2, "--validate", 0]
    told = command(folder, "fit", "pairs.txt", *options, "--test", 0.2, "--metric", "within", "--l2", 0.1)
    assert "round end 2" in told
    assert "within 0." in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--callback", "tolerence"], "no callback is called 'tolerence'; did you mean 'tolerance'"),
        (["--callback", "tolerance:relativ=1"], "there is no option 'relativ'; it has ['relative']"),
        (["--callback", "log:to=nowhere/x"], "there is no folder to write 'nowhere/x' to"),
        (["--loader", "movielense"], "no loader is called 'movielense'; did you mean 'movielens'"),
        (["--loss", "square:delta=2"], "loss 'square': there is no option 'delta'; it has none"),
        (["--solver", "sgd:learning_rate=x"], "could not convert string to float: 'x'"),
        (["--metric", "ndcg", "--test", "0.1"], "metric 'ndcg': it needs a depth, as in 'ndcg@10'"),
    ],
)
def test_mistakes_in_names_and_options_are_told_in_a_line(shop, arguments, message):
    result = run("fit", "ratings.csv", *arguments)
    assert result.exit_code == 1
    assert message in result.output
    assert not (shop / "model.fmf").exists()


def test_a_folder_is_read_by_its_loader_and_nothing_else_is_said_of_it(shop):
    folder = shop / "ml"
    folder.mkdir()
    rows = [f"{user},{movie},{(user * movie) % 5 + 1},{user}" for user in range(9) for movie in range(6)]
    (folder / "ratings.csv").write_text("userId,movieId,rating,timestamp\n" + "\n".join(rows))
    (folder / "movies.csv").write_text("movieId,title,genres\n" + "".join(f"{n},T{n},A|B\n" for n in range(6)))
    options = ["--loader", "movielens", "--rank", 2, "--rounds", 2, "--l2", 0.1, "--validate", 0]
    told = json.loads(printed("fit", "ml", *options, "--json"))
    assert told["rounds"] == 2
    result = run("fit", "ml", *options, "--rating", "timestamp")
    assert result.exit_code == 1
    assert "rating: the loader 'movielens' returns a whole data set; leave them out" in result.output
