"""fmfkit cross-validate: how good a recipe is, whatever part of the data is held out."""

import json
import re

import pytest
from command import invoke, printed, run

from fmfkit import FMF, Dataset, Recipe, cross_validate
from fmfkit.cli import cross_validate as module
from fmfkit.cli import fit

QUICK = ["--rank", "2", "--rounds", "3", "--l2", "0.5", "--validate", "0"]


def test_each_part_is_told_and_then_the_means(shop):
    lines = printed("cross-validate", "ratings.csv", "--folds", "3", *QUICK, "--metric", "rmse").splitlines()
    number = r"\d\.\d{4}"
    assert all(re.fullmatch(f"part {n} of 3: rmse {number}", lines[n - 1]) for n in (1, 2, 3))
    assert lines[3] == "3 parts held out (random):"
    assert re.fullmatch(rf"rmse {number} \({number} to {number}\)", lines[4])
    assert lines[5] == "intervals of 95%, corrected for training parts that overlap"
    assert len(lines) == 6
    assert not list(shop.glob("*.fmf"))


def test_json_has_what_python_measures(shop):
    arguments = ["--targets", "books.csv", *QUICK, "--metric", "mae", "--folds", "2", "--seed", "5", "--level", "0.5"]
    result = run("cross-validate", "ratings.csv", *arguments, "--json")
    assert result.exit_code == 0, result.output
    recipe = Recipe(settings=FMF(rank=2, rounds=3, l2=0.5, seed=5), validate=0, metrics=["mae"])
    data = Dataset.of("ratings.csv", targets="books.csv")
    found = cross_validate(recipe, data, folds=2, seed=5)
    assert json.loads(result.stdout) == json.loads(json.dumps(found.to_json(0.5)))
    assert "part 2 of 2: mae " in result.stderr
    assert " pairs of 40 queries" in result.stderr


def test_a_share_is_held_out_several_times_instead(shop):
    arguments = ["--test", "0.2", "--repeats", "3", *QUICK, "--metric", "mae", "--split", "cold-target"]
    told = json.loads(printed("cross-validate", "ratings.csv", *arguments, "--json"))
    assert (told["test"], told["repeats"], told["split"]) == (0.2, 3, "cold-target")
    assert len(told["metrics"]["mae"]["values"]) == 3


def test_a_file_says_how_a_model_is_made_and_what_is_of_fit_alone_is_told(shop):
    lines = ['[data]\npairs = "ratings.csv"', "[model]\nrank = 2\nrounds = 2\nl2 = 0.5"]
    recipe = '[recipe]\nvalidate = 0\ntest = 0.2\nout = "kept.fmf"\ncheckpoint = "kept"\nmetrics = ["mae"]'
    (shop / "fit.toml").write_text("\n".join([*lines, recipe]))
    result = run("cross-validate", "fit.toml", "--folds", "2", "--callback", "log:to=rounds.jsonl", "--rounds", "3")
    assert result.exit_code == 0, result.output
    assert "recipe.test, recipe.checkpoint: of `fmfkit fit` alone, not used here" in result.stderr
    assert "part 2 of 2: mae " in result.stdout
    rounds = [json.loads(line) for line in (shop / "rounds.jsonl").read_text().splitlines()]
    assert [one["round"] for one in rounds if one["moment"] == "round"] == [1, 2, 3, 1, 2, 3]
    assert not (shop / "kept.fmf").exists()
    assert not (shop / "kept").exists()


def test_positives_only_are_measured_by_rankings(shop):
    output = invoke("cross-validate", "liked.csv", "--folds", "2", "--rank", "2", "--rounds", "2")
    assert "taken as positives only" in output
    assert re.search(r"^2 parts held out \(per-query\):\nndcg@10 \d", output, re.M)


def test_it_takes_the_options_of_fit_that_say_how_a_model_is_made():
    both = [{option.opts[0]: option for option in one.command.params} for one in (fit, module)]
    assert set(both[0]) - set(both[1]) == {
        "--out",
        "--start",
        "--checkpoint",
        "--checkpoint-every",
        "--resume",
        "--report",
    }
    assert set(both[1]) - set(both[0]) == {"--folds", "--repeats", "--level"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--folds", "1"], 2, "1 is not in the range x>=2"),
        (["--repeats", "0"], 2, "0 is not in the range x>=1"),
        (["--test", "0"], 2, "0.0 is not in the range 0<x<1"),
        (["--test", "0.1"], 2, "give at least --repeats 2"),
        (["--test", "0.1", "--folds", "5", "--repeats", "2"], 2, "--folds and --test are two ways to hold out"),
        (["--out", "model.fmf"], 2, "No such option"),
        (["--folds", "5000"], 1, "folds: each pair is in one fold, and there are 1200: expected at most as many"),
        (["--folds", "50", "--split", "cold-query"], 1, "each query with pairs is in one fold, and there are 40"),
        (["--split", "time"], 1, "hold them out once, by Recipe(split='time', test=0.1) or fmfkit fit --split time"),
        (["--tune", "2", "--validate", "0"], 1, "it needs a validation part"),
        (["--metric", "rsme"], 1, "no metric is called 'rsme'"),
        (["--callback", "nothing"], 1, "nothing"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_fit(shop, arguments, code, message):
    result = run("cross-validate", "ratings.csv", *arguments)
    assert result.exit_code == code
    assert message in " ".join(result.output.split())
    assert "part 1" not in result.output
    assert "Traceback" not in result.output
