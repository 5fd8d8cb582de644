"""What a plugin offers: a name, a factory, a line of text."""

import pytest

from fmfkit import Spec, losses


@pytest.mark.parametrize("name", ["Huber", "my-loss", "", "1st"])
def test_spec_names_are_lower_case_identifiers(name):
    with pytest.raises(ValueError, match="name"):
        Spec(name, "a:b")


@pytest.mark.parametrize("factory", ["no colon", 7, None])
def test_spec_factories_are_callables_or_paths(factory):
    with pytest.raises((ValueError, TypeError)):
        Spec("name", factory)


def test_factories_are_imported_when_they_are_used():
    assert Spec("square", "fmfkit.losses:Square").load() is losses.Square
    assert Spec("square", losses.Square).load() is losses.Square
    with pytest.raises(ModuleNotFoundError):
        Spec("gone", "no_such_module:Loss").load()
