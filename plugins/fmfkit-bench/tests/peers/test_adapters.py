import ast
import importlib.util
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from fmfkit_bench.peers.adapters import SYSTEMS, fmfkit, irspack
from fmfkit_bench.peers.judging import Watch

from fmfkit import FMF
from fmfkit.search import start


def test_what_is_searched_for_ratings_multiplies_learnt_strengths(npz, task_of, monkeypatch):
    given = []
    monkeypatch.setattr(fmfkit, "FMF", lambda **options: given.append(options) or FMF(**options))
    task, judge = task_of(npz())
    peer = fmfkit.Fmfkit()
    settings = start(peer.knobs(task))
    assert settings == {"shrink": 1.0, "spread": 1.0}
    peer.train(task, settings | {"shrink": 2.0}, Watch(judge).note)
    assert given[0]["shrink"] == 2.0
    assert "l2" not in given[0]


@pytest.mark.filterwarnings("ignore")  # of the systems' own
@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
@pytest.mark.parametrize("given", [{}, {"positives": True, "mutual": True}, {"positives": True, "cold": True}])
def test_every_adapter_whose_system_is_installed_trains_scores_and_ranks(npz, task_of, system, given):
    task, judge = task_of(npz(**given))
    if reason := system.missing():
        pytest.skip(reason)
    peer = system.peer()
    if reason := peer.reason_to_skip(task):
        pytest.skip(reason)
    peer.load()
    watch = Watch(judge)
    peer.train(task, start(peer.knobs(task)), watch.note)
    assert 1 <= len(watch.values) <= task.rounds
    assert np.isfinite(judge.value(watch.last))
    score = watch.last.score(judge.test.query, judge.test.target)
    assert np.isfinite(score).all()
    if not system.bayesian:
        ranked = watch.last.top(judge.queries, 3, judge.known)
        assert ranked.shape == (len(judge.queries), 3)
        known = judge.known[judge.queries].toarray() > 0
        assert not any(known[k][ranked[k][ranked[k] >= 0]].any() for k in range(len(ranked)))


def test_new_queries_have_no_identity_for_fmfkit(npz, task_of):
    task, _ = task_of(npz(positives=True, cold=True))
    knobs = fmfkit.Fmfkit().knobs(task)
    assert "query.words" in knobs
    assert "query.indicator" not in knobs
    task, _ = task_of(npz(positives=True, mutual=True))
    assert "query.indicator" in fmfkit.Fmfkit().knobs(task)


def test_irspack_is_trained_on_instances_with_pairs_only(npz, task_of):
    task, _ = task_of(npz(positives=True, cold=True))
    side = irspack.Side.of(task, 0, features=True)
    assert len(side.rows) < side.size == task.data.shape[0]
    assert side.options(1.0)["user_features"].shape[0] == len(side.rows)
    embedding = side.embedding(
        SimpleNamespace(
            get_user_embedding=lambda: np.ones((len(side.rows), 2)),
            compute_user_embedding_from_features=lambda features: np.full((features.shape[0], 2), 7.0),
        )
    )
    known = np.isin(np.arange(side.size), side.rows)
    assert (embedding[known] == 1).all()
    assert (embedding[~known] == 7).all()


def test_fmfkit_without_a_setting_has_nothing_to_search(npz, task_of):
    task, judge = task_of(npz(positives=True, mutual=True))
    peer = fmfkit.Untuned()
    assert peer.knobs(task) == {}
    watch = Watch(judge)
    peer.train(task, {}, watch.note)
    assert len(watch.values) == 1
    assert watch.last.model.P.shape[0] == sum(block.shape[1] for block in task.sides[0].values())


def test_listing_the_systems_imports_no_adapter():
    code = "import sys; from fmfkit_bench.peers.registry import Registry; Registry(); print(sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    loaded = [name for name in ast.literal_eval(out) if name.startswith("fmfkit_bench.peers.adapters.")]
    assert loaded == []


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_every_adapter_can_be_imported_without_its_system(system):
    module, _, name = system.adapter.partition(":")
    assert importlib.util.find_spec(module) is not None
    assert type(system.peer()).__name__ == name
