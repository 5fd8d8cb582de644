import numpy as np
import pytest
from fmfkit_bench.data.pairs import Pairs
from fmfkit_bench.paper import cases
from fmfkit_bench.results import sections


@pytest.mark.parametrize(
    ("given", "kind", "models"),
    [
        ({}, "ratings", {"MF", "FMF"}),
        ({"positives": True, "mutual": True}, "links", {"MF", "FMF-SNS", "FMF"}),
        ({"positives": True, "cold": True}, "tags", {"FMF"}),
    ],
)
def test_real_data_is_taken_as_the_task_that_it_is(npz, bench, tmp_path, given, kind, models):
    path = npz(**given)
    case = cases.of_file(path, seed=0)
    assert (case.kind, set(case.subsets)) == (kind, models)
    out = tmp_path / "out"
    bench("paper", "features", "convergence", "--data", path, "--rank", 4, "--rounds", 3, "--out", out)
    results = sections.read(out / "results.json")
    table = results.sections[0].tables[0]
    assert {row[0] for row in table.rows} == models | {"popularity"}
    assert table.rows[0][0] == "popularity"
    assert "--scale" not in results.about["command"]


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
    assert tags.test.y.min() == 1
    drawn = np.mean(tags.train.y == 0) / np.mean(tags.train.y == 1)
    assert drawn == pytest.approx(cases.NEGATIVES, rel=0.1)


def test_popularity_knows_targets_only():
    case = cases.generated("ml10m", 0.002, 0)
    mean = float(case.train.y.mean())
    known = float(np.sqrt(np.mean(np.square(case.test.y - mean))))
    assert case.popularity()["RMSE"] < known
