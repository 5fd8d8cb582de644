"""Files that somebody forged, digest and all, are refused: nothing that a file says is taken as given."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from problems import Case

from fmfkit import LearntPenalty, Model, fit, solvers
from fmfkit.errors import ModelFileError
from fmfkit.model import file as model_file


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A plain model, one whose strengths were learnt, and one of samples."""
    folder = tmp_path_factory.mktemp("files")
    plain = Case(queries=20, targets=15, pairs=90)
    fit(plain.build(), rounds=2).save(folder / "plain")
    fit(Case(dtype="float32").build(penalty=LearntPenalty()), rounds=2).save(folder / "learnt")
    fit(
        plain.build(penalty=LearntPenalty(rounds=1)), solver=solvers.Gibbs(samples=2, burn_in=1, keep=2), rounds=4
    ).save(folder / "sampled")
    return folder


def forged(source: Path, change, target: Path) -> Path:
    """Write a file with its sections changed, and a digest that fits."""
    sections = model_file.read(source)
    change(sections["model"].about, {name: array.copy() for name, array in sections["model"].arrays.items()}, sections)
    model_file.write(target, sections)
    return target


def put(name, value):
    """Return a change: of an array, of a number in it, or of what is told."""

    def change(about, arrays, sections):
        *path, last = name.split("/")
        for part in path:
            about = about[int(part)] if part.isdigit() else about[part]
        about[int(last) if last.isdigit() else last] = value

    return change


def drop(name):
    return lambda about, arrays, sections: about.pop(name)


def array(name, edit):
    """Return a change of an array by a function that edits a copy in place, or returns another."""

    def change(about, arrays, sections):
        made = arrays[name]
        other = edit(made)
        sections["model"].arrays[name] = made if other is None else other

    return change


def at(place, value):
    def edit(made):
        made[place] = value

    return edit


PLAIN = {
    "no rank": drop("rank"),
    "a rank that is no number": put("rank", "8"),
    "a rank that is true": put("rank", True),
    "a rank of 0": put("rank", 0),
    "a rank below 0": put("rank", -3),
    "a rank that no parameters have": put("rank", 7),
    "a huge rank": put("rank", 10**30),
    "no offset": drop("offset"),
    "an offset that is not finite": put("offset", float("nan")),
    "an offset that is text": put("offset", "0"),
    "a reason to stop that is none": put("stopped", ["tired"]),
    "half a character": put("stopped", "\ud800"),
    "a history that is none": put("history", 3),
    "a record that is none": put("history", [5]),
    "a record of other fields": put("history/0", {"round": 0}),
    "a record with a field too many": put("history/0/more", 1),
    "a record in words": put("history/1/loss", "low"),
    "a spread in words": put("history/1/eta", {"minimum": "low"}),
    "a round below 0": put("history/0/round", -1),
    "a seed below 0": put("seed", -1),
    "no round": drop("round"),
    "a loss that is a number": put("loss", 3),
    "a loss without a name": put("loss", {"kind": "loss", "options": {}}),
    "a loss that nobody knows": put("loss/name", "builtin:hate"),
    "a loss with an option too many": put("loss/options", {"delta": 3}),
    "a loss that is a loader": put("loss", {"kind": "loader", "name": "builtin:movielens", "options": {"path": "/"}}),
    "parameters that are no numbers": array("P", at((0, 0), np.nan)),
    "infinite parameters": array("Q", at((-1, -1), np.inf)),
    "parameters of one axis": array("P", lambda P: P.ravel()),
    "parameters in half precision": array("P", lambda P: P.astype(np.float16)),
    "parameters that are whole": array("P", lambda P: P.astype(np.int32)),
    "two precisions": array("Q", lambda Q: Q.astype(np.float32)),
    "no rows": array("X.row_ptr", lambda ptr: ptr[:0]),
    "rows that end before they begin": array("X.row_ptr", at(3, 10**6)),
    "rows that run backwards": array("X.row_ptr", at(2, 0)),
    "rows that do not begin at 0": array("X.row_ptr", at(0, 1)),
    "rows below 0": array("X.row_ptr", at(1, -(2**40))),
    "a last row beyond the end": array("Z.row_ptr", at(-1, 2**60)),
    "a column below 0": array("X.row_index", at(-1, -1)),
    "a column beyond the last": array("Z.row_index", at(1, 2**31 - 1)),
    "columns that do not ascend": array("X.row_index", lambda index: index[::-1]),
    "an own feature beyond the last": array("X.own", at(0, 2**30)),
    "an own feature below -1": array("X.own", at(0, -2)),
    "an own feature that is another's": array("X.own", lambda own: np.full_like(own, own[0])),
    "an own feature of 0": array("X.own_value", lambda value: 0 * value),
    "an own feature that is not finite": array("Z.own_value", at(0, np.inf)),
    "parameters whose scores are infinite": array("P", at((0, 0), 1e308)),
    "values whose scores are infinite": array("X.row_value", lambda value: np.full_like(value, 1e308)),
    "an offset beyond all scores": put("offset", 1.7e308),
    "no blocks": put("X", []),
    "a block that is none": put("X", [7]),
    "a block without an end": put("X/0", ["a", 0]),
    "a block without a name": put("X/0/0", None),
    "a block that begins later": put("X/0/1", 1),
    "a block that begins before": put("X/0/1", -1),
    "a block that ends beyond the last": put("X/1/2", 10**9),
    "a block that overlaps the next": put("X/0/2", 25),
    "a block that ends in words": put("X/0/2", "last"),
    "two blocks of one name": lambda about, arrays, sections: put("X/1/0", about["X"][0][0])(about, arrays, sections),
    "learnt strengths that are none": put("strengths", 5),
    "strengths without arrays": put("strengths", {"query": {}, "target": {}}),
    "samples that are none": put("mean", True),
    "samples without arrays": put("mean", {"samples": 3, "loss": 0.5, "skipped": 1, "kept": 0}),
}


@pytest.mark.parametrize("change", PLAIN.values(), ids=PLAIN)
def test_a_forged_model_is_refused(files, tmp_path, change):
    with pytest.raises(ModelFileError, match="forged: "):
        Model.load(forged(files / "plain", change, tmp_path / "forged"))


LEARNT = {
    "no noise": put("strengths", {}),
    "noise of 0": put("strengths/noise", 0),
    "noise that is not finite": put("strengths/noise", float("inf")),
    "curvature below 0": put("strengths/curvature", -1.0),
    "rounds in words": put("strengths/rounds", "3"),
    "a side that is none": put("strengths/query", []),
    "a variance below 0": put("strengths/target/bias_variance", -1.0),
    "precisions of 0": array("strengths.query.factors", lambda factors: 0 * factors),
    "precisions that are not finite": array("strengths.query.factors", at((0, 0), np.nan)),
    "variances below 0": array("strengths.target.variance", at(0, -1.0)),
    "no biases": lambda about, arrays, sections: sections["model"].arrays.pop("strengths.query.bias"),
    "observed less than 0 times": array("observed.X", at(0, -1)),
    "observed too few features": array("observed.Z", lambda Z: Z[1:]),
    "pairs below 0": put("pairs", -1.0),
    "no pairs": drop("pairs"),
}


@pytest.mark.parametrize("change", LEARNT.values(), ids=LEARNT)
def test_forged_strengths_are_refused(files, tmp_path, change):
    with pytest.raises(ModelFileError, match="forged: "):
        Model.load(forged(files / "learnt", change, tmp_path / "forged"))


SAMPLED = {
    "no samples": put("mean/samples", 0),
    "a loss below 0": put("mean/loss", -1.0),
    "skipped less than none": put("mean/skipped", -1),
    "more kept than there are": put("mean/kept", 3),
    "very many kept": put("mean/kept", 10**18),
    "a kept sample of another shape": array("kept.1.P", lambda P: P[:, 1:]),
    "a kept sample that is not finite": array("kept.0.Q", at((0, 0), np.inf)),
    "a last sample of another shape": array("last.P", lambda P: P[1:]),
    "a last sample of another rank": array("last.P", lambda P: P[:, 1:]),
    "a last sample of biases alone": array("last.P", lambda P: P[:, :1]),
    "no last sample": lambda about, arrays, sections: sections["model"].arrays.pop("last.Q"),
}


@pytest.mark.parametrize("change", SAMPLED.values(), ids=SAMPLED)
def test_forged_samples_are_refused(files, tmp_path, change):
    with pytest.raises(ModelFileError, match="forged: "):
        Model.load(forged(files / "sampled", change, tmp_path / "forged"))


def test_embeddings_that_memory_cannot_hold_are_refused_before_they_are_made(files, tmp_path):
    def huge(about, arrays, sections):
        mine = sections["model"].arrays
        about["rank"], about["X"] = 2**30, []
        mine["P"], mine["Q"] = np.zeros((0, 2**30)), np.zeros((0, 2**30))
        about["Z"] = []
        for name in "XZ":
            mine[f"{name}.row_ptr"] = np.zeros(100_001, np.int64)
            mine[f"{name}.row_index"] = np.zeros(0, np.int32)
            mine[f"{name}.own"] = np.full(100_000, -1, np.int32)
            mine[f"{name}.own_value"] = np.zeros(100_000)
            mine.pop(f"{name}.row_value", None)
            mine[f"{name}.row_scale"] = np.ones(100_000)

    with pytest.raises(ModelFileError, match=r"its embeddings take [\d,]+ bytes, and this process may use"):
        Model.load(forged(files / "plain", huge, tmp_path / "forged"))


def test_arrays_of_no_section_and_sections_that_are_none_are_refused(files, tmp_path):
    for sections in ({"model": []}, [], None, {"model": None}):
        text = json.dumps({"format": model_file.FORMAT, "version": model_file.VERSION, "sections": sections})
        metadata = {"fmfkit": text, "digest": model_file._digest({}, text)}
        header = json.dumps({"__metadata__": metadata}).encode()
        (tmp_path / "forged").write_bytes(struct.pack("<Q", len(header)) + header)
        with pytest.raises(ModelFileError, match="its parts do not belong together"):
            Model.load(tmp_path / "forged")
    model_file.write(tmp_path / "forged", {"other": model_file.Section({}, {})})
    with pytest.raises(ModelFileError, match="the section 'model' is missing"):
        Model.load(tmp_path / "forged")


def test_descriptions_nested_without_end_are_refused(tmp_path):
    text = '{"format": "fmfkit model", "version": 2, "sections": ' + "[" * 100_000
    metadata = {"fmfkit": text, "digest": model_file._digest({}, text)}
    header = json.dumps({"__metadata__": metadata}).encode()
    (tmp_path / "forged").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(ModelFileError, match="its description is not JSON"):
        Model.load(tmp_path / "forged")
