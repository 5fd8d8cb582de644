import importlib.util

import numpy as np
from fmfkit_bench import core
from fmfkit_bench.results import sections


def test_top_compares_with_implicit(bench, tmp_path):
    out = tmp_path / "out.json"
    output = bench("top", "--scale", 0.002, "-k", 5, "--repeats", 1, "--rank", 8, "--json", out)
    assert "ml10m: top 5 of " in output
    (section,) = sections.read(out).sections
    names = [row[0] for row in section.tables[0].rows]
    if importlib.util.find_spec("implicit") is None:
        assert names == ["fmfkit"]
    else:
        assert names == ["fmfkit", "implicit"]
        assert section.claims[0].holds


def test_untrained_models_have_random_factors_and_no_biases():
    model = core.untrained((6, 5), 3, 0, 1)
    assert model.P.shape == (6, 3)
    score = model.score(np.arange(6)[:, None], np.arange(5))
    np.testing.assert_allclose(score, model.query_embedding @ model.target_embedding.T, rtol=1e-5)
