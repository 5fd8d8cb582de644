import json
import re
from pathlib import Path
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from fmfkit_bench import real
from fmfkit_bench.peers import adapters, hooks, search
from fmfkit_bench.peers.interface import Choice, Factors, Number, Task, best_of
from fmfkit_bench.peers.race import Outcome, section
from fmfkit_bench.peers.search import Found, Judge, Watch
from fmfkit_bench.peers.worker import Job, Measured
from fmfkit_bench.sections import Section

from fmfkit import FMF
from fmfkit.cli import main

README = Path(__file__).parents[1] / "README.md"
MORE = """

class Absent(Means):
    name, module, install = "absent", "no_such_module", "no-such-package"


class Broken(Means):
    name = "broken"

    def train(self, task, settings, note):
        raise ValueError("it broke")


class Counts(Means):
    name, ranks = "counts", True

    def train(self, task, settings, note):
        (queries, targets), seen = task.data.shape, np.bincount(task.data.target, minlength=task.data.shape[1])
        note(lambda: Factors(np.zeros((queries, 1)), np.zeros((targets, 1)), 0.0, seen * 1.0))


@hookimpl
def fmfkit_bench_peers():
    return [Means(), Absent(), Broken(), Counts()]
"""


@pytest.fixture
def toys(tmp_path, monkeypatch):
    """A plugin with the README's system and some more, installed where processes find it."""
    place = tmp_path / "installed"
    about = place / "toys-1.0.dist-info"
    about.mkdir(parents=True)
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (place / "toys.py").write_text(example + MORE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[fmfkit_bench]\ntoys = toys\n")
    monkeypatch.syspath_prepend(place)
    monkeypatch.setenv("PYTHONPATH", str(place))


def race(*arguments):
    result = CliRunner().invoke(main, ["bench", "peers", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


SMALL = ("--rank", "4", "--rounds", "8", "--trials", "3", "--threads", "2", "--budget", "20")


@pytest.mark.parametrize(
    ("given", "metrics", "other"),
    [({}, ["RMSE"], "means"), ({"positives": True, "mutual": True}, ["P@1", "MAP", "MAP@5"], "counts")],
)
def test_fmfkit_and_a_plugins_system_run_side_by_side(toys, npz, tmp_path, given, metrics, other):
    out = tmp_path / "out.json"
    peers = [word for name in (other, "absent", "broken") for word in ("--peer", name)]
    output = race(npz(**given), *SMALL, *peers, "--json", out)
    (found,) = json.loads(out.read_text())["sections"]
    table, skipped = found["tables"]
    assert table["columns"][1 : 1 + len(metrics)] == metrics
    rows = {row[0]: dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}
    assert set(rows) == {"fmfkit", other}
    assert rows["fmfkit"]["runs agree"] == "yes"
    for row in rows.values():
        assert row["s"] > 0
        assert row["trials"] == 3
    assert dict(skipped["rows"]) == {
        "absent": "not installed (python -m pip install no-such-package)",
        "broken": "does not rank positives" if "P@1" in metrics else "failed: ValueError: it broke",
    }
    assert len(found["claims"]) == 2
    assert "pass" in output or "FAIL" in output


def test_generated_data_runs_too(toys):
    assert "ml10m: on the test part" in race("--shape", "ml10m", "--scale", "0.002", "--peer", "means", *SMALL)


def test_the_file_of_a_run_that_was_ended_tells_the_command_for_what_it_holds(npz, tmp_path, monkeypatch):
    def ended(files, names, job, limit, say):
        yield Section("one", "one", "")
        raise KeyboardInterrupt

    monkeypatch.setattr("fmfkit_bench.peers.race.run", ended)
    first, out = npz(), tmp_path / "out.json"
    result = CliRunner().invoke(
        main, ["bench", "peers", str(first), "--shape", "ml10m", "--scale", "0.002", "--json", str(out)]
    )
    assert result.exit_code != 0
    command = json.loads(out.read_text())["about"]["command"]
    assert command.startswith(f"fmfkit bench peers {first.name} --rank 64")


def test_wrong_use_exits_with_2(npz):
    for arguments in ([], [str(npz()), "--peer", "nobody"], ["absent.npz"]):
        result = CliRunner().invoke(main, ["bench", "peers", *arguments])
        assert result.exit_code == 2, result.output
    assert "give FILES" in CliRunner().invoke(main, ["bench", "peers"]).output


def task_of(path, threads=1):
    data = real.load(path)
    train, held_out = data.parts(data.train, 0)
    task = Task(
        data=train,
        ranking=data.positives_only,
        new_queries=data.cold == "query",
        rank=4,
        threads=threads,
        seed=0,
        rounds=4,
    )
    return task, Judge.of(task, held_out)


def test_a_rating_s_penalty_means_about_the_same_whatever_its_scale(npz, monkeypatch):
    given = []
    monkeypatch.setattr(adapters, "FMF", lambda **options: given.append(options) or FMF(**options))
    task, judge = task_of(npz())
    peer = hooks.known()["fmfkit"]
    settings = search.start(peer.knobs(task))
    for scale in ("observations", "uniform"):
        peer.train(task, settings | {"scale": scale}, Watch(judge).note)
    assert given[0]["l2"] == settings["l2"]
    assert given[1]["l2"] == pytest.approx(settings["l2"] * len(task.data) / max(task.data.shape))
    assert [options["scale"] for options in given] == ["observations", "uniform"]


@pytest.mark.parametrize("ranking", [False, True])
def test_no_number_is_worse_than_any(npz, ranking):
    judge = attrs.evolve(task_of(npz())[1], ranking=ranking)
    watch = Watch(judge, values=[np.nan, 2.0, np.nan, 1.0])
    assert watch.best == (2 if ranking else 4)


@pytest.mark.filterwarnings("ignore")  # of the systems' own
@pytest.mark.parametrize("name", hooks.known())
@pytest.mark.parametrize("given", [{}, {"positives": True, "mutual": True}, {"positives": True, "cold": True}])
def test_every_adapter_whose_system_is_installed_trains_scores_and_ranks(npz, name, given):
    task, judge = task_of(npz(**given))
    peer = hooks.known()[name]
    if reason := peer.reason_to_skip(task):
        pytest.skip(reason)
    watch = Watch(judge)
    peer.train(task, search.start(peer.knobs(task)), watch.note)
    assert 1 <= len(watch.values) <= task.rounds
    assert np.isfinite(judge.value(watch.last))
    score = watch.last.score(judge.test.query, judge.test.target)
    assert np.isfinite(score).all()
    if not peer.bayesian:
        ranked = watch.last.top(judge.queries, 3, judge.known)
        assert ranked.shape == (len(judge.queries), 3)
        known = judge.known[judge.queries].toarray() > 0
        assert not any(known[k][ranked[k][ranked[k] >= 0]].any() for k in range(len(ranked)))


def test_the_best_leave_out_what_is_known():
    known = sp.csr_matrix(np.array([[0, 1, 0, 0], [1, 1, 1, 0]]))
    score = np.array([[0.1, 0.9, 0.3, 0.2], [0.5, 0.6, 0.7, 0.1]])
    np.testing.assert_array_equal(best_of(score.copy(), 2, known), [[2, 3], [3, -1]])
    np.testing.assert_array_equal(best_of(score.copy(), 9, known), [[2, 3, 0, -1], [3, -1, -1, -1]])
    factors = Factors(np.ones((2, 1)), score[0][:, None], 5.0, np.zeros(4))
    np.testing.assert_allclose(factors.score(np.array([0, 1]), np.array([1, 2])), [5.9, 5.3])
    np.testing.assert_array_equal(factors.top(np.array([0, 1]), 1, known), [[2], [3]])


def test_a_search_keeps_to_bounds_and_begins_where_it_is_told():
    knobs = {"a": Number(2.0, 1.0, 3.0), "n": Number(10, 2, 12, whole=True), "c": Choice(("x", "y"))}
    assert search.start(knobs) == {"a": 2.0, "n": 10, "c": "x"}
    rng = np.random.default_rng(0)
    seen = [search.step(knobs, search.start(knobs), rng, n) for n in range(60)]
    assert all(1 <= one["a"] <= 3 and 2 <= one["n"] <= 12 and isinstance(one["n"], int) for one in seen)
    assert {one["c"] for one in seen} == {"x", "y"}
    assert len({one["a"] for one in seen}) > 10


class Steps:
    """A system whose error is told beforehand."""

    def __init__(self, errors, clock):
        self.errors, self.clock = errors, clock

    def knobs(self, task):
        return {"a": Number(1.0)}

    def train(self, task, settings, note):
        for error in self.errors:
            self.clock.now += 1
            if note(lambda error=error: Factors(np.zeros((1, 1)), np.zeros((1, 1)), error)):
                return


@pytest.fixture
def clock(monkeypatch):
    """A clock that only tests advance."""
    told = SimpleNamespace(now=0.0)
    monkeypatch.setattr(search, "time", SimpleNamespace(perf_counter=lambda: told.now))
    return told


def judged(npz, clock):
    task, judge = task_of(npz())

    class Slow(Judge):
        def value(self, trained):
            clock.now += 100
            return trained.query_bias

    return task, Slow(judge.test, judge.known, False, judge.queries)


def test_training_stops_after_rounds_without_a_better_one_and_judging_is_not_counted(npz, clock):
    task, judge = judged(npz, clock)
    watch = Watch(judge, patience=3)
    Steps([3.0, 2.0, 2.5, 2.5, 2.5, 1.0], clock).train(task, {}, watch.note)
    assert watch.values == [3.0, 2.0, 2.5, 2.5, 2.5]
    assert watch.best == 2
    assert watch.seconds == [1.0, 2.0, 3.0, 4.0, 5.0]
    found = search.search(Steps([3.0, 2.0, 2.5], clock), task, judge, trials=2, budget=1000.0, seed=0)
    assert (found.rounds, found.value, found.trials, found.seconds) == (2, 2.0, 2, 606.0)


@pytest.mark.parametrize(("budget", "trials", "rounds"), [(1.0, 1, 1), (250.0, 2, 2)])
def test_a_search_ends_with_its_budget_but_has_one_trial(npz, clock, budget, trials, rounds):
    task, judge = judged(npz, clock)
    found = search.search(Steps([3.0, 2.0], clock), task, judge, trials=99, budget=budget, seed=0)
    assert (found.trials, found.rounds) == (trials, rounds)


class Fails(Steps):
    """A system that works with its first settings only, or with none."""

    def train(self, task, settings, note):
        if settings["a"] != self.errors:
            raise ValueError("senseless settings")
        note(lambda: Factors(np.zeros((1, 1)), np.zeros((1, 1)), 1.0))


def test_settings_that_fail_are_a_trial_and_a_system_fails_if_all_do(npz, clock):
    task, judge = judged(npz, clock)
    found = search.search(Fails(1.0, clock), task, judge, trials=4, budget=1e6, seed=0)
    assert (found.trials, found.settings) == (4, {"a": 1.0})
    with pytest.raises(ValueError, match="senseless settings"):
        search.search(Fails(-1.0, clock), task, judge, trials=2, budget=1e6, seed=0)


def test_new_queries_have_no_identity_for_fmfkit(npz):
    task, _ = task_of(npz(positives=True, cold=True))
    knobs = hooks.known()["fmfkit"].knobs(task)
    assert "query.words" in knobs
    assert "query.indicator" not in knobs
    task, _ = task_of(npz(positives=True, mutual=True))
    assert "query.indicator" in hooks.known()["fmfkit"].knobs(task)


def outcome(peer, value, seconds, **more):
    run = Measured(
        metrics={"RMSE": value}, seconds=seconds, values=[value], round_seconds=[seconds], peak_bytes=1,
        top_seconds=None,
    )  # fmt: skip
    return Outcome(peer=peer, bayesian=False, found=Found({}, 1, value, 1, 1.0), runs=[run], difference=0.0, **more)


@pytest.mark.parametrize(
    ("others", "verdicts"),
    [
        ([("a", 0.9, 1.0)], [True, True]),  # far off: its time does not matter
        ([("a", 0.803, 1.0)], [True, False]),  # close, and faster
        ([("a", 0.803, 9.0)], [True, True]),
        ([("a", 0.79, 9.0)], [False, True]),
    ],
)
def test_claims_say_who_is_ahead(others, verdicts):
    job = Job(peer="", data="", rank=4, threads=1, seed=0, rounds=1, trials=1, budget=1.0)
    found = section("data", [outcome("fmfkit", 0.8, 5.0), *(outcome(*other) for other in others)], job)
    assert [claim.holds for claim in found.claims] == verdicts
    assert [row[1] for row in found.tables[0].rows] == sorted([0.8, *(value for _, value, _ in others)])
