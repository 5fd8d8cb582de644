"""The conformance suite is run by pytest on an installed plugin."""

import sys

import pytest
from fake_plugins import install

from fmfkit import Loss
from fmfkit.testing.running import CHECKS

pytest_plugins = ["pytester"]

EACH = len(CHECKS[Loss])
"""The checks of one loss; three of them, of its native form, do not apply to those built in."""


def run(pytester, *arguments):
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments)


def test_a_plugin_is_checked_by_name(pytester):
    result = run(pytester, "--pyargs", "fmfkit.testing", "--fmfkit-plugin", "builtin", "-k", "Square or Logistic")
    told = result.parseoutcomes()
    assert (told["passed"], told["skipped"], "failed" in told) == (2 * EACH - 6, 6, False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the conformance suite needs to know what to check: --fmfkit-plugin NAME"),
        (["--fmfkit-plugin", "nope"], "no plugin is called 'nope'; there are"),
        (["--fmfkit-plugin", "builtin", "--fmfkit-expect-failure", "check_x=?"], "there is no check 'check_x'"),
        (["--fmfkit-plugin", "builtin", "--fmfkit-expect-failure", "check_x"], "expected CHECK=REASON"),
    ],
)
def test_what_cannot_be_checked_is_an_error_and_no_pass(pytester, arguments, message):
    result = run(pytester, "--pyargs", "fmfkit.testing", *arguments)
    assert result.ret != 0
    assert message in result.stdout.str() + result.stderr.str()


def test_the_examples_of_a_spec_are_checked_too(pytester, monkeypatch):
    site = pytester.mkdir("site")
    source = (
        "import attrs\nfrom fmfkit import Spec, hookimpl, losses\n\n@attrs.frozen\nclass Mine(losses.Square):\n"
        "    size: float = 1.0\n\n@hookimpl\ndef fmfkit_losses():\n"
        "    return [Spec('mine', Mine, 'mine', examples=[{'size': 2.0}, {'size': 3.0}])]\n"
    )
    install(site, mine=source)
    monkeypatch.setenv("PYTHONPATH", str(site))
    result = run(pytester, "--pyargs", "fmfkit.testing", "--fmfkit-plugin", "mine", "-k", "check_copies", "-v")
    result.assert_outcomes(passed=3, deselected=3 * (EACH - 1))
    for size in (1.0, 2.0, 3.0):
        assert f"[Mine(size={size})-check_copies_are_equal]" in result.stdout.str()


def test_a_broken_plugin_beside_good_ones_breaks_nothing(pytester, monkeypatch):
    site = pytester.mkdir("site")
    good = (
        "from fmfkit import Spec, hookimpl\n\n@hookimpl\ndef fmfkit_losses():\n"
        "    return [Spec('mine', 'fmfkit.losses:Square', 'mine')]\n"
    )
    install(site, good=good, broken="raise ImportError('no such luck')")
    monkeypatch.setenv("PYTHONPATH", str(site))
    told = run(pytester, "--pyargs", "fmfkit.testing", "--fmfkit-plugin", "good").parseoutcomes()
    assert (told["passed"], told["skipped"], "failed" in told) == (EACH - 3, 3, False)
    refused = run(pytester, "--pyargs", "fmfkit.testing", "--fmfkit-plugin", "broken")
    assert refused.ret != 0
    assert "plugin 'broken' is failed: no such luck" in refused.stdout.str() + refused.stderr.str()
    listed = pytester.run(sys.executable, "-m", "fmfkit", "plugins").stdout.str()
    assert "good  (good-plugin 2.0)  ok" in listed
    assert "broken  (broken-plugin 2.0)  failed" in listed
    code = "import fmfkit; fmfkit.fit(fmfkit.Problem.from_coo([0], [0], [1.0], rank=1, loss='good:mine'), rounds=1)"
    assert pytester.run(sys.executable, "-W", "ignore", "-c", code).ret == 0
