"""Models come back from files as they went in; files that are not whole are refused."""

import errno
import json
import os
import struct

import numpy as np
import pytest
from numpy_plugins import PseudoHuber
from problems import Case
from safetensors.numpy import load_file, save_file

from fmfkit import LearntPenalty, Model, fit
from fmfkit.errors import ModelFileError, WriteError
from fmfkit.model import file as model_file


@pytest.fixture(scope="module")
def model():
    return fit(Case(queries=20, targets=15, pairs=90, loss="logistic", even=True).build(), rounds=3, threads=2)


@pytest.mark.parametrize(
    "case",
    [
        Case(),
        Case(plain=True, dtype="float32"),
        Case(loss="logistic", even=True, query_bias=False),
        Case(indicators=False, target_bias=False, dtype="float32"),
    ],
)
def test_a_model_comes_back_as_it_went_in(tmp_path, case):
    model = fit(case.build(), rounds=2)
    model.save(tmp_path / "model.fmf")
    again = Model.load(tmp_path / "model.fmf")
    assert again.P.tobytes() == model.P.tobytes()
    assert again.Q.tobytes() == model.Q.tobytes()
    assert again.history == model.history
    assert again.loss == model.loss
    i, j = np.arange(case.queries)[:, None], np.arange(case.targets)
    np.testing.assert_array_equal(again.predict(i, j), model.predict(i, j))
    np.testing.assert_array_equal(again.recommend(k=4).targets, model.recommend(k=4).targets)
    assert again.explain(1, 2) == model.explain(1, 2)
    assert dict(again.X.blocks) == dict(model.X.blocks)


def test_blocks_keep_their_order(tmp_path):
    X = {"z": np.eye(12), "a": np.arange(24.0).reshape(12, 2)}
    model = fit(Case().build(X=X), rounds=1)
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model")
    assert list(again.X.blocks) == ["z", "a"]
    np.testing.assert_array_equal(again.score(np.arange(12), 0), model.score(np.arange(12), 0))


def test_training_goes_on_from_a_file_as_if_it_had_not_stopped(tmp_path):
    problem = Case(queries=20, targets=15, pairs=90).build()
    half = fit(problem, rounds=2)
    half.save(tmp_path / "half")
    on = fit(problem, rounds=2, init=Model.load(tmp_path / "half"))
    assert on.P.tobytes() == fit(problem, rounds=4).P.tobytes()


def test_a_loss_of_no_plugin_must_be_given_again(tmp_path):
    model = fit(Case().build(loss=PseudoHuber()), rounds=1)
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"its loss is no plugin's; give it: load\("):
        Model.load(tmp_path / "model")
    assert Model.load(tmp_path / "model", loss=PseudoHuber()).loss == model.loss


def test_a_missing_plugin_is_named(tmp_path, model):
    model.save(tmp_path / "model")
    sections = model_file.read(tmp_path / "model")
    missing = {"name": "extra:huber", "options": {}, "distribution": "fmfkit-losses", "version": "1.2", "kind": "loss"}
    sections["model"].about["loss"] = missing
    model_file.write(tmp_path / "model", sections)
    with pytest.raises(ModelFileError, match=r"fmfkit-losses 1\.2, which is not installed: python -m pip install"):
        Model.load(tmp_path / "model")


def test_a_file_cut_anywhere_is_refused(tmp_path, model):
    path = tmp_path / "model"
    model.save(path)
    whole = path.read_bytes()
    for size in (0, 4, 8, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFileError, match="not a model file, or one that was cut short"):
            Model.load(path)


def test_a_file_with_a_changed_byte_is_refused(tmp_path, model):
    path = tmp_path / "model"
    model.save(path)
    whole = bytearray(path.read_bytes())
    whole[-5] ^= 1
    path.write_bytes(whole)
    with pytest.raises(ModelFileError, match="does not match its digest"):
        Model.load(path)


def test_a_file_of_another_version_says_what_to_install(tmp_path, model):
    path = tmp_path / "model"
    model.save(path)
    text = json.dumps({"format": model_file.FORMAT, "version": 7, "fmfkit": "9.0"})
    save_file({"a": np.ones(2)}, path, metadata={"fmfkit": text, "digest": ""})
    with pytest.raises(ModelFileError, match=r"version 7 of the file format, written by fmfkit 9\.0"):
        Model.load(path)


@pytest.mark.parametrize(
    "metadata", [None, {"author": "somebody"}, {"fmfkit": "[]"}, {"fmfkit": '{"format": "other"}'}]
)
def test_other_safetensors_files_are_refused(tmp_path, metadata):
    save_file({"a": np.ones(2)}, tmp_path / "other", metadata=metadata)
    with pytest.raises(ModelFileError, match="not one of fmfkit's models"):
        Model.load(tmp_path / "other")


@pytest.mark.parametrize("change", ["P", "X.row_ptr", "X.row_index", "Z.own", "Z.own_value"])
def test_parts_that_do_not_belong_together_are_refused(tmp_path, model, change):
    path = tmp_path / "model"
    model.save(path)
    sections = model_file.read(path)
    arrays = sections["model"].arrays
    arrays[change] = arrays[change][:-1]
    model_file.write(path, sections)
    with pytest.raises(ModelFileError, match="its parts do not belong together"):
        Model.load(path)


def test_types_that_numpy_does_not_have_are_refused(tmp_path):
    header = json.dumps({"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}).encode()
    (tmp_path / "other").write_bytes(struct.pack("<Q", len(header)) + header + b"ab")
    with pytest.raises(ModelFileError):
        Model.load(tmp_path / "other")


def test_files_of_other_kinds_are_refused(tmp_path):
    for content in (b"", b"id,score\n1,2\n", struct.pack("<Q", 2**40) + b"{}", b"\x80\x04pickled"):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(ModelFileError):
            Model.load(tmp_path / "other")
    with pytest.raises(FileNotFoundError):
        Model.load(tmp_path / "nowhere")


def test_saving_leaves_the_old_file_alone_if_it_fails(tmp_path, model, monkeypatch):
    path = tmp_path / "model"
    model.save(path)
    before = path.read_bytes()

    def full(file):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteError, match="model: cannot be written: No space left on device"):
        model.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_what_is_written_is_a_safetensors_file_to_others(tmp_path):
    arrays = {f"a.{kind}": np.arange(6).reshape(2, 3).astype(kind) for kind in model_file.TYPES}
    arrays |= {"big": np.arange(3, dtype=">f8"), "none": np.zeros((0, 5)), "one": np.array(7.0)}
    model_file.write(tmp_path / "model", {"mine": model_file.Section({"x": 1}, arrays)})
    found = load_file(tmp_path / "model")
    assert sorted(found) == sorted(f"mine/{name}" for name in arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[f"mine/{name}"], array)
    sections = model_file.read(tmp_path / "model")
    assert sections["mine"].about == {"x": 1}
    assert sections["mine"].arrays["big"].tolist() == [0, 1, 2]


def test_arrays_that_files_cannot_hold_are_refused(tmp_path):
    with pytest.raises(TypeError, match="mine/words: arrays of <U3 cannot be saved"):
        model_file.write(tmp_path / "model", {"mine": model_file.Section({}, {"words": np.array(["abc"])})})
    assert list(tmp_path.iterdir()) == []


def test_folders_and_devices_are_no_models(tmp_path):
    for path in (tmp_path, "/dev/zero"):
        with pytest.raises(ModelFileError, match="not a model file: it is no file at all"):
            Model.load(path)


@pytest.mark.parametrize("bias", [False, True])
def test_learnt_strengths_are_kept_so_that_a_fit_goes_on_bit_for_bit(tmp_path, bias):
    problem = Case(rank=9, query_bias=bias, dtype="float32").build(penalty=LearntPenalty(rounds=3))
    for stop in (2, 4):
        fit(problem, rounds=stop).save(tmp_path / "model")
        resumed = fit(problem, rounds=6 - stop, init=Model.load(tmp_path / "model"))
        whole = fit(problem, rounds=6)
        np.testing.assert_array_equal(whole.P, resumed.P)
        np.testing.assert_array_equal(whole.Q, resumed.Q)
    assert Model.load(tmp_path / "model").history[1].learnt


@pytest.mark.parametrize("wrong", ["strengths.query.factors", "strengths.target.bias", "strengths.query.variance"])
def test_strengths_that_do_not_fit_the_parameters_are_refused(tmp_path, wrong):
    model = fit(Case().build(penalty=LearntPenalty()), rounds=1)
    section = model.section()
    section.arrays[wrong] = np.zeros((7, 7))
    model_file.write(tmp_path / "model", {"model": section})
    with pytest.raises(ModelFileError, match=f"{wrong} does not fit the parameters"):
        Model.load(tmp_path / "model")
