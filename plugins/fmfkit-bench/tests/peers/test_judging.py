import attrs
import numpy as np
import pytest
from fmfkit_bench import core
from fmfkit_bench.peers import judging
from fmfkit_bench.peers.interface import Factors
from fmfkit_bench.peers.judging import Judge, Watch


@pytest.mark.parametrize("ranking", [False, True])
def test_no_number_is_worse_than_any(npz, task_of, ranking):
    judge = attrs.evolve(task_of(npz())[1], ranking=ranking)
    watch = Watch(judge, values=[np.nan, 2.0, np.nan, 1.0])
    assert watch.best == (2 if ranking else 4)


def test_the_error_is_that_of_the_held_out_pairs(npz, task_of):
    task, judge = task_of(npz())
    constant = Factors(np.zeros((task.data.shape[0], 1)), np.zeros((task.data.shape[1], 1)), 3.0)
    assert judge.value(constant) == pytest.approx(float(np.sqrt(np.mean(np.square(core.y_of(judge.test) - 3.0)))))
    assert judge.everything(constant) == {"RMSE": judge.value(constant)}


def test_rankings_are_judged_by_some_queries(npz, task_of):
    task, judge = task_of(npz(positives=True, mutual=True))
    fewer = Judge.of(task, judge.test, 3)
    assert len(fewer.queries) == 3
    assert np.isin(fewer.queries, judge.queries).all()


def test_rankings_are_judged_by_what_is_asked_for_and_shown_by_depths(npz, task_of, monkeypatch):
    task, judge = task_of(npz(positives=True, mutual=True))
    rng = np.random.default_rng(0)
    model = Factors(rng.normal(size=(task.data.shape[0], 3)), rng.normal(size=(task.data.shape[1], 3)))
    shown = judge.everything(model)
    assert list(shown) == ["P@1", "MAP", "MAP@5", "recall@20", "ndcg@20"]  # there are 30 targets
    assert attrs.evolve(judge, decides="recall@20").value(model) == pytest.approx(shown["recall@20"])
    monkeypatch.setattr(judging, "QUERIES_AT_ONCE", 7)
    assert judge.everything(model) == pytest.approx(shown)
    monkeypatch.setattr(judging, "DEEPEST", 10)
    monkeypatch.setattr(judging, "FIRST", 25)
    assert list(judge.everything(model))[1] == "MAP@25"


@pytest.mark.parametrize("wrong", ["recall", "recall@0", "rmse@3", "@5"])
def test_other_metrics_cannot_decide_between_rankings(wrong):
    with pytest.raises(ValueError, match="such as recall@20, got"):
        judging.ranking_metric(wrong)
