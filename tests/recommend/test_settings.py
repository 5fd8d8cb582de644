"""The settings of a fit are written down once, and everything else is made from them."""

import inspect
import pydoc

import attrs
import click
import numpy as np
import pytest

from fmfkit import FMF, Penalties, Penalty, Settings, losses, solvers
from fmfkit.cli import fit
from fmfkit.cli.config import ModelConfig, read_config
from fmfkit.cli.options import flags_of
from fmfkit.errors import UnknownNameError
from fmfkit.recommend.kinds import Switch
from fmfkit.recommend.settings import default_of, metadata_of, names
from fmfkit.regularizers import ElasticNet


def test_fmf_has_the_settings_and_no_others():
    assert tuple(field.name for field in attrs.fields(FMF) if field.init) == names()
    for name in names():
        assert getattr(FMF(), name) == getattr(Settings(), name) == default_of(name)
    assert FMF().given == frozenset()


def test_a_toml_file_has_the_settings_and_no_others(tmp_path):
    assert tuple(field.name for field in attrs.fields(ModelConfig)) == names()
    (tmp_path / "pairs.csv").touch()
    (tmp_path / "fit.toml").write_text('[data]\npairs = "pairs.csv"\n')
    config = read_config(tmp_path / "fit.toml")
    assert FMF(**config.settings) == FMF()
    assert config.settings == {}  # what is not said is left to the defaults, or to the model that a fit starts from
    (tmp_path / "fit.toml").write_text(
        '[data]\npairs = "pairs.csv"\n[model]\ndata = "positives"\ncells = 1\nscale = 0.5\n'
    )
    assert read_config(tmp_path / "fit.toml").settings == {"data": "positives", "cells": 1.0, "scale": 0.5}


def test_the_command_line_has_the_settings_with_their_defaults():
    options = {option.name: option for option in fit.command.params if isinstance(option, click.Option)}
    shown = fit.command.make_context("fit", [__file__]).params
    for name in names():
        assert [*options[name].opts, *options[name].secondary_opts] == flags_of(name)
        if not isinstance(metadata_of(name)["kind"], Switch):  # neither flag stands for "auto"
            assert (dict(shown[name]) if name == "strengths" else shown[name]) == default_of(name)
        assert options[name].help == metadata_of(name)["help"]
    assert shown["data"] is None
    others = {"queries", "targets", "out", "query", "target", "rating", "weight", "time", "history", "duplicates"}
    others |= {"bad_rows", "label"}
    others |= {
        "tune",
        "checkpoint",
        "checkpoint_every",
        "resume",
        "report",
        "start",
        "validate",
        "refit",
        "test",
        "split",
        "metric",
        "metrics",
        "callbacks",
        "loader",
        "as_json",
    }
    assert set(options) == {*names(), *others}


def test_the_estimators_have_the_settings_with_their_defaults():
    sklearn = pytest.importorskip("fmfkit.sklearn")
    for estimator, loss in ((sklearn.FMFRegressor, "square"), (sklearn.FMFClassifier, "logistic")):
        given = estimator().get_params()
        assert set(given) == {*names(), *sklearn.OWN}
        expected = {name: default_of(name) for name in names()} | {"loss": loss} | sklearn.OWN
        assert given == expected
        assert set(estimator.__signature__.parameters) == set(given)


def test_a_model_file_remembers_all_but_the_threads(trained):
    assert set(names(kept=True)) == set(names()) - {"threads"}
    assert tuple(trained.settings.to_json()) == names(kept=True)


GIVEN = {
    "data": "positives",
    "rank": 3,
    "loss": losses.Logistic(),
    "l2": 0.1,
    "scale": "uniform",
    "bias_l2": 2.0,
    "growth": 0.5,
    "strengths": {"target.genres": 0.3},
    "rounds": 4,
    "patience": 2,
    "cells": 0.0,
    "negatives": 1.5,
    "negatives_by": "popularity",
    "negatives_fresh": True,
    "balance": 0.2,
    "solver": solvers.SGD(learning_rate=0.02),
    "seed": 7,
}


def test_settings_come_back_from_json():
    assert set(GIVEN) == set(names(kept=True)) - {"regularizer", "shrink", "spread"}
    settings = Settings(**GIVEN)
    again, lost = Settings.from_json(settings.to_json(), "here")
    assert again == settings
    assert lost == {}
    for regularizer in (
        "elastic_net",
        ElasticNet(l2=3),
        Penalty(ElasticNet(l1=1), growth=2, strengths={"genres": 3}),
        Penalties(P=ElasticNet(l2=3), query_bias=Penalty(scale="uniform")),
    ):
        settings = Settings(regularizer=regularizer)
        assert Settings.from_json(settings.to_json(), "here") == (settings, {})


@attrs.frozen
class Mine(losses.Square):
    """A loss that no plugin offers."""


def test_what_json_cannot_hold_is_told_by_name():
    again, lost = Settings.from_json(Settings(loss=Mine(), l2=3.0).to_json(), "here")
    assert lost == {"loss": "Mine()"}
    assert again == Settings(l2=3.0)
    with pytest.raises(ValueError, match=r"here: a setting is described by \['riddle'\]"):
        Settings.from_json({"l2": {"riddle": 1}}, "here")


def test_what_was_given_is_known_and_replacing_keeps_it():
    front = FMF(l2="auto", rank=8)  # the default may be given too
    assert front.given == {"l2", "rank"}
    other = front.replace(rounds=3)
    assert other.given == {"l2", "rank", "rounds"}
    assert type(other) is FMF
    assert front == FMF(rank=8)
    with pytest.raises(TypeError, match="lamda"):
        front.replace(lamda=3)


@pytest.mark.parametrize("name", ["l2", "bias_l2"])
@pytest.mark.parametrize("regularizer", ["elastic_net", ElasticNet(l2=3), Penalty(), Penalties()], ids=repr)
def test_a_regularizer_and_the_strengths_it_replaces_are_refused_together(name, regularizer):
    with pytest.raises(ValueError, match=rf"regularizer: .* replaces {name}, which would be ignored"):
        FMF(regularizer=regularizer, **{name: 7.0})


@pytest.mark.parametrize("changes", [{"scale": "uniform"}, {"growth": 0.5}, {"strengths": {"target.genres": 2.0}}])
def test_a_whole_penalty_replaces_all_strengths_and_a_regularizer_composes_with_them(changes, data):
    (name,) = changes
    for penalty in (Penalty(ElasticNet(l2=3)), Penalties(P=ElasticNet(l2=3))):
        with pytest.raises(ValueError, match=rf"regularizer: .* replaces {name}, which would be ignored"):
            FMF(regularizer=penalty, **changes)
    composed = FMF(rank=2, regularizer=ElasticNet(l2=3), **changes).problem(data).target.factors
    plain = FMF(rank=2, regularizer=ElasticNet(l2=3)).problem(data).target.factors
    assert composed.regularizer == plain.regularizer == ElasticNet(l2=3)
    same = np.array_equal(composed.strength, plain.strength) and np.array_equal(composed.growth, plain.growth)
    assert not same


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"patience": 0}, ValueError, "patience: expected at least 1, got 0"),
        ({"l2": -1}, ValueError, "l2: expected a finite number at least 0, got -1"),
        ({"balance": 1.5}, ValueError, "balance: expected a finite number from 0 to 1, got 1.5"),
        ({"rank": 2.5}, TypeError, "rank: expected a whole number, got 2.5"),
        ({"cells": -1}, ValueError, "cells: expected a finite number at least 0, got -1"),
        ({"data": "clicks"}, ValueError, r"data: expected one of \['auto', 'positives', 'ratings'\], got 'clicks'"),
        ({"cells": 0.2, "negatives": 4}, ValueError, r"cells: 0.2 counts every pair .* or negatives \(4\)"),
        (
            {"scale": "none"},
            ValueError,
            r"scale: expected one of \['observations', 'uniform'\] or a number, got 'none'",
        ),
        ({"negatives_fresh": 1}, TypeError, "negatives_fresh: expected True or False, got 1"),
        ({"strengths": {"a": -1}}, ValueError, r"strengths\['a'\]: expected a finite number at least 0"),
        ({"lamda": 1}, TypeError, "lamda"),
    ],
)
def test_senseless_settings_are_refused_by_name(options, error, message):
    with pytest.raises(error, match=message):
        FMF(**options)


def test_help_lists_every_parameter_with_its_default_and_what_it_is_for():
    told = pydoc.render_doc(FMF, renderer=pydoc.plaintext)
    words = " ".join(told.replace("|", " ").split())
    for name in names():
        assert f" {name}: {metadata_of(name)['help'].replace('`', '``')} Default: {default_of(name)!r}." in words
    assert list(inspect.signature(FMF).parameters) == list(names())
    assert inspect.signature(FMF).parameters["rank"].default == 32


def test_names_that_nobody_offers_are_refused_at_once():
    for settings, message in (
        ({"loss": "bpr"}, "no loss is called 'bpr'"),
        ({"solver": "adam"}, "no solver is called 'adam'"),
        ({"regularizer": "dropout"}, "no regularizer is called 'dropout'"),
        ({"loss": "square:delta=2"}, "loss 'square': there is no option 'delta'"),
    ):
        with pytest.raises((UnknownNameError, ValueError), match=message):
            FMF(**settings)
        Settings(**settings)  # of a model file, which may be made with plugins that are not installed
