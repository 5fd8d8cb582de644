"""What a file says of the objective is checked."""

import numpy as np
import pytest
import scipy.sparse as sp

from fmfkit import AllCells, LearntPenalty, Model, Problem, fit
from fmfkit.errors import ModelFileError
from fmfkit.model import file as model_file


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    rng = np.random.default_rng(0)
    Y = sp.csr_array((rng.random((8, 9)) < 0.5).astype(float))
    folder = tmp_path_factory.mktemp("own")
    for name, options in (("cells", {"cells": AllCells(0.1)}), ("learnt", {"penalty": LearntPenalty(rounds=1)})):
        fit(Problem.from_scipy(Y, rank=2, **options), rounds=2, threads=1).save(folder / name)
    return folder


LOADER = {"kind": "loader", "name": "builtin:movielens", "options": {"path": "/etc"}}
FORGED = {
    "nothing": ("cells", lambda own, arrays: own.clear()),
    "a side in words": ("cells", lambda own, arrays: own.update(query="strong")),
    "cells in words": ("cells", lambda own, arrays: own.update(cells=3)),
    "cells below 0": ("cells", lambda own, arrays: own["cells"].update(weight=-1.0)),
    "a value that is none": ("cells", lambda own, arrays: own["cells"].update(value=float("nan"))),
    "cells of too few": ("cells", lambda own, arrays: arrays.update({"own.cells.query": np.ones(3)})),
    "cells that are whole": ("cells", lambda own, arrays: arrays.update({"own.cells.query": np.ones(8, int)})),
    "cells of instances below 0": ("cells", lambda own, arrays: arrays.update({"own.cells.target": -np.ones(9)})),
    "no cells of targets": ("cells", lambda own, arrays: arrays.pop("own.cells.target")),
    "no bias": ("cells", lambda own, arrays: own["query"].pop("bias")),
    "a regularizer that is a loader": ("cells", lambda own, arrays: own["query"]["bias"].update(regularizer=LOADER)),
    "no regularizer": ("cells", lambda own, arrays: own["target"]["factors"].pop("regularizer")),
    "an exponent in words": ("cells", lambda own, arrays: own["query"]["factors"].update(exponent="steep")),
    "an exponent below 0": ("cells", lambda own, arrays: own["query"]["factors"].update(exponent=-1)),
    "strengths of another rank": ("cells", lambda own, arrays: arrays.update({"own.query.factors": np.ones(5)})),
    "strengths below 0": ("cells", lambda own, arrays: arrays.update({"own.query.factors": -np.ones(2)})),
    "strengths that are none": ("learnt", lambda own, arrays: arrays.update({"own.query.factors": np.full(2, np.nan)})),
    "spread of another rank": ("learnt", lambda own, arrays: arrays.update({"own.target.spread": np.ones(7)})),
    "spread below 0": ("learnt", lambda own, arrays: arrays.update({"own.target.spread": -np.ones(2)})),
}


@pytest.mark.parametrize(("name", "change"), FORGED.values(), ids=FORGED)
def test_a_forged_objective_is_refused(paths, tmp_path, name, change):
    sections = model_file.read(paths / name)
    change(sections["model"].about["own"], sections["model"].arrays)
    model_file.write(tmp_path / "forged", sections)
    with pytest.raises(ModelFileError, match="forged: "):
        Model.load(tmp_path / "forged")


def test_strengths_too_large_for_numbers_are_no_crash(paths, tmp_path):
    sections = model_file.read(paths / "cells")
    sections["model"].about["own"]["query"]["factors"]["exponent"] = 1e300
    model_file.write(tmp_path / "forged", sections)
    model = Model.load(tmp_path / "forged")
    with pytest.raises(ArithmeticError, match="numbers became too large"):
        model.fold_in(sp.csr_array(np.ones((1, 9))))
