"""Answers in pandas, if asked for."""

import pytest

from fmfkit import FMF, Dataset

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def trained():
    frame = pd.DataFrame({"user": ["a", "a", "b", "b"], "item": [1, 2, 2, 3], "rating": [1.0, 2.0, 3.0, 4.0]})
    return FMF(rank=1, rounds=2, l2=0.1).fit(Dataset.of(frame))


def test_frames_come_back_as_frames_of_pandas_with_the_same_values(trained):
    ours, theirs = trained.recommend(["a"], 2), trained.pandas.recommend(["a"], 2)
    assert isinstance(theirs, pd.DataFrame)
    assert theirs.to_dict("list") == ours.to_dict(as_series=False)
    pairs = pd.DataFrame({"user": ["a", "b"], "item": [3, 1]})
    table = trained.pandas.predict_table(pairs)
    assert list(table.columns) == ["user", "item", "predicted"]
    pd.testing.assert_frame_equal(table[["user", "item"]].reset_index(drop=True), pairs, check_dtype=False)


def test_all_else_is_as_it_is(trained):
    assert trained.pandas.model is trained.model
    assert trained.pandas.score(["a"], [3]) == trained.score(["a"], [3])
    assert trained.pandas.recommend.__doc__ == trained.recommend.__doc__
    with pytest.raises(AttributeError, match="nothing"):
        trained.pandas.nothing()
