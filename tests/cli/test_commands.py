import json
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import fmfkit
from fmfkit.cli import main
from fmfkit.recommend.recommender import Recommender


def invoke(*arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_info_tells_how_the_core_was_built():
    assert json.loads(invoke("info", "--json")) == fmfkit.build_info()
    assert f"version        {fmfkit.__version__}" in invoke("info")


def test_plugins_lists_the_built_ins():
    assert "builtin:pl2m" in invoke("plugins")
    plugins = {plugin["name"]: plugin for plugin in json.loads(invoke("plugins", "--json"))}
    assert plugins["builtin"]["status"] == "ok"
    assert {"name": "square", "doc": "(s - y)², for ratings on a scale"} in plugins["builtin"]["offers"]["loss"]


def test_demo_shows_that_features_help_on_known_and_most_on_new_books():
    output = invoke("demo", "--rounds", "12")
    rows = {line[:24].strip(): [float(x) for x in re.findall(r"\d+\.\d+", line)] for line in output.splitlines()[-3:]}
    mean, plain, featured = rows["mean rating"], rows["plain MF, ids only"], rows["FMF, ids and features"]
    assert featured[0] < plain[0] < mean[0]
    assert featured[1] < 0.9 * plain[1]
    assert "round 12/12" in output


@pytest.mark.parametrize("arguments", [["demo", "--rank", "0"], ["nonsense"], ["info", "--nonsense"]])
def test_wrong_use_exits_with_2_and_says_so(arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "Error" in result.output


def test_help_lists_the_commands():
    output = invoke("--help")
    for command in ["demo", "evaluate", "fit", "info", "inspect", "new-plugin", "plugins", "predict", "recommend"]:
        assert f"  {command} " in output


def test_the_version_is_told_without_importing_numpy():
    code = "import sys; from fmfkit.cli import main\ntry: main(['--version'])\nfinally: print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip().endswith("False")


def test_python_m_fmfkit_is_the_command():
    done = subprocess.run([sys.executable, "-m", "fmfkit", "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == f"fmfkit, version {fmfkit.__version__}"


@pytest.fixture
def shop(tmp_path):
    """Files as a user has them: ratings and books, with titles and genres."""
    import numpy as np

    rng = np.random.default_rng(0)
    genre = rng.integers(0, 3, 60)
    taste = rng.normal(size=(40, 3))
    user, book = np.divmod(rng.choice(40 * 60, 1200, replace=False), 60)
    rating = 3 + taste[user, genre[book]] + 0.2 * rng.normal(size=1200)
    lines = [f"u{u},{b},{r:.3f}" for u, b, r in zip(user, book, rating, strict=True)]
    (tmp_path / "ratings.csv").write_text("user,book,rating\n" + "\n".join(lines))
    names = ["sea|old", "love", "crime|old"]
    books = [f'{b},"Book, the {b}th",{names[genre[b]]}' for b in range(60)]
    (tmp_path / "books.csv").write_text("book,title,genres\n" + "\n".join(books))
    return tmp_path


def test_from_two_files_to_recommendations_by_title(shop):
    model = str(shop / "model.fmf")
    arguments = [str(shop / "ratings.csv"), "--targets", str(shop / "books.csv"), "--out", model, "--rank", "4"]
    output = invoke("fit", *arguments, "--test", "0.2", "--split", "cold-target", "--l2", "0.02")
    assert " pairs of 40 queries (0 without pairs) and 60 targets (12 without)" in output
    assert re.search(r"target.genres +tags +4 ", output)
    cold = float(re.search(r"held-out pairs \(cold-target\): rmse (\d\.\d+)", output).group(1))
    assert cold < 0.7
    best = invoke("recommend", model, "--query", "u3", "-k", "3")
    assert best.startswith("u3\n")
    assert best.count("Book, the ") == 3
    told = [json.loads(line) for line in invoke("recommend", model, "--query", "u3", "-k", "3", "--json").splitlines()]
    assert [row["rank"] for row in told] == [1, 2, 3]
    invoke("recommend", model, "--out", str(shop / "best.csv"))
    assert len((shop / "best.csv").read_text().splitlines()) == 1 + 40 * 10
    measured = json.loads(invoke("evaluate", model, str(shop / "ratings.csv"), "--json", "--metric", "rmse"))
    assert 0 < measured["rmse"] < 1
    (shop / "ask.csv").write_text("user,book\nu3,7\nu4,9\n")
    assert invoke("predict", model, str(shop / "ask.csv")).splitlines()[0] == "user,book,predicted"
    assert json.loads(invoke("inspect", model, "--json"))["targets"]["blocks"]["genres"] == 4
    assert "genres (4)" in invoke("inspect", model)


def test_fit_tells_its_outcome_as_json(shop):
    outcome = json.loads(
        CliRunner().invoke(main, ["fit", str(shop / "ratings.csv"), "--out", str(shop / "m"), "--json"]).stdout
    )
    assert outcome["model"] == str(shop / "m")
    assert outcome["rounds"] >= 1


def test_fit_tunes_and_tells_what_it_found_in_its_own_words(shop, monkeypatch):
    monkeypatch.chdir(shop)
    arguments = ["fit", "ratings.csv", "--targets", "books.csv", "--rank", "4", "--test", "0.2"]
    output = invoke(*arguments, "--tune", "4", "--l2", "3")
    told = re.search(r"^rmse \d\.\d+ with (.*)$", output, re.MULTILINE).group(1)
    assert told.startswith("--l2 ")
    again = invoke(*arguments, *told.split())
    assert again.splitlines()[-1] == output.splitlines()[-1]
    assert (
        "it needs a validation part" in CliRunner().invoke(main, [*arguments, "--tune", "2", "--validate", "0"]).output
    )


def test_fit_goes_on_from_a_model_with_new_ids(shop, monkeypatch):
    monkeypatch.chdir(shop)
    invoke("fit", "ratings.csv", "--targets", "books.csv", "--rank", "4", "--l2", "0.3")
    (shop / "more.csv").write_text("user,book,rating\nnew,3,5\nnew,99,1\nu3,99,2\n")
    invoke("fit", "more.csv", "--start", "model.fmf", "--out", "more.fmf")  # with the model's rank and penalty
    assert Recommender.load("more.fmf").settings.l2 == 0.3
    best = invoke("recommend", "more.fmf", "--query", "new", "-k", "2")
    assert best.count("Book, the ") == 2
    told = json.loads(invoke("inspect", "more.fmf", "--json"))
    assert (told["queries"]["count"], told["targets"]["count"]) == (41, 61)


def test_fit_draws_negatives_for_positives_only(shop, monkeypatch):
    monkeypatch.chdir(shop)
    lines = (shop / "ratings.csv").read_text().splitlines()
    liked = [line.rpartition(",")[0] for line in lines[1:] if float(line.rpartition(",")[2]) > 3]
    (shop / "liked.csv").write_text("user,book\n" + "\n".join(liked))
    arguments = ["liked.csv", "--targets", "books.csv", "--loss", "logistic", "--negatives", "3", "--l2", "0.05"]
    output = invoke(
        "fit", *arguments, "--negatives-fresh", "--choose-by", "ndcg@5", "--test", "0.2", "--metric", "ndcg@5"
    )
    assert float(re.search(r"ndcg@5 (\d\.\d+)$", output.strip()).group(1)) > 0.1


def test_fit_takes_growth_and_balance_as_options_and_from_a_file(shop, monkeypatch):
    monkeypatch.chdir(shop)
    invoke("fit", "ratings.csv", "--rank", "4", "--growth", "0.5", "--balance", "0.2", "--out", "options.fmf")
    lines = [
        '[data]\npairs = "ratings.csv"',
        "[model]\nrank = 4\ngrowth = 0.5\nbalance = 0.2",
        '[recipe]\nout = "file.fmf"',
    ]
    (shop / "fit.toml").write_text("\n".join(lines))
    invoke("fit", "fit.toml")
    first, second = (Recommender.load(name) for name in ("options.fmf", "file.fmf"))
    assert first.settings.growth == 0.5
    assert first.settings.balance == 0.2
    np.testing.assert_array_equal(first.model.P, second.model.P)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "ratings.csv", "--strength", "target.genre=2"], "strengths: there is no 'target.genre'"),
        (["fit", "ratings.csv", "--rating", "stars"], "there is no column 'stars' for the rating"),
        (["fit", "ratings.csv", "--loss", "sqare"], "did you mean 'square'"),
        (["fit", "ratings.csv", "--split", "time", "--test", "0.1"], "the pairs have no time"),
        (["recommend", "books.csv"], "not a model file"),
        (["fit", "ratings.csv", "--out", "nowhere/model.fmf"], "there is no folder to write it to"),
        (["fit", "ratings.csv", "--metric", "rsme", "--test", "0.1"], "there is no 'rsme'"),
    ],
)
def test_mistakes_are_told_in_a_line_with_exit_code_1(shop, monkeypatch, arguments, message):
    monkeypatch.chdir(shop)
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert message in result.output
    assert "Traceback" not in result.output
    assert not (shop / "model.fmf").exists()


def test_an_interrupt_stops_after_the_round_and_saves(shop):
    import signal

    command = [sys.executable, "-m", "fmfkit", "fit", "ratings.csv", "--rounds", "1000000", "--validate", "0"]
    process = subprocess.Popen(command, cwd=shop, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "round 3/" in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "interrupted" in out
    assert (shop / "model.fmf").exists()


def test_fit_takes_a_configuration_and_options_go_before_it(shop, monkeypatch):
    (shop / "fit.toml").write_text(
        '[data]\npairs = "ratings.csv"\ntargets = {table = "books.csv", blocks = [{kind = "tags", column = "genres"}]}\n'
        "[model]\nrank = 4\nrounds = 3\n[recipe]\ntest = 0.2\n"
    )
    monkeypatch.chdir(shop)
    output = invoke("fit", "fit.toml", "--rank", "2", "--out", "from-file.fmf")
    assert "held-out pairs (random)" in output
    told = json.loads(invoke("inspect", "from-file.fmf", "--json"))
    assert told["rank"] == 2
    assert told["rounds"] <= 3
    assert list(told["targets"]["blocks"]) == ["indicator", "genres"]


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_unknown_ids_in_a_file_are_named(shop, monkeypatch, command):
    monkeypatch.chdir(shop)
    invoke("fit", "ratings.csv", "--rounds", "1", "--rank", "2")
    (shop / "ask.csv").write_text("user,book,rating\nu3,7,1\nnobody,9,2\n")
    result = CliRunner().invoke(main, [command, "model.fmf", "ask.csv"])
    assert result.exit_code == 1
    assert "pairs, queries: 1 ids are not known, such as 'nobody'" in result.output
