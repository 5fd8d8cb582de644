"""Components as JSON: the name under which a plugin offers them, and their options."""

import attrs
import pytest
from fake_plugins import plugin, registry

from fmfkit import Spec, losses, schedulers, solvers
from fmfkit.errors import ModelFileError
from fmfkit.plugins import description


@attrs.frozen
class Unnamed(losses.Square):
    """A loss that no plugin offers."""


@pytest.mark.parametrize(
    "component",
    [
        losses.Square(),
        losses.Logistic(),
        schedulers.RandomPartition(7),
        solvers.SGD(learning_rate=0.25),
        solvers.PL2M(scheduler=schedulers.SizeBalanced(9)),
    ],
    ids=repr,
)
def test_components_come_back_with_their_options(component):
    told = description.describe(component)
    assert told["distribution"] == "fmfkit"
    assert description.create(told, "here") == component


def test_what_no_plugin_offers_has_no_description():
    assert description.describe(Unnamed()) is None
    assert description.describe(solvers.PL2M(scheduler=Odd())) is None  # nor what has such an option
    assert description.describe("square") is None


@attrs.frozen
class Odd(schedulers.InOrder):
    """A scheduler that no plugin offers."""


def test_a_plugin_that_is_not_installed_is_named():
    told = {"kind": "loss", "name": "extra:huber", "options": {}, "distribution": "fmfkit-extra", "version": "1.2"}
    with pytest.raises(
        ModelFileError, match=r"model: its loss 'extra:huber' comes with fmfkit-extra 1\.2, which is not"
    ):
        description.create(told, "model", registry())


@pytest.mark.parametrize(
    "told",
    [
        None,
        "square",
        [],
        {},
        {"kind": "loss"},
        {"kind": "loss", "name": "builtin:square"},
        {"kind": "loss", "name": 7, "options": {}},
        {"kind": ["loss"], "name": "builtin:square", "options": {}},
        {"kind": "loader", "name": "builtin:movielens", "options": {"path": "/nowhere"}},
        {"kind": "callback", "name": "builtin:log", "options": {"to": "/nowhere"}},
        {"kind": "solver", "name": "builtin:panel", "options": {}},
    ],
    ids=repr,
)
def test_what_describes_no_loss_is_refused_where_one_is_wanted(told):
    with pytest.raises(ModelFileError, match="here: "):
        description.create(told, "here", kind="loss")


def test_what_is_no_component_is_never_made_as_the_option_of_one():
    loader = {"kind": "loader", "name": "builtin:movielens", "options": {"path": "/nowhere"}}
    told = {"kind": "solver", "name": "builtin:pl2m", "options": {"scheduler": loader}}
    with pytest.raises(
        ModelFileError, match="expected the description of a loss or regularizer or scheduler or solver"
    ):
        description.create(told, "here")


@attrs.frozen
class Listed(losses.Square):
    """A loss with an option that JSON cannot hold as it is."""

    levels: tuple[float, ...] = (1.0, 2.0)


def test_options_that_json_cannot_hold_are_not_described(monkeypatch):
    mine = registry(a=plugin(fmfkit_losses=[Spec("listed", Listed), Spec("unnamed", Unnamed)]))
    monkeypatch.setattr(description, "get_registry", lambda: mine)
    told = description.describe(Unnamed())
    assert told == {"kind": "loss", "name": "a:unnamed", "options": {}, "distribution": "dist-a", "version": "1.2"}
    assert description.create(told, "here") == Unnamed()
    assert description.describe(Listed()) is None
