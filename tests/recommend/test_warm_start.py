"""A fit that starts from a model: what was there keeps its place, its settings and its loss."""

import attrs
import numpy as np
import pytest
import scipy.sparse as sp
from bookshop import grown_tables
from numpy_plugins import PseudoHuber

from fmfkit import FMF, examples, losses, solvers
from fmfkit.data import Categorical, Dataset, Numeric, SideTable, Tags
from fmfkit.errors import DataError
from fmfkit.recommend.recommender import Recommender


def test_a_fit_that_starts_from_a_model_adds_ids_and_features_and_keeps_the_rest():
    first, books, second, more = grown_tables()
    blocks = [Tags("genres"), Numeric("year")]
    before = FMF(rank=3, rounds=4).fit(Dataset.of(first, targets=SideTable(books, blocks=blocks), history=True))
    data = Dataset.of(second, targets=SideTable(more, blocks=[*blocks, Categorical("country")]), history=True)
    start = []
    after = FMF(rank=3, rounds=3).fit(data, start=before, callbacks=lambda event: start.append(event.state.P.copy()))
    assert after.encoder.queries.ids.at(range(4)) == ["a", "b", "c", "d"]
    assert after.encoder.targets.ids.at(range(4)) == [1, 2, 3, 4]
    assert after.encoder.targets.names()["genres"] == ("sea", "war", "space")
    np.testing.assert_array_equal(start[0][:3], before.model.P[:3])
    Z = {name: after.model.Z.blocks[name] for name in ("genres", "year", "country")}
    dense = np.zeros((4, after.model.Z.cols))
    for row in range(4):
        begin, end = after.model.Z.row_ptr[row : row + 2]
        dense[row, after.model.Z.row_index[begin:end]] = after.model.Z.values_by_row(row, row + 1)
    np.testing.assert_array_equal(dense[:, Z["genres"]], [[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 1]])
    np.testing.assert_array_equal(dense[:, Z["country"]], [[0, 0], [1, 0], [0, 0], [0, 1]])
    deviation = np.std([1900, 1950, 2000])
    np.testing.assert_allclose(
        dense[:, Z["year"]].ravel(), (np.array([1900, 1950, 2000, 2020]) - 1950) / deviation, rtol=1e-5
    )
    assert after.seen.nnz == 8
    assert after.model.history[0].round == 4
    assert after.model.offset == before.model.offset
    assert "b" in after.recommend(k=2)["query"]


def test_a_fit_that_starts_from_a_model_learns_new_pairs_without_forgetting(data, tmp_path):
    train, test = data.split_random(0.2)
    warm, cold = train.split_cold("query", 0.3)
    front = FMF(rank=8, l2=0.1, rounds=8)
    before = front.fit(warm)
    before.save(tmp_path / "model")
    after = front.fit(cold, start=Recommender.load(tmp_path / "model"))
    cold_test = test.only(np.isin(test.query, cold.query))
    warm_test = test.only(~np.isin(test.query, cold.query))
    assert after.evaluate(cold_test)["rmse"] < 0.9 * before.evaluate(cold_test)["rmse"]
    assert after.evaluate(warm_test)["rmse"] < 1.05 * before.evaluate(warm_test)["rmse"]
    assert after.seen.nnz == len(train)
    np.testing.assert_allclose(
        after.seen.toarray(),
        sp.csr_array((train.y.astype(np.float32), (train.query, train.target)), shape=train.shape).toarray(),
    )


def test_pairs_told_anew_replace_the_remembered_ones_and_held_out_ones_are_forgotten():
    first, books, _, _ = grown_tables()
    before = FMF(rank=3).fit(Dataset.of(first | {"weight": [1.0, 2, 3, 4, 5]}, targets=books))
    again = Dataset.of({"reader": ["a", "c", "c"], "book": [1, 2, 3], "rating": [1.0, 2.0, 3.0]})
    after = FMF(rank=3).fit(again.only(again.target != 1), validate=again.only(again.target == 1), start=before)
    np.testing.assert_array_equal(
        after.seen.toarray(), [[1, 3, 0], [4, 0, 2], [0, 0, 3]]
    )  # the pair of c and 2 is held out
    np.testing.assert_array_equal(after.weight, [1, 2, 3, 4, 1])


def test_a_start_of_another_rank_or_kind_of_block_is_refused(data, trained):
    with pytest.raises(ValueError, match="rank: expected 8, as the model to start from has, got 4"):
        FMF(rank=4).fit(data, start=trained)
    first, books, second, more = grown_tables()
    before = FMF(rank=3).fit(Dataset.of(first, targets=SideTable(books, blocks=[Tags("genres")])))
    with pytest.raises(DataError, match="block 'genres' is categorical, in the model it is tags"):
        FMF(rank=3).fit(Dataset.of(second, targets=SideTable(more, blocks=[Categorical("genres")])), start=before)


def test_drawn_pairs_do_not_replace_remembered_ones():
    front = FMF(rank=2, rounds=2, loss="logistic")
    before = front.fit(Dataset.of({"user": [1, 1, 1, 2], "item": [1, 2, 3, 4]}).with_negatives(1))
    more = Dataset.of({"user": [1, 2], "item": [4, 3]}, targets={"item": [1, 2, 3, 4]}).with_negatives(2, seed=0)
    after = front.fit(more, start=before)
    np.testing.assert_array_equal(after.seen.toarray(), [[1, 1, 1, 1], [0, 0, 1, 1]])


def saved(recommender, folder):
    recommender.save(folder / "model")
    return Recommender.load(folder / "model")


@pytest.fixture(scope="module")
def ranker(positives):
    """A model of two classes with a loss, negatives and a solver that are not the defaults."""
    first, _ = positives.split_random(0.2)
    return FMF(rank=3, loss="logistic", negatives=2, solver="pl2m", l2=0.3, rounds=2).fit(first)


@pytest.mark.parametrize("through_a_file", [False, True])
def test_a_start_keeps_the_loss_the_negatives_and_the_solver_of_its_model(positives, ranker, tmp_path, through_a_file):
    _, more = positives.split_random(0.2)
    start = saved(ranker, tmp_path) if through_a_file else ranker
    shown = []
    after = FMF(rounds=1).fit(more, start=start, callbacks=shown.append)
    assert after.model.loss == losses.Logistic()
    assert (after.model.rank, after.settings.l2, after.settings.negatives) == (3, 0.3, 2)
    pairs = shown[0].problem.query.pairs
    assert (pairs.y == 1).sum() == len(positives)
    assert (pairs.y == 0).sum() == 2 * len(positives)
    assert shown[-1].state.solver == solvers.PL2M()
    assert shown[-1].last == 3  # what is given is not the model's
    again = saved(after, tmp_path)
    assert again.settings == after.settings  # and so on from start to start
    assert FMF(rounds=1).fit(more, start=again).model.loss == losses.Logistic()


@pytest.mark.parametrize("through_a_file", [False, True])
def test_a_start_refuses_another_loss(positives, ranker, tmp_path, through_a_file):
    start = saved(ranker, tmp_path) if through_a_file else ranker
    for loss in ("square", losses.Square()):
        with pytest.raises(ValueError, match=r"loss: the model to start from was trained with Logistic\(\); asked for"):
            FMF(loss=loss).fit(positives, start=start)
    FMF(loss="logistic", rounds=1).fit(positives, start=start)  # the same loss may be said


@attrs.frozen(kw_only=True)
class Mine(solvers.L2M):
    """A solver that no plugin offers."""


def test_a_solver_that_no_plugin_offers_must_be_given_again(data, tmp_path):
    before = FMF(rank=2, rounds=1, l2=0.5, solver=Mine()).fit(data)
    shown = []
    FMF(rounds=1).fit(data, start=before, callbacks=shown.append)
    assert shown[-1].state.solver == Mine()
    start = saved(before, tmp_path)
    assert start.lost == {"solver": "Mine()"}
    with pytest.raises(ValueError, match=r"solver: .* was trained with Mine\(\), which no plugin offers; give solver="):
        FMF(rounds=1).fit(data, start=start)
    assert FMF(rounds=1, solver=Mine()).fit(data, start=start).settings.solver == Mine()


def test_a_loss_that_no_plugin_offers_is_given_to_load_and_kept_from_there(data, tmp_path):
    FMF(rank=2, rounds=1, loss=PseudoHuber()).fit(data).save(tmp_path / "model")
    start = Recommender.load(tmp_path / "model", loss=PseudoHuber())
    assert FMF(rounds=1).fit(data, start=start).model.loss == PseudoHuber()


def test_a_start_may_be_given_another_penalty(tmp_path):
    pairs = {"user": [1, 1, 2, 2], "item": [1, 2, 1, 3], "rating": [1.0, 2.0, 3.0, 4.0]}
    before = FMF(rank=2, rounds=2, l2=0.1).fit(Dataset.of(pairs))
    after = FMF(regularizer="elastic_net").fit(Dataset.of(pairs), start=before)
    assert after.settings.regularizer == "elastic_net"
    assert FMF(l2=0.3).fit(Dataset.of(pairs), start=after).settings.l2 == 0.3


def yesterday(**described):
    """A model of books that readers like by genre, as it is made of tables that nobody described."""
    ratings, _, books = examples.ratings(readers=80, books=60)
    return FMF(rank=3, rounds=3).fit(Dataset.of(ratings, targets=SideTable(books, label="author", **described)))


def today(**columns):
    """An update by two pairs, with a row for one new book."""
    book = {"book": [500], "title": ["Book 500"], "genres": ["sea|space"], "author": ["author 3"], "year": [2004]}
    pairs = {"reader": [17, 17], "book": [3, 500], "rating": [5.0, 1.0]}
    return Dataset.of(pairs, targets={name: columns.get(name, values) for name, values in book.items()})


def test_a_single_new_instance_gets_all_features_that_its_model_has():
    before = yesterday()
    after = FMF(rounds=1).fit(today(), start=before)
    blocks = {part.block for part in after.explain(17, 500).by_target}
    assert {"indicator", "genres", "year"} <= blocks
    assert after.encoder.targets.widths() == before.encoder.targets.widths() | {"indicator": 61}
    assert after.recommend([18], k=60, where=["genres=sea", "year>=2004"], seen=True)["target"].is_in([500]).any()
    assert after.recommend([18], k=1, targets=[500])["label"].to_list() == ["author 3"]  # the label of its start
    as_before = before.recommend([18], k=60, where="year>=1900", seen=True)["target"]
    assert set(as_before) < set(after.recommend([18], k=61, where="year>=1900", seen=True)["target"])


def test_the_report_on_an_update_tells_of_the_blocks_of_its_model():
    before = yesterday()
    told = today().report(start=before.encoder)
    blocks = {f"{block.side}.{block.name}": block for block in told.blocks}
    assert blocks["target.genres"].nonzeros == 2
    assert "no features" not in str(told)


def test_an_update_whose_column_is_empty_or_of_another_kind_keeps_what_the_model_knows():
    before = yesterday()
    assert FMF(rounds=1).fit(today(year=[None]), start=before).attributes["year"][:60].null_count() == 0
    with pytest.raises(DataError, match="block 'year': column 'year' holds text, where it wants numbers"):
        FMF(rounds=1).fit(today(year=["soon"]), start=before)
    before = yesterday(blocks=[Tags("genres")])
    with pytest.warns(UserWarning, match="1 values of 'year', such as 'soon', are no Int64, as in the model"):
        after = FMF(rounds=1).fit(today(year=["soon"]), start=before)
    assert after.attributes["year"][:60].null_count() == 0
