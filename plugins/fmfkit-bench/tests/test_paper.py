import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from fmfkit_bench.paper import cases
from fmfkit_bench.paper.command import EXPERIMENTS
from fmfkit_bench.paper.lab import BLOCK, Lab, method, parallel
from fmfkit_bench.shapes import Pairs

from fmfkit import solvers
from fmfkit.cli import main

pytest.importorskip("matplotlib")


def run(*arguments):
    result = CliRunner().invoke(main, ["bench", "paper", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


def read(folder):
    return json.loads((folder / "results.json").read_text())


def test_all_experiments_give_a_report_that_needs_nothing_else(tmp_path):
    output = run("--scale", "0.0005", "--rank", "4", "--rounds", "3", "--threads", "2", "--out", tmp_path)
    results = read(tmp_path)
    assert [section["name"] for section in results["sections"]] == list(EXPERIMENTS)
    assert results["about"]["cores"] >= 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", results["about"]["date"])
    claims = [claim for section in results["sections"] for claim in section["claims"]]
    for what in ("features help", "follows L2M", "smaller |S|", "within noise", "faster than Hogwild!", "linear"):
        assert any(what in claim["what"] for claim in claims), what
        assert what in output
    for name in ("test-rmse", "convergence", "speedup"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (tmp_path / f"{name}.svg").read_bytes()
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert report.count("data:image/svg+xml;base64,") == 3
    assert not re.search(r'(src|href)="(?!data:|#)', report)
    for section in results["sections"]:
        assert section["title"].replace("!", "!") in report


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_experiment_runs_alone_on_a_shape(tmp_path, name):
    run(
        name,
        "--shape",
        "ml10m",
        "--scale",
        "0.0005",
        "--rank",
        "4",
        "--rounds",
        "2",
        "--threads",
        "1",
        "--out",
        tmp_path,
    )
    (section,) = read(tmp_path)["sections"]
    assert section["name"] == name
    assert section["tables"][0]["rows"]


@pytest.mark.parametrize(
    ("given", "kind", "models"),
    [
        ({}, "ratings", {"MF", "FMF"}),
        ({"positives": True, "mutual": True}, "links", {"MF", "FMF-SNS", "FMF"}),
        ({"positives": True, "cold": True}, "tags", {"FMF"}),
    ],
)
def test_real_data_is_taken_as_the_task_that_it_is(npz, tmp_path, given, kind, models):
    path = npz(**given)
    case = cases.of_file(path, seed=0)
    assert (case.kind, set(case.subsets)) == (kind, models)
    run("features", "convergence", "--data", path, "--rank", "4", "--rounds", "3", "--out", tmp_path / "out")
    table = read(tmp_path / "out")["sections"][0]["tables"][0]
    assert {row[0] for row in table["rows"]} == models | {"popularity"}
    assert table["rows"][0][0] == "popularity"


def test_links_are_ranked_among_what_each_query_was_asked():
    test = Pairs(np.array([3, 3, 3, 7, 7, 9]), np.arange(6), np.array([0, 1, 0, 1, 0, 0], np.float32))
    ranking = cases.ranked_among_asked(test, np.array([0.3, 0.2, 0.1, 0.9, 0.1, 0.5]))
    np.testing.assert_array_equal(ranking.relevant, [1, 1, 0])
    assert ranking.map(1) == 0.5  # the second query's first is right; the third has no positive
    assert ranking.map(3) == pytest.approx((1 / 2 + 1) / 2)
    equal = cases.ranked_among_asked(test, np.zeros(6))
    assert equal.map(1) == 0  # of equal scores, the negatives come first


def test_test_users_are_mostly_new_and_test_images_always():
    links = cases.generated("weibo", 0.002, 0)
    users = np.unique(links.test.query)
    assert 0.5 < np.mean(~np.isin(users, links.train.query)) < 0.9
    tags = cases.generated("flickr", 0.002, 0)
    assert not np.isin(tags.test.query, tags.train.query).any()
    assert tags.test.score.min() == 1
    drawn = np.mean(tags.train.score == 0) / np.mean(tags.train.score == 1)
    assert drawn == pytest.approx(cases.NEGATIVES, rel=0.1)


def test_popularity_knows_targets_only():
    case = cases.generated("ml10m", 0.002, 0)
    mean = float(case.train.score.mean())
    known = float(np.sqrt(np.mean(np.square(case.test.score - mean))))
    assert case.popularity()["RMSE"] < known


def test_methods_are_named_as_in_the_paper():
    assert (parallel(50), parallel(5000), parallel(50000)) == ("PL2M-50", "PL2M-5K", "PL2M-50K")
    assert method("PL2M-5K").scheduler.size == 5000
    assert method("L2M") == solvers.L2M()
    assert method(BLOCK) == solvers.PL2M()


def test_a_model_is_trained_once():
    case = cases.generated("ml10m", 0.002, 0)
    said = []
    lab = Lab([case], [case], rank=4, seed=0, threads=1, rounds=2, say=said.append)
    assert lab.curve(case, "L2M") is lab.curve(case, "L2M")
    assert len(said) == 1
    assert len(lab.curve(case, "L2M").objective) == 3


def test_wrong_use_exits_with_2():
    for arguments in (["nonsense"], ["--scale", "2"], ["--data", "absent.npz"]):
        assert CliRunner().invoke(main, ["bench", "paper", *arguments]).exit_code == 2
