import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from fmfkit import FMF, Dataset, Recommender
from fmfkit.cli import main


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Ratings in three files that a taste for genres explains, and tables of both sides."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    user, item = np.divmod(rng.choice(80 * 40, 1800, replace=False), 40)
    taste, genre = rng.integers(0, 2, 80), rng.integers(0, 2, 40)
    rating = 3.0 + 1.5 * (taste[user] == genre[item]) + 0.2 * rng.normal(size=1800)
    pairs = pl.DataFrame({"user": user, "item": item, "rating": rating.round(2)})
    for n in range(3):
        pairs[n::3].write_parquet(folder / f"pairs{n}.parquet")
    users = pl.DataFrame({"user": range(82), "age": rng.integers(18, 80, 82)})
    for n in range(2):
        users[n::2].write_parquet(folder / f"users{n}.parquet")
    pl.DataFrame({"item": range(41), "genre": [f"g{n}" for n in [*genre, 0]]}).write_parquet(folder / "items.parquet")
    return folder


def arguments(folder, out, *more):
    pairs = [folder / f"pairs{n}.parquet" for n in range(3)]
    tables = ["--queries", folder / "users0.parquet", folder / "users1.parquet", "--targets", folder / "items.parquet"]
    return [*pairs, *tables, "--rank", 6, "--rounds", 8, "--test", 0.1, "--out", out, "--json", *more]


def test_from_files_to_recommendations_on_any_number_of_ranks(mpiexec, files, tmp_path):
    found = {}
    for ranks, command in ((1, "fit_together"), (2, "fit")):
        out = tmp_path / f"{ranks}.fmf"
        done = mpiexec(ranks, "fmfkit", command, *arguments(files, out, "--history"))
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert said.pop("ranks") == ranks
        assert said.pop("model") == str(out)
        found[ranks] = said, Recommender.load(out)
    assert found[1][0] == found[2][0]
    one, two = (found[ranks][1] for ranks in (1, 2))
    assert one.model.P.tobytes() == two.model.P.tobytes()
    assert one.model.Q.tobytes() == two.model.Q.tobytes()
    assert (one.seen != two.seen).nnz == 0
    done = mpiexec(2, "fmfkit", "recommend", tmp_path / "1.fmf", "-k", 4, "--out", tmp_path / "best")
    assert done.returncode == 0, done.stderr
    best = pl.concat([pl.read_parquet(part) for part in sorted((tmp_path / "best").iterdir())])
    assert best.equals(one.recommend(k=4))


def test_the_model_is_as_good_as_that_of_the_ordinary_fit(files, tmp_path):
    done = CliRunner().invoke(main, ["fit_together", *map(str, arguments(files, tmp_path / "m.fmf"))])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["metric"] == "rmse"
    assert said["test"] < 0.35  # the noise is 0.2, and ratings deviate by 0.78
    assert said["refitted"]
    made = Recommender.load(tmp_path / "m.fmf")
    everything = Dataset.of(pl.concat([pl.read_parquet(files / f"pairs{n}.parquet") for n in range(3)]))
    train, test = everything.split_random(0.1, 0)
    ordinary = FMF(rank=6, rounds=8).fit(train).evaluate(test, "rmse")["rmse"]
    assert said["test"] < 1.2 * ordinary
    assert len(made.predict([80], [40])) == 1  # neither has pairs


def test_a_fit_stops_and_goes_on(files, tmp_path):
    folder = tmp_path / "kept"
    asked = arguments(files, tmp_path / "m.fmf", "--validate", 0, "--checkpoint", folder, "--checkpoint-every", 1)
    asked[asked.index("--rounds") + 1] = 2
    assert CliRunner().invoke(main, ["fit_together", *map(str, asked)]).exit_code == 0
    asked[asked.index("--rounds") + 1] = 4
    refused = CliRunner().invoke(main, ["fit_together", *map(str, asked)])
    assert "it holds a checkpoint" in refused.output
    asked.append("--resume")
    assert CliRunner().invoke(main, ["fit_together", *map(str, asked)]).exit_code == 0
    whole = arguments(files, tmp_path / "whole.fmf", "--validate", 0)
    whole[whole.index("--rounds") + 1] = 4
    assert CliRunner().invoke(main, ["fit_together", *map(str, whole)]).exit_code == 0
    one, other = (Recommender.load(tmp_path / name).model for name in ("m.fmf", "whole.fmf"))
    assert one.P.tobytes() == other.P.tobytes()
    assert [r.objective for r in one.history] == [r.objective for r in other.history]


def test_a_fit_that_is_done_is_not_done_again(files, tmp_path):
    folder = tmp_path / "kept"
    asked = [*arguments(files, tmp_path / "m.fmf", "--checkpoint", folder, "--checkpoint-every", 1), "--resume"]
    first, again = (CliRunner().invoke(main, ["fit_together", *map(str, asked)]) for _ in range(2))
    assert first.exit_code == 0, first.output
    assert (folder / "refit" / "latest.json").exists()
    assert again.stdout == first.stdout


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--resume"], "--resume: give --checkpoint FOLDER"),
        (["--loss", "nope"], "no loss is called 'nope'"),
        (["--out", "/nowhere/m.fmf"], "there is no folder to write it to"),
        (["--shards", "1", "--rating", "stars"], "stars"),
    ],
)
def test_what_cannot_be_done_is_refused(files, tmp_path, more, message):
    done = CliRunner().invoke(main, ["fit_together", *map(str, arguments(files, tmp_path / "m.fmf", *more))])
    assert done.exit_code == 1
    assert message in done.output


def test_positives_are_trained_for_all_rounds(files, tmp_path):
    clicks = [tmp_path / f"clicks{n}.csv" for n in range(3)]
    for n, path in enumerate(clicks):
        pl.read_parquet(files / f"pairs{n}.parquet").select("user", "item").write_csv(path)
    asked = ["fit_together", *map(str, clicks), "--rank", "6", "--out", str(tmp_path / "m.fmf"), "--json"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["rounds"] == 12
    assert said["validation"] is said["test"] is None
    refused = CliRunner().invoke(main, [*asked, "--test", "0.1"])
    assert "rankings are not measured on several ranks yet" in refused.output
    assert CliRunner().invoke(main, [*asked, "--test", "0.1", "--metric", "mae"]).exit_code == 0


def test_pairs_come_before_the_tables_of_queries(files):
    asked = ["--queries", files / "users0.parquet", files / "pairs0.parquet"]
    done = CliRunner().invoke(main, ["fit_together", *map(str, asked)])
    assert done.exit_code == 2
    assert "no PAIRS: give them first" in done.output
    assert "Missing argument 'PAIRS...'" in CliRunner().invoke(main, ["fit_together"]).output


def test_a_command_that_has_no_form_for_several_processes_is_refused_there(files, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    done = CliRunner().invoke(main, ["evaluate", str(files / "m.fmf"), str(files / "pairs0.parquet")])
    assert done.exit_code == 2
    assert "2 processes, and each would run `fmfkit evaluate` alone" in done.output
    assert "fit, recommend" in done.output
