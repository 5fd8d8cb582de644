"""What a plugin's distribution requires, and whether it is installed."""

import importlib.metadata

import pytest
from fake_plugins import install

from fmfkit.plugins.requirements import unmet

NUMPY = importlib.metadata.version("numpy")


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("numpy", []),
        ("numpy>=1.0", []),
        ("fmfkit<0.0.1; python_version < '3'", []),
        ("no-such-thing; extra == 'more'", []),
        ("numpy>=999", [f"requires numpy>=999, and {NUMPY} is installed"]),
        ("no-such-thing>=2", ["requires no-such-thing>=2, which is not installed"]),
        ("not a requirement", ["requires 'not a requirement', which is no requirement"]),
    ],
)
def test_what_does_not_fit_is_told(tmp_path, monkeypatch, requirement, expected):
    install(tmp_path, needy="")
    metadata = tmp_path / "needy_plugin-2.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text() + f"Requires-Dist: {requirement}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = unmet("needy-plugin")
    assert len(found) == len(expected)
    assert all(line.startswith(start) for line, start in zip(found, expected, strict=True))


def test_a_distribution_that_is_not_there_requires_nothing():
    assert unmet("no-such-distribution") == []
