"""A model file, as the command line made it."""

import contextlib
import shutil

import pytest
from bookshop import write_files
from command import invoke


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A folder with a model file, and what was printed when it was made."""
    folder = tmp_path_factory.mktemp("fitted")
    write_files(folder)
    options = ["--rank", "4", "--test", "0.2", "--split", "cold-target", "--l2", "0.02", "--out", "model.fmf"]
    with contextlib.chdir(folder):
        output = invoke("fit", "ratings.csv", "--targets", "books.csv", *options)
    return folder, output


@pytest.fixture
def model(shop, fitted):
    """A model file in the current folder, beside the files that it was made of."""
    shutil.copy(fitted[0] / "model.fmf", shop)
    return "model.fmf"
