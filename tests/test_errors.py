"""Errors of fmfkit are of the kinds that callers expect."""

import pytest

from fmfkit import errors

KINDS = {
    "ConfigError": ValueError,
    "DataError": ValueError,
    "DivergedError": ArithmeticError,
    "IncompatibleError": ValueError,
    "ModelFileError": ValueError,
    "PluginContractError": TypeError,
    "PluginLoadError": RuntimeError,
    "UnknownNameError": LookupError,
    "WriteError": OSError,
}


def test_every_error_is_public():
    assert sorted(KINDS) == sorted(errors.__all__)


@pytest.mark.parametrize("name", KINDS)
def test_an_error_can_be_caught_as_the_built_in_one_that_it_is(name):
    with pytest.raises(KINDS[name], match="why"):
        raise getattr(errors, name)("why")
    assert getattr(errors, name).__doc__
