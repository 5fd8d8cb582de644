"""Feature blocks of plugins: known by name in files, refused where a file could not be read again."""

from typing import ClassVar

import attrs
import numpy as np
import pytest
from fake_plugins import plugin, registry

from fmfkit import FMF, Dataset, Spec
from fmfkit.data import Categorical, SideTable, Tags
from fmfkit.errors import ModelFileError, PluginLoadError, UnknownNameError
from fmfkit.recommend import blocks
from fmfkit.recommend.blocks import block_class
from fmfkit.recommend.recommender import Recommender


@attrs.frozen
class First(Categorical):
    """The first letters of a column, as a plugin's feature block."""

    kind: ClassVar[str] = "first"
    letters: int = 1

    def tokens(self, given):
        found = super().tokens(given)
        return found.with_columns(found["token"].str.head(self.letters))


@attrs.frozen
class Mine(Tags):
    """Tags of a user's own, which have the kind of the built-in ones."""


@attrs.frozen
class Nobodys(Categorical):
    """A block that no plugin offers."""

    kind: ClassVar[str] = "nobodys"


OFFERED = registry(mine=plugin(fmfkit_blocks=[Spec("first", First), Spec("second", First), Spec("odd", dict)]))


@pytest.fixture
def offered(monkeypatch):
    monkeypatch.setattr(blocks, "get_registry", lambda: OFFERED)


def trained_with(block):
    rng = np.random.default_rng(0)
    pairs = {"user": rng.integers(0, 20, 200), "item": rng.integers(0, 10, 200), "rating": rng.normal(size=200)}
    items = {"item": np.arange(10), "word": ["ab", "ac", "bb", "cd", "ce", "da", "ab", "ac", "bb", "cd"]}
    data = Dataset.of(pairs, targets=SideTable(items, blocks=[block]), duplicates="mean")
    return FMF(rank=2, rounds=2, l2=0.1).fit(data)


@pytest.mark.usefixtures("offered")
def test_a_plugin_s_block_is_saved_and_loaded_by_its_name(tmp_path):
    trained = trained_with(First("word", letters=1))
    trained.save(tmp_path / "model.fmf")
    again = Recommender.load(tmp_path / "model.fmf")
    (learnt,) = again.encoder.targets.blocks
    assert learnt.block == First("word", letters=1)
    assert learnt.features == ("a", "b", "c", "d")
    assert again.recommend([3], k=4).equals(trained.recommend([3], k=4))


def test_a_plugin_that_is_not_installed_is_named_when_a_file_needs_it(tmp_path, monkeypatch):
    with monkeypatch.context() as there:
        there.setattr(blocks, "get_registry", lambda: OFFERED)
        trained_with(First("word")).save(tmp_path / "model.fmf")
    monkeypatch.setattr(blocks, "get_registry", lambda: registry())
    with pytest.raises(
        ModelFileError, match=r"model.fmf: its feature block 'mine:first' comes with dist-mine 1\.2, which"
    ):
        Recommender.load(tmp_path / "model.fmf")
    monkeypatch.setattr(blocks, "get_registry", lambda: registry({"FMFKIT_BLOCK_PLUGINS": "mine"}, mine=None))
    with pytest.raises(PluginLoadError, match="plugin 'mine' is blocked"):
        Recommender.load(tmp_path / "model.fmf")
    other = registry(mine=plugin(fmfkit_blocks=[Spec("odd", dict)]))
    monkeypatch.setattr(blocks, "get_registry", lambda: other)
    with pytest.raises(ModelFileError, match=r"model\.fmf: no block is called 'mine:first'"):
        Recommender.load(tmp_path / "model.fmf")


@pytest.mark.usefixtures("offered")
@pytest.mark.parametrize(
    ("block", "message"),
    [
        (Mine("word"), r"block 'word' cannot be saved: its class .*Mine is not .*tokens.Tags, which the kind 'tags'"),
        (Nobodys("word", name="it"), r"block 'it' cannot be saved: no plugin offers its class .*Nobodys; offer it by"),
    ],
)
def test_a_block_whose_class_is_not_the_registered_one_is_refused_at_save(tmp_path, block, message):
    trained = trained_with(block)
    with pytest.raises(ModelFileError, match=message):
        trained.save(tmp_path / "model.fmf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("offered")
def test_kinds_are_bare_or_full_names_and_must_be_the_classes_own():
    assert block_class("tags") is Tags
    assert block_class("builtin:tags") is Tags
    assert block_class("first") is block_class("mine:first") is First
    with pytest.raises(
        PluginLoadError, match=r"block 'second': its class .*First has the kind 'first'; name it as it is"
    ):
        block_class("second")
    with pytest.raises(
        PluginLoadError, match=r"block 'mine:odd': expected a subclass of fmfkit\.data\.Block, got <class 'dict'>"
    ):
        block_class("mine:odd")
    with pytest.raises(UnknownNameError, match="no block is called 'frist'; did you mean 'first'"):
        block_class("frist")
