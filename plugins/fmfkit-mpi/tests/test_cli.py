import importlib
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


def test_a_fit_stops_and_goes_on(files, tmp_path, monkeypatch):
    folder = tmp_path / "kept"

    def fill_the_disk(event):
        if event.record.round == 3 and not (folder / "gone").exists():
            (folder / "gone").touch()
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("fmfkit_mpi.cli._progress", fill_the_disk)
    asked = arguments(files, tmp_path / "m.fmf", "--validate", 0, "--checkpoint", folder, "--checkpoint-every", 1)
    asked.remove("--json")
    asked[asked.index("--rounds") + 1] = 4
    stopped = CliRunner().invoke(main, ["fit_together", *map(str, asked)])
    assert "No space left" in stopped.output
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--rank", "7"], "rank was 6 and is 7"),
        (["--seed", "1"], "seed was 0 and is 1"),
        (["--validate", "0.2"], "validate was 0.1 and is 0.2"),
        (["--targets", "shuffled"], "targets differs"),
        (["--queries", "older"], "queries differs"),
    ],
)
def test_what_is_gone_on_from_must_be_the_same(files, tmp_path, change, message):
    items, users = (pl.read_parquet(files / f"{name}.parquet") for name in ("items", "users0"))
    made = {"shuffled": items.with_columns(pl.col("genre").reverse()), "older": users.with_columns(pl.col("age") + 1)}
    change = list(change)
    if change[1] in made:
        made[change[1]].write_parquet(tmp_path / "other.parquet")
        change[1] = tmp_path / "other.parquet"
        if change[0] == "--queries":
            change = ["--queries", tmp_path / "other.parquet", files / "users1.parquet"]
    asked = arguments(files, tmp_path / "m.fmf", "--checkpoint", tmp_path / "kept", "--resume")
    assert CliRunner().invoke(main, ["fit_together", *map(str, asked)]).exit_code == 0
    if change[0] == "--queries":
        asked[3:6] = change
    else:
        asked += change
    done = CliRunner().invoke(main, ["fit_together", *map(str, asked)])
    assert done.exit_code == 1
    assert message in done.output


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
        (["--targets", "nowhere.csv"], "nowhere.csv: there is no such file"),
        (["--resume"], "--resume: give --checkpoint FOLDER"),
        (["--loss", "nope"], "no loss is called 'nope'"),
        (["--out", "/nowhere/m.fmf"], "there is no folder to write it to"),
        (["--out", "/dev/null"], "it is a device"),
        (["--out", "/proc/m.fmf"], "/proc/m.fmf: cannot be written"),
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


def test_every_option_of_one_process_is_there_or_refused_with_the_reason():
    for name in ("fit", "recommend"):
        ours = main.get_command(None, f"{name}_together")
        theirs = importlib.import_module(f"fmfkit.cli.{name}").command
        known = {flag for one in ours.params for flag in (*one.opts, *one.secondary_opts)} | ours.refused.keys()
        assert {flag for one in theirs.params for flag in (*one.opts, *one.secondary_opts)} <= known


@pytest.mark.parametrize("more", [["--split", "time"], ["--tune", "3"], ["--duplicates", "last"], ["--solver", "sgd"]])
def test_options_of_one_process_are_refused_in_a_line(files, tmp_path, more):
    done = CliRunner().invoke(main, ["fit_together", *map(str, arguments(files, tmp_path / "m.fmf", *more))])
    assert done.exit_code == 2
    assert f"Error: {more[0]}: " in done.output
    assert "No such option" not in done.output


def test_a_toml_file_is_refused(tmp_path):
    (tmp_path / "fit.toml").touch()
    done = CliRunner().invoke(main, ["fit_together", str(tmp_path / "fit.toml")])
    assert "fit.toml: TOML files are for one process" in done.output


def test_the_model_has_the_attributes_and_the_labels_that_the_ordinary_fit_writes(files, tmp_path):
    made = CliRunner().invoke(main, ["fit_together", *map(str, arguments(files, tmp_path / "m.fmf"))])
    assert made.exit_code == 0, made.output
    mine = Recommender.load(tmp_path / "m.fmf")
    pairs = pl.concat([pl.read_parquet(files / f"pairs{n}.parquet") for n in range(3)])
    data = Dataset.of(pairs, targets=pl.read_parquet(files / "items.parquet"))
    theirs = FMF(rank=6, rounds=2).fit(data)
    key = theirs.encoder.targets.ids.values
    assert dict(zip(range(41), mine.attributes["genre"], strict=True)) == dict(
        zip(key, theirs.attributes["genre"], strict=True)
    )
    assert mine.recommend([0], 3, where={"genre": "g1"}).height == 3


def test_a_folder_that_holds_something_is_refused(files, tmp_path):
    assert CliRunner().invoke(main, ["fit_together", *map(str, arguments(files, tmp_path / "m.fmf"))]).exit_code == 0
    asked = ["recommend_together", str(tmp_path / "m.fmf"), "--out", str(tmp_path / "best")]
    assert CliRunner().invoke(main, asked).exit_code == 0
    done = CliRunner().invoke(main, [*asked, "-k", "3"])
    assert done.exit_code == 1
    assert "best: it is not empty, it holds part-" in done.output


def test_a_model_that_cannot_be_written_is_kept_elsewhere(files, tmp_path, monkeypatch):
    save = Recommender.save

    def fail_there(self, path):
        if str(path) == str(tmp_path / "m.fmf"):
            raise OSError(28, "No space left on device")
        save(self, path)

    monkeypatch.setattr(Recommender, "save", fail_there)
    done = CliRunner().invoke(main, ["fit_together", *map(str, arguments(files, tmp_path / "m.fmf"))])
    assert "the model is not lost: it was saved as" in done.output


def test_a_part_that_cannot_be_written_is_named(files, tmp_path, monkeypatch):
    assert CliRunner().invoke(main, ["fit_together", *map(str, arguments(files, tmp_path / "m.fmf"))]).exit_code == 0

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fmfkit.files.os.fsync", full)
    done = CliRunner().invoke(main, ["recommend_together", str(tmp_path / "m.fmf"), "--out", str(tmp_path / "best")])
    assert done.exit_code == 1
    assert "part-000000000000.parquet: cannot be written: No space left on device" in done.output
    assert list((tmp_path / "best").iterdir()) == []


def test_columns_and_positives_are_told(files, tmp_path):
    ones = tmp_path / "ones.csv"
    pairs = pl.read_parquet(files / "pairs0.parquet").with_columns(rating=pl.lit(1), place=pl.lit("x"))
    pairs.write_csv(ones)
    asked = ["fit_together", str(ones), "--rank", "3", "--history", "--out", str(tmp_path / "m.fmf")]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    assert "600 pairs of 80 queries (0 without pairs) and 40 targets (0 without); positives only" in done.output
    assert "all 600 values are 1: taken as positives only" in done.output
    assert "not used: columns 'place' of the pairs" in done.output


def test_an_error_of_usage_is_told_once(mpiexec):
    done = mpiexec(3, "fmfkit", "fit", "--nothing")
    assert done.returncode != 0
    assert done.stderr.count("No such option") == 1


def test_one_process_of_a_launcher_is_one_rank(files, tmp_path, monkeypatch):
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv("PMI_SIZE", "1")
    done = CliRunner().invoke(main, ["fit", *map(str, arguments(files, tmp_path / "m.fmf"))])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["ranks"] == 1
