"""The TOML file of fmfkit fit: read strictly, all errors told together."""

from typing import ClassVar

import attrs
import pytest
from fake_plugins import plugin, registry

from fmfkit import Spec
from fmfkit.cli.config import read_config
from fmfkit.data import Categorical
from fmfkit.data.splits import SPLITS
from fmfkit.errors import ConfigError
from fmfkit.recommend import blocks

GOOD = """
[data]
pairs = "ratings.csv"
[data.targets]
table = "books.csv"
blocks = [{kind = "tags", column = "genres", strength = 0.3}, {kind = "numeric", column = "year", bins = 5}]
[model]
rank = 16
l2 = 1
[recipe]
test = 0.1
split = "cold-target"
metrics = ["rmse", "ndcg@10"]
"""

BAD = """
pears = 1
[data]
pairs = 5
duplicates = "sum"
[data.targets]
blocks = [{kind = "tags", colum = "genres"}]
[model]
rank = "64"
lamda = 0.1
"""


@pytest.fixture(autouse=True)
def files(tmp_path):
    """The files that the configurations name."""
    for name in ("ratings.csv", "books.csv", "p.csv", "friends.csv", "f.csv"):
        (tmp_path / name).touch()


def test_paths_of_blocks_are_relative_to_the_file(tmp_path):
    (tmp_path / "fit.toml").write_text(
        '[data]\npairs = "p.csv"\nqueries = {blocks = [{kind = "neighbours", links = "friends.csv"}]}\n'
        '[model.strengths]\n"query.neighbours" = 0.5'
    )
    config = read_config(tmp_path / "fit.toml")
    assert config.data.queries.blocks == [{"kind": "neighbours", "links": str(tmp_path / "friends.csv")}]
    assert config.model.strengths == {"query.neighbours": 0.5}


def test_a_file_is_read_and_paths_are_relative_to_it(tmp_path):
    (tmp_path / "fit.toml").write_text(GOOD)
    config = read_config(tmp_path / "fit.toml")
    assert config.data.pairs == str(tmp_path / "ratings.csv")
    assert config.model.rank == 16
    assert config.model.l2 == 1.0
    assert config.recipe.metrics == ["rmse", "ndcg@10"]


def test_all_errors_are_reported_together_with_their_locations(tmp_path):
    (tmp_path / "fit.toml").write_text(BAD)
    with pytest.raises(ConfigError) as caught:
        read_config(tmp_path / "fit.toml")
    told = str(caught.value)
    for part in (
        "unknown key 'pears'",
        "expected str, got int 5 @ config.data.pairs",
        "config.data.duplicates",
        "unknown key 'colum', did you mean 'column'? @ config.data.targets.blocks[0]",
        "expected int, got str '64' @ config.model.rank",
        "unknown key 'lamda'",
    ):
        assert part in told, told
    assert "6 errors" in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "required key 'data' is missing"),
        ("[data]\n", "required key 'pairs' is missing"),
        ("[data\n", "not TOML"),
        ('[data]\npairs = "a"\n[model]\nrank = 0', "rank"),
        (
            '[data]\npairs = "a"\ntargets = {blocks = [{kind = "tag", column = "x"}]}',
            "unknown kind 'tag', did you mean 'tags'",
        ),
        ('[data]\npairs = "a"\ntargets = {blocks = [3]}', "table with a kind"),
    ],
)
def test_single_mistakes(tmp_path, text, message):
    (tmp_path / "fit.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_config(tmp_path / "fit.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[recipe]\nmetrics = "rmse"', "expected a list of str, got str 'rmse' @ config.recipe.metrics"),
        (
            '[recipe]\nsplit = "cold"',
            f"cold is none of {list(SPLITS)} @ config.recipe.split",
        ),
        (
            "[data]\ntargets = {blocks = [{kind = 'tags'}]}",
            "required key 'column' is missing @ config.data.targets.blocks[0]",
        ),
    ],
)
def test_messages_speak_of_the_file_and_not_of_the_code(tmp_path, text, message):
    (tmp_path / "fit.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_config(tmp_path / "fit.toml")
    assert message in str(caught.value)


def test_the_model_is_written_beside_the_file(tmp_path):
    (tmp_path / "fit.toml").write_text(GOOD)
    assert read_config(tmp_path / "fit.toml").recipe.out == str(tmp_path / "model.fmf")


def test_blocks_and_callbacks_of_plugins_are_known_by_name(tmp_path, monkeypatch):
    @attrs.frozen
    class Linked(Categorical):
        kind: ClassVar[str] = "linked"
        source: str = attrs.field(default=None, metadata={"source": True})

    mine = registry(mine=plugin(fmfkit_blocks=[Spec("linked", Linked), Spec("gone", "no_such_module:Block")]))
    monkeypatch.setattr(blocks, "get_registry", lambda: mine)
    text = '[data]\npairs = "p.csv"\ntargets = {blocks = [{kind = "mine:linked", column = "x", source = "f.csv"}]}\n'
    (tmp_path / "fit.toml").write_text(text + '[recipe]\ncallbacks = ["time_budget:seconds=3"]')
    config = read_config(tmp_path / "fit.toml")
    assert config.data.targets.side_table().blocks == [Linked("x", source=str(tmp_path / "f.csv"))]
    assert config.recipe.callbacks == ["time_budget:seconds=3"]
    for wrong, message in (
        ("linkd", "unknown kind 'linkd'"),
        ("mine:gone", "could not be imported: ModuleNotFoundError"),
    ):
        (tmp_path / "fit.toml").write_text(text.replace("mine:linked", wrong))
        with pytest.raises(ConfigError, match=f"{message}.* @ config.data.targets.blocks.0."):
            read_config(tmp_path / "fit.toml")
