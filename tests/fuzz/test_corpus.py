"""The seeds are good, and the law can be broken: inputs that broke it once do not do so again."""

import pytest
from fuzzing import Choices, LawError, keep_the_law
from fuzzing.corpus import folder, model_files

from fmfkit import Model
from fmfkit.errors import DataError


@pytest.mark.parametrize("name", model_files())
def test_seeds_are_models(name):
    assert Model.load(folder() / name).P.size


def test_errors_of_others_break_the_law():
    def raw(choices):
        {}["key"]

    def silent(choices):
        raise DataError

    def told(choices):
        raise DataError("why")

    assert not keep_the_law(told, Choices(b""))
    for door in (raw, silent):
        with pytest.raises(LawError):
            keep_the_law(door, Choices(b""))
