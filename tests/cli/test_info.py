"""fmfkit info."""

import json

from command import invoke

import fmfkit


def test_info_tells_how_the_core_was_built():
    assert json.loads(invoke("info", "--json")) == fmfkit.build_info()
    assert f"version        {fmfkit.__version__}" in invoke("info")
