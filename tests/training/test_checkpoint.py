"""A fit that goes on from a checkpoint ends in the same bits as one that was not stopped."""

import json
import subprocess
import sys

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import Case, cases, few

from fmfkit import LearntPenalty, Model, build_info, callbacks, fit, path, regularizers
from fmfkit.errors import CheckpointError, ModelFileError
from fmfkit.losses import Square
from fmfkit.model import file
from fmfkit.plugins.registry import resolve
from fmfkit.solvers import L2M, PL2M, SGD, Alternate, Gibbs, Hogwild, Naive, Panel, Reference, Sequence, Stage
from fmfkit.training.checkpoint import checkpoint_of

PROBLEM = Case(loss="square").build()
LEARNT = Case(loss="square", dtype="float32").build(penalty=LearntPenalty(rounds=3))
ROUNDS = 8


def staged():
    """Stages with an end of every kind but a clock."""
    small = callbacks.Tolerance(0.02)
    last = Stage("l2m", until=lambda record: record.round >= 7, name="last")
    return Sequence(Stage(SGD(), rounds=2), Stage(Alternate("pl2m", "panel"), callbacks=small, name="turns"), last)


MAKERS = {
    "naive": Naive,
    "l2m": L2M,
    "pl2m": PL2M,
    "panel": Panel,
    "sgd": SGD,
    "hogwild": Hogwild,
    "reference": Reference,
    "alternate": lambda: Alternate("pl2m", "sgd", "panel"),
    "staged": staged,
}
SAMPLERS = {"gibbs": lambda: Gibbs(samples=5, keep=2), "burnt in": lambda: Gibbs(samples=3, burn_in=2, keep=1)}


def watch():
    """What chooses a round in the midst of the fit."""
    return callbacks.KeepBest(lambda model: float(np.sin(100 * model.P.sum())), larger=True, patience=6)


def same(a, b):
    """Assert that two models are the same, bit for bit, times apart."""
    strip = [tuple(attrs.evolve(record, seconds=0.0) for record in model.history) for model in (a, b)]
    assert strip[0] == strip[1]
    assert (a.stopped, a.offset, a.state.round) == (b.stopped, b.offset, b.state.round)
    assert a.state.turns == b.state.turns
    for name in ("P", "Q"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        np.testing.assert_array_equal(getattr(a.state, name), getattr(b.state, name))
    assert a.state.arrays.keys() == b.state.arrays.keys()
    for name, array in a.state.arrays.items():
        np.testing.assert_array_equal(array, b.state.arrays[name])
    if a.state.strengths is not None:
        for side in ("query", "target"):
            for field in ("factors", "bias", "variance"):
                one, other = (getattr(getattr(model.state.strengths, side), field) for model in (a, b))
                np.testing.assert_array_equal(one, other)
    assert len(a.samples) == len(b.samples)
    for one, other in zip(a.samples, b.samples, strict=True):
        np.testing.assert_array_equal(one.P, other.P)


class KilledError(Exception):
    pass


def kill_after(rounds):
    def callback(event):
        if event.record.round == rounds:
            raise KilledError

    return callback


def stopping(checkpoint, rounds):
    """A callback that asks a checkpoint to stop in a round."""
    return lambda event: checkpoint.stop() if event.moment == "round" and event.record.round == rounds else None


def run(problem, solver, folder=None, *, kill=None, stop=None, every=1, rounds=ROUNDS):
    """Fit with everything that has a memory; return the model and what chose the round."""
    kept, tolerance = watch(), callbacks.Tolerance(0.0)
    listed = [kept, tolerance, callbacks.TimeBudget(1000)]
    if folder is not None:
        listed.append(checkpoint := callbacks.Checkpoint(folder, every, resume=True))
        listed += [stopping(checkpoint, stop)] if stop is not None else []
    listed += [kill_after(kill)] if kill is not None else []
    threads = None if resolve("solver", solver).deterministic else 1
    return fit(problem, solver=solver, rounds=rounds, seed=3, threads=threads, callbacks=listed), kept


def check(problem, make, folder, moment, how):
    whole, kept = run(problem, make())
    if how == "stop":
        part, _ = run(problem, make(), folder, stop=moment)
        assert part.state.round == min(moment, whole.state.round)
    elif moment <= whole.state.round:
        with pytest.raises(KilledError):
            run(problem, make(), folder, kill=moment)
    model, again = run(problem, make(), folder)
    same(whole, model)
    assert again.values == kept.values
    same(kept.restore(problem, whole), again.restore(problem, model))


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("moment", range(1, ROUNDS + 1))
@pytest.mark.parametrize("solver", MAKERS)
def test_a_fit_that_was_stopped_or_killed_in_any_round_goes_on_alike(tmp_path, solver, moment, how):
    check(PROBLEM, MAKERS[solver], tmp_path / "checkpoint", moment, how)


@pytest.mark.parametrize("moment", range(1, ROUNDS + 1))
@pytest.mark.parametrize("solver", ["panel", *SAMPLERS])
def test_learnt_strengths_and_samples_go_on_alike(tmp_path, solver, moment):
    check(LEARNT, (MAKERS | SAMPLERS)[solver], tmp_path / "checkpoint", moment, "kill")


@few
@given(cases(), st.sampled_from(list(MAKERS)), st.integers(1, 4), st.sampled_from(["stop", "kill"]))
def test_any_problem_goes_on_alike(tmp_path_factory, case, solver, moment, how):
    folder = tmp_path_factory.mktemp("any")
    problem = case.build()
    if list(MAKERS[solver]().refusals(problem)):
        return
    check(problem, MAKERS[solver], folder, moment, how)


def test_a_fit_that_is_over_is_not_run_again(tmp_path):
    whole, _ = run(PROBLEM, "panel", tmp_path)
    seen = []
    checkpoint = callbacks.Checkpoint(tmp_path, resume=True)
    listed = [watch(), callbacks.Tolerance(0.0), callbacks.TimeBudget(1000), checkpoint, seen.append]
    model = fit(PROBLEM, solver="panel", rounds=ROUNDS, seed=3, callbacks=listed)
    same(whole, model)
    assert [event.moment for event in seen] == ["start"]


def test_the_fits_of_a_path_go_on_where_they_were(tmp_path):
    options = {"l2": [0.01, 0.1, 1.0], "rounds": 4, "solver": "pl2m"}
    whole = path(PROBLEM, **options)
    checkpoint = callbacks.Checkpoint(tmp_path, 2)
    count = []

    def kill(event):
        count.append(event.record.round)
        if len(count) == 9:
            raise KilledError

    with pytest.raises(KilledError):
        path(PROBLEM, **options, callbacks=[checkpoint, kill])
    rounds = []
    again = [callbacks.Checkpoint(tmp_path, 2, resume=True), lambda event: rounds.append(event.record.round)]
    models = path(PROBLEM, **options, callbacks=again)
    for one, other in zip(whole, models, strict=True):
        same(one, other)
    assert rounds == [4, 6, 7, 8, 8, 9, 10, 11, 12]


@pytest.mark.parametrize(("every", "kept"), [(2, 4), (3, 3), ("1000s", None), ("1e-9s", 5)])
def test_at_most_one_interval_is_lost(tmp_path, every, kept):
    with pytest.raises(KilledError):
        run(PROBLEM, "panel", tmp_path, kill=6, every=every)
    held = [Model.load(file).history[-1].round for file in tmp_path.glob("*.fmf")]
    assert held == ([] if kept is None else [kept])


def test_a_checkpoint_is_a_model_that_another_fit_can_start_from(tmp_path):
    run(PROBLEM, "panel", tmp_path, stop=3)
    model = Model.load(tmp_path / "0001.fmf")
    assert model.history[-1].round == 3
    more = fit(PROBLEM, rounds=ROUNDS - 3, init=model)
    np.testing.assert_array_equal(more.P, fit(PROBLEM, rounds=ROUNDS, seed=3).P)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounds": 9}, "rounds was 8 and is 9"),
        ({"seed": 4}, "seed was 3 and is 4"),
        ({"solver": "pl2m"}, "solver was Panel(.*) and is PL2M"),
        ({"init": 0.1}, "init differs"),
        ({"problem": Case(loss="square", rank=4).build()}, "rank was 3 and is 4"),
        ({"problem": Case(loss="square", weights=True).build()}, "pairs differs"),
        ({"problem": Case(loss="square").build(offset=1.0)}, "offset was None and is 1.0"),
        ({"problem": Case(loss="square").build(penalty=regularizers.ElasticNet(l2=3))}, "penalty differs"),
        ({"problem": Case(loss="square", query_features=6).build()}, "X differs"),
    ],
)
def test_another_fit_is_refused_and_told_what_differs(tmp_path, change, message):
    options = {"solver": "panel", "rounds": ROUNDS, "seed": 3, "problem": PROBLEM}
    checkpoint = callbacks.Checkpoint(tmp_path, 1)
    fit(**options, callbacks=[checkpoint, stopping(checkpoint, 2)])
    held = (tmp_path / "0001.fmf").read_bytes()
    with pytest.raises(CheckpointError, match=message):
        fit(**options | change, callbacks=callbacks.Checkpoint(tmp_path, 1, resume=True))
    assert (tmp_path / "0001.fmf").read_bytes() == held
    fit(**options, threads=1, callbacks=callbacks.Checkpoint(tmp_path, 1, resume=True))


def test_other_callbacks_that_remember_are_refused(tmp_path):
    run(PROBLEM, "panel", tmp_path, stop=2)
    listed = [callbacks.Tolerance(), callbacks.Checkpoint(tmp_path, resume=True)]
    with pytest.raises(CheckpointError, match=r"the checkpoint's were .'KeepBest'.*those given are .'Tolerance'"):
        fit(PROBLEM, rounds=ROUNDS, seed=3, callbacks=listed)


def test_a_folder_that_holds_a_checkpoint_is_refused_unless_it_is_gone_on_from(tmp_path):
    fit(PROBLEM, rounds=1, callbacks=callbacks.Checkpoint(tmp_path))
    with pytest.raises(CheckpointError, match="it holds a checkpoint; go on from it"):
        callbacks.Checkpoint(tmp_path)


def test_a_folder_of_a_fit_by_shards_is_refused(tmp_path):
    (tmp_path / "latest.json").write_text("{}")
    with pytest.raises(CheckpointError, match="a checkpoint of a fit by shards, which fmfkit-mpi goes on from"):
        callbacks.Checkpoint(tmp_path, resume=True)


def test_a_folder_that_another_process_works_in_is_refused(tmp_path):
    checkpoint = callbacks.Checkpoint(tmp_path)
    code = "import sys; import fmfkit; fmfkit.callbacks.Checkpoint(sys.argv[1], resume=True)"
    done = subprocess.run([sys.executable, "-c", code, str(checkpoint.folder)], capture_output=True, text=True)
    assert "another process works in it" in done.stderr


def test_what_a_killed_process_left_half_written_is_removed(tmp_path):
    left = tmp_path / ".fmfkit-0123"
    left.write_bytes(b"half")
    callbacks.Checkpoint(tmp_path)
    assert not left.exists()


@pytest.mark.parametrize("every", [0, -1, 1.5, True, "0s", "s", "soon", "infs", "nans"])
def test_an_interval_is_rounds_or_seconds(tmp_path, every):
    with pytest.raises(ValueError, match="every: expected a number of rounds, such as 5, or of seconds"):
        callbacks.Checkpoint(tmp_path, every)


def test_trials_that_were_over_are_not_run_again(tmp_path):
    checkpoint = callbacks.Checkpoint(tmp_path, 1)

    def trial(seed, stop=None, checkpoint=checkpoint):
        listed = [checkpoint] if stop is None else [checkpoint, stopping(checkpoint, stop)]
        return {"value": fit(PROBLEM, rounds=3, seed=seed, callbacks=listed).history[-1].objective}

    first = checkpoint.trial(lambda: trial(1))
    with pytest.raises(KeyboardInterrupt):
        checkpoint.trial(lambda: trial(2, stop=2))
    assert checkpoint.interrupted
    with pytest.raises(KeyboardInterrupt):
        fit(PROBLEM, callbacks=checkpoint)
    again = callbacks.Checkpoint(tmp_path, 1, resume=True)
    assert again.trial(lambda: pytest.fail("run again")) == first
    rounds = []
    count = [again, lambda event: rounds.append(event.record.round)]
    found = again.trial(lambda: {"value": fit(PROBLEM, rounds=3, seed=2, callbacks=count).history[-1].objective})
    assert rounds == [2, 3]
    assert found == {"value": fit(PROBLEM, rounds=3, seed=2).history[-1].objective}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal.json", "lock"]


def test_work_is_the_same_or_refused(tmp_path):
    callbacks.Checkpoint(tmp_path).belongs_to({"rank": "3"})
    callbacks.Checkpoint(tmp_path, resume=True).belongs_to({"rank": "3"})
    with pytest.raises(CheckpointError, match="rank was 3 and is 4; data was not given and is 'new'"):
        callbacks.Checkpoint(tmp_path, resume=True).belongs_to({"rank": "4", "data": "'new'"})


def _one_trial(folder):
    search = callbacks.Checkpoint(folder)
    search.trial(lambda: {"value": fit(PROBLEM, rounds=1, callbacks=search).rank})


def test_kernels_of_another_instruction_set_are_told(tmp_path, monkeypatch):
    with pytest.raises(KilledError):
        fit(PROBLEM, rounds=3, callbacks=[callbacks.Checkpoint(tmp_path / "fit", every=1), kill_after(2)])
    _one_trial(tmp_path / "trial")
    before = build_info()["isa"]
    other = build_info() | {"isa": "v1"}
    monkeypatch.setattr("fmfkit.training.checkpoint.build_info", lambda: other)
    told = f"kept with the instruction set {before}, and .* with v1: .* set FMFKIT_ISA={before} for the same bits"
    with pytest.warns(UserWarning, match=told):
        fit(PROBLEM, rounds=3, callbacks=callbacks.Checkpoint(tmp_path / "fit", every=1, resume=True))
    with pytest.warns(UserWarning, match=told):
        callbacks.Checkpoint(tmp_path / "trial", resume=True)


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", json.dumps({"format": "fmfkit checkpoint 1"}).encode()])
def test_a_journal_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "journal.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"journal\.json: not"):
        callbacks.Checkpoint(tmp_path, resume=True)


def test_a_model_that_is_no_checkpoint_is_refused(tmp_path):
    fit(PROBLEM, rounds=1).save(tmp_path / "0001.fmf")
    with pytest.raises(ModelFileError, match="a model, but no checkpoint"):
        fit(PROBLEM, rounds=1, callbacks=callbacks.Checkpoint(tmp_path, resume=True))


def test_a_stage_cannot_keep_the_fit(tmp_path):
    stage = Stage("panel", callbacks=callbacks.Checkpoint(tmp_path))
    with pytest.raises(CheckpointError, match="give it to the fit itself"):
        fit(PROBLEM, solver=stage)


def test_a_fit_has_one_checkpoint_at_most(tmp_path):
    two = [callbacks.Checkpoint(tmp_path / name) for name in "ab"]
    with pytest.raises(ValueError, match="expected one Checkpoint at most, got 2"):
        fit(PROBLEM, callbacks=two)
    assert checkpoint_of(two[0]) is two[0]
    assert checkpoint_of("tolerance") is None


def test_a_learnt_loss_that_no_file_can_hold_is_refused(tmp_path):
    class Own(Square):
        learns = True

        def learnt(self, score, y, weight):
            return self

    problem = Case(loss="square").build(loss=Own())
    with pytest.raises(CheckpointError, match="no plugin offers it"):
        fit(problem, callbacks=callbacks.Checkpoint(tmp_path))


def forged(folder, change):
    """Change what a checkpoint says of the fit, with a digest that fits."""
    sections = file.read(folder / "0001.fmf")
    change(sections["fit"].about, sections["fit"].arrays)
    file.write(folder / "0001.fmf", sections)


@pytest.mark.parametrize(
    "change",
    [
        lambda about, arrays: about.pop("standing"),
        lambda about, arrays: about.update(identity=3),
        lambda about, arrays: about["standing"].update(turns=[[[0], [1]]]),
        lambda about, arrays: about["standing"].update(turns=[1]),
        lambda about, arrays: about["standing"].update(spent=[[[0], "x"]]),
        lambda about, arrays: about["standing"].update(round=-1),
        lambda about, arrays: about["standing"].update(record={}),
        lambda about, arrays: about.update(entered=[["a"]]),
        lambda about, arrays: about.update(entered=[[3]]),
        lambda about, arrays: about.update(reason=None),
        lambda about, arrays: about.update(memories=[]),
        lambda about, arrays: about["memories"][0].update(memory={}),
        lambda about, arrays: about["memories"][0]["memory"].update(values=["x"]),
        lambda about, arrays: about["memories"][0]["memory"].update(standing=None),
        lambda about, arrays: arrays.update({"0.P": arrays["0.P"][1:]}),
        lambda about, arrays: arrays.update({"0.P": arrays["0.P"] * np.nan}),
        lambda about, arrays: arrays.pop("0.Q"),
    ],
)
def test_a_forged_checkpoint_is_refused(tmp_path, change):
    run(PROBLEM, staged(), tmp_path, stop=3)
    forged(tmp_path, change)
    with pytest.raises((CheckpointError, ModelFileError)):
        run(PROBLEM, staged(), tmp_path)
