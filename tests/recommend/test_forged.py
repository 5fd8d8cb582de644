"""Recommenders of files that somebody forged, digest and all, are refused; nothing that a file names is opened."""

import json

import numpy as np
import pytest
from bookshop import BOOKS, PAIRS

from fmfkit import FMF, Dataset
from fmfkit.data import Neighbours, Numeric, Precomputed, SideTable, Tags
from fmfkit.errors import ModelFileError
from fmfkit.model import file as model_file
from fmfkit.recommend.recommender import Recommender


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    links = {"user": ["ann", "bob"], "friend": ["bob", "ann"]}
    queries = SideTable(blocks=[Neighbours(links), Precomputed(np.eye(2), ids=["ann", "bob"], name="taste")])
    targets = SideTable(BOOKS, blocks=[Tags("genres"), Numeric("year", bins=2), Numeric("year", name="age")])
    data = Dataset.of(PAIRS, queries=queries, targets=targets, history=True)
    path = tmp_path_factory.mktemp("forged") / "model"
    FMF(rank=2, rounds=2, data="ratings").fit(data).save(path)
    return path


def forge(path, target, change):
    sections = {
        name: model_file.Section(
            json.loads(json.dumps(section.about)), {k: a.copy() for k, a in section.arrays.items()}
        )
        for name, section in model_file.read(path).items()
    }
    change(sections)
    model_file.write(target, sections)
    return target


def put(place, value):
    """Return a change of what a section tells."""

    def change(sections):
        section, *path, last = place.split("/")
        about = sections[section].about
        for part in path:
            about = about[int(part)] if part.isdigit() else about[part]
        about[int(last) if last.isdigit() else last] = value

    return change


def array(section, name, edit):
    def change(sections):
        arrays = sections[section].arrays
        other = edit(arrays[name])
        if other is not None:
            arrays[name] = other

    return change


def at(place, value):
    def edit(made):
        made[place] = value

    return edit


LOADER = {"kind": "loader", "name": "builtin:movielens", "options": {"path": "/etc"}}
FORGED = {
    "pairs whose rows run backwards": array("recommender", "seen.ptr", at(1, 1000)),
    "pairs whose rows are below 0": array("recommender", "seen.ptr", at(1, -5)),
    "pairs with a row too few": array("recommender", "seen.ptr", lambda ptr: ptr[1:]),
    "pairs beyond the last target": array("recommender", "seen.index", at(0, 2**31 - 1)),
    "pairs before the first target": array("recommender", "seen.index", at(0, -1)),
    "pairs that are not in order": array("recommender", "seen.index", lambda index: index[::-1]),
    "pairs with too few values": array("recommender", "seen.y", lambda y: y[1:]),
    "pairs with a value that is none": array("recommender", "seen.y", at(0, np.nan)),
    "pairs of another type": array("recommender", "seen.index", lambda index: index.astype(np.int64)),
    "no pairs": lambda sections: sections["recommender"].arrays.pop("seen.ptr"),
    "weights of another length": lambda sections: sections["recommender"].arrays.update({"seen.weight": np.ones(1)}),
    "history in words": put("recommender/history", "yes"),
    "history that is not there": put("recommender/history", False),
    "validation in words": put("recommender/validation", ["good"]),
    "validation that is no list": put("recommender/validation", 7),
    "a metric that is a number": put("recommender/metric", 7),
    "columns that are none": put("recommender/columns", ["user"]),
    "columns without a query": put("recommender/columns", {"target": "book"}),
    "a column that is a number": put("recommender/columns/rating", 7),
    "settings that are none": put("recommender/settings", [1]),
    "a setting too many": put("recommender/settings/depth", 7),
    "a setting of another type": put("recommender/settings/rounds", "many"),
    "a setting in riddles": put("recommender/settings/l2", {"riddle": 1}),
    "a solver that is a loader": put("recommender/settings/solver", {"component": LOADER}),
    "a solver that is a number": put("recommender/settings/solver", 7),
    "a solver that is a penalty": put("recommender/settings/solver", {"penalty": {}}),
    "a penalty with a loader": put(
        "recommender/settings/regularizer", {"penalty": {"regularizer": {"component": LOADER}}}
    ),
    "a penalty in words": put("recommender/settings/regularizer", {"penalty": "strong"}),
    "attributes that are none": put("recommender/attributes", {}),
    "an attribute that is none": put("recommender/attributes/0", "title"),
    "an attribute without a name": put("recommender/attributes/0/name", None),
    "an attribute of no kind": put("recommender/attributes/0/kind", "smell"),
    "two attributes of one name": put("recommender/attributes/1/name", "title"),
    "an attribute of too few": array("recommender", "attribute2.values", lambda values: values[1:]),
    "an attribute of another type": array("recommender", "attribute2.values", lambda values: values.astype(float)),
    "an attribute that is nowhere known": lambda sections: sections["recommender"].arrays.pop("attribute2.known"),
    "lists of another length": array("recommender", "attribute1.length", at(0, 100)),
    "lists of a length below 0": array("recommender", "attribute1.length", at(slice(0, 2), [4, -1])),
    "a text too few": array("recommender", "attribute0.count", at(0, 1)),
    "no settings": lambda sections: sections["recommender"].about.pop("settings"),
    "no queries": lambda sections: sections.pop("queries"),
    "no model": lambda sections: sections.pop("model"),
    "ids of no kind": put("queries/ids", "colour"),
    "ids of a kind that is none": put("queries/ids", ["str"]),
    "ids of another kind": put("targets/ids", "date"),
    "an id too few": array("queries", "ids.bytes", lambda b: b[:-4]),
    "ids that are one": array("queries", "ids.bytes", lambda b: np.tile(b[:4], 4)[: len(b)]),
    "ids that are no text": array("queries", "ids.bytes", at(0, 255)),
    "no ids": lambda sections: sections["queries"].arrays.pop("ids.bytes"),
    "a key that is a number": put("queries/key", 7),
    "an indicator in words": put("queries/indicator", "no"),
    "an indicator that is not there": put("queries/indicator", False),
    "labels that are not there": put("queries/label", "name"),
    "labels that are too few": array("targets", "labels.count", at(0, 2)),
    "blocks that are none": put("targets/blocks", {}),
    "a block that is none": put("targets/blocks/0", "tags"),
    "a block without a kind": put("targets/blocks/0/kind", None),
    "a block of no kind": put("targets/blocks/0/kind", "smells"),
    "a block of another plugin": put("targets/blocks/0/kind", "evil:tags"),
    "a block with an option too many": put("targets/blocks/0/block/depth", 7),
    "a block without options": put("targets/blocks/0/block", None),
    "a block with a column that is none": put("targets/blocks/0/block/column", 7),
    "a block with a strength in words": put("targets/blocks/0/block/strength", "strong"),
    "a block of another name": put("targets/blocks/0/block/name", "other"),
    "a block with a feature too few": array("targets", "block0.count", at(0, 1)),
    "a block that learnt nothing": put("targets/blocks/1/state", {}),
    "a block that learnt no mapping": put("targets/blocks/1/state", []),
    "cuts that do not ascend": put("targets/blocks/1/state/cuts", [9.0, 1.0]),
    "cuts in words": put("targets/blocks/1/state/cuts", ["early"]),
    "cuts that are too many": put("targets/blocks/1/state/cuts", [1.0, 2.0, 3.0, 4.0]),
    "a mean in words": put("targets/blocks/2/state/mean", "old"),
    "a deviation of 0": put("targets/blocks/2/state/deviation", 0.0),
    "links in a local file": put("queries/blocks/0/block/links", "/etc/passwd"),
    "a matrix in a local file": put("queries/blocks/1/block/matrix", "/etc/passwd"),
    "ids in a local file": put("queries/blocks/1/block/ids", "/etc/passwd"),
}


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
def test_a_forged_recommender_is_refused(path, tmp_path, change):
    with pytest.raises(ModelFileError, match="forged: "):
        Recommender.load(forge(path, tmp_path / "forged", change))


def test_an_honest_copy_is_accepted(path, tmp_path):
    again = Recommender.load(forge(path, tmp_path / "copy", lambda sections: None))
    assert again.recommend(k=2).equals(Recommender.load(path).recommend(k=2))


@pytest.mark.parametrize(
    "written", ["3", '{"uuid": 3}', '{"tuple": [[1]]}', '{"decimal": "x"}', '{"eval": "1"}', "{}", "[["]
)
def test_objects_that_are_none_are_refused(tmp_path, written):
    data = Dataset.of({"user": [(1, 2), (3, 4)], "item": [1, 2], "rating": [1.0, 2.0]})
    FMF(rank=1, rounds=1).fit(data).save(tmp_path / "model")

    def change(sections):
        content = f'{written}\n{{"tuple": [3, 4]}}\n3'.encode()
        sections["queries"].arrays["ids.bytes"] = np.frombuffer(content, np.uint8)
        sections["queries"].arrays["ids.separator"] = np.array([10], np.uint8)

    with pytest.raises(ModelFileError, match="forged: "):
        Recommender.load(forge(tmp_path / "model", tmp_path / "forged", change))


def test_dates_that_python_does_not_have_are_refused(tmp_path):
    dates = np.array(["2020-01-01", "2020-01-02"], "datetime64[D]")
    data = Dataset.of({"user": dates, "item": [1, 2], "rating": [1.0, 2.0]})
    FMF(rank=1, rounds=1).fit(data).save(tmp_path / "model")
    for day in (2**31 - 1, -(2**31)):
        change = array("queries", "ids.values", at(0, day))
        with pytest.raises(ModelFileError, match="a date is before the year 1 or after the year 9999"):
            Recommender.load(forge(tmp_path / "model", tmp_path / "forged", change))
