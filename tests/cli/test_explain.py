"""fmfkit explain: what each feature adds to a score."""

import json

import numpy as np
from command import invoke, run

from fmfkit.recommend.recommender import Recommender


def test_a_score_is_explained(model):
    shown = invoke("explain", model, "--query", "u3", "--target", "7")
    assert shown.startswith("score ")
    assert "genres: " in shown
    told = json.loads(invoke("explain", model, "--query", "u3", "--target", "7", "--json"))
    np.testing.assert_allclose(told["score"], Recommender.load(model).score(["u3"], [7])[0], rtol=1e-6)
    assert {part["block"] for part in told["by_target"]} == {"indicator", "genres"}


def test_ids_that_are_not_known_are_named_left_out_or_explained_as_far_as_they_go(model):
    asked = "explain", model, "--query", "nobody", "--target", "7"
    result = run(*asked)
    assert result.exit_code == 1
    assert "queries: 1 ids are not known, such as 'nobody'" in result.output
    assert invoke(*asked, "--unknown", "skip") == ""
    assert "target bias" in invoke(*asked, "--unknown", "features")
