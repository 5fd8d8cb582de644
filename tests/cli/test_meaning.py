"""Errors of meaning in TOML files are found whatever else is wrong."""

import pytest

from fmfkit.cli.config import read_config
from fmfkit.errors import ConfigError

MEANT = """
[data]
pairs = "nowhere.csv"
loader = "movielense"
queries = "users.csv"
targets = {blocks = [{kind = "neighbours", links = "links.csv"}]}
[model]
loss = "bpr"
rank = 0
[recipe]
metric = "ndcg"
metrics = ["rsme"]
callbacks = ["tell"]
tune = 5
validate = 0
speed = 3
"""


def test_errors_of_meaning_are_reported_with_those_of_form(tmp_path):
    (tmp_path / "fit.toml").write_text(MEANT)
    with pytest.raises(ConfigError) as caught:
        read_config(tmp_path / "fit.toml")
    told = str(caught.value)
    for part in (
        "rank: expected at least 1, got 0 @ config.model",
        "unknown key 'speed'",
        "no loss is called 'bpr'; there are",
        " @ config.model.loss",
        "metric 'ndcg': it needs a depth, as in 'ndcg@10' @ config.recipe.metric\n",
        "no metric is called 'rsme'; did you mean 'rmse'",
        "no callback is called 'tell'",
        "tune: it needs a validation part",
        "no loader is called 'movielense'; did you mean 'movielens'",
        "nowhere.csv: there is no such file @ config.data.pairs",
        "users.csv: there is no such file @ config.data.queries",
        "links.csv: there is no such file @ config.data.targets.blocks[0]",
    ):
        assert part in told, told
    assert "11 errors" in told, told


def test_settings_that_do_not_go_together_are_reported_with_other_errors(tmp_path):
    (tmp_path / "p.csv").touch()
    (tmp_path / "fit.toml").write_text('[data]\npairs = "p.csv"\nrate = 1\n[model]\ncells = 3\nnegatives = 4')
    with pytest.raises(ConfigError, match=r"unknown key 'rate'(.|\n)*cells: 3 counts every pair .* @ config.model"):
        read_config(tmp_path / "fit.toml")
