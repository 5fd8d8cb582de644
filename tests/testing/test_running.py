"""The conformance suite itself: good components pass, each broken one fails the checks it should, and no others."""

import sys
import textwrap

import pytest
from numpy_plugins import NonNegative, NumpyRidge, NumpySquare, PseudoHuber
from zoo import ZOO, Good, GoodRidge, GoodSets

from fmfkit import losses, regularizers, schedulers, solvers, testing
from fmfkit.testing import running

pytest_plugins = ["pytester"]

GOOD = [
    losses.Square(),
    losses.Logistic(),
    Good(),
    PseudoHuber(),
    NumpySquare(per_pair=True),
    regularizers.ElasticNet(l1=0.1),
    NumpyRidge(),
    NonNegative(),
    GoodRidge(),
    schedulers.RandomPartition(50),
    schedulers.SizeBalanced(8),
    schedulers.InOrder(3),
    GoodSets(),
    solvers.PL2M(),
    solvers.PL2M(),
    solvers.L2M(),
    solvers.Naive(),
    solvers.SGD(learning_rate=0.02),
]


@pytest.mark.parametrize("component", GOOD, ids=repr)
def test_good_components_pass(component):
    results = testing.check(component)
    assert results.ok, str(results)


@pytest.mark.parametrize("name", sorted(ZOO))
def test_each_broken_component_fails_the_checks_it_should(name):
    component, expected = ZOO[name]
    results = testing.check(component)
    assert set(results.failed) == expected, str(results)
    for result in results.checks:
        if result.status == "failed":
            assert result.message.startswith(f"{component!r} fails {result.name}\n  law: {result.law}\n  but: ")
            assert f"docs/conformance.md#{result.name}" in result.message


def test_failures_show_the_simplest_numbers():
    component, _ = ZOO["CurvatureTooSmall"]
    message = next(result.message for result in testing.check(component).checks if result.status == "failed")
    assert "score = 0, y = 0, t = " in message


def test_the_table_tells_all_and_why_some_were_left_out():
    text = str(testing.check(losses.Square()))
    assert "passed   check_gradient_is_the_derivative" in text
    assert "skipped  check_native_equals_numpy" in text
    assert "it has no native form" in text


def test_only_components_can_be_checked():
    with pytest.raises(TypeError, match="expected a Loss, Regularizer, PartitionScheduler or Solver, got str"):
        testing.check("square")


def test_every_check_has_a_law_in_one_sentence():
    for checks in running.CHECKS.values():
        for check in checks:
            assert check.__doc__.strip().count("\n\n") == 0
            assert check.__doc__.strip().endswith(".")


def run(pytester, *arguments):
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments)


def test_checks_run_in_an_authors_own_tests(pytester):
    pytester.makepyfile(
        textwrap.dedent("""
        from fmfkit import testing, losses

        class Worse(losses.Square):
            def curvature(self, score, y):
                return 1.0

        @testing.parametrize_with_checks([losses.Square()])
        def test_good(component, check):
            check(component)

        @testing.parametrize_with_checks([Worse()], expected_failures={
            "check_curvature_majorises": "known", "check_trains": "follows",
            "check_is_elementwise": "it passes, so this is wrong"})
        def test_worse(component, check):
            check(component)
        """)
    )
    result = run(pytester)
    result.assert_outcomes(passed=27, failed=1, skipped=2, xfailed=2)
    result.stdout.fnmatch_lines(["*FAILED*test_worse*Worse-check_is_elementwise*"])


def test_unknown_checks_are_an_error():
    with pytest.raises(ValueError, match="there is no check 'check_x'; there are"):
        testing.parametrize_with_checks([losses.Square()], expected_failures={"check_x": "?"})


def test_a_plugin_is_checked_by_name(pytester):
    result = run(pytester, "--pyargs", "fmfkit.testing", "--fmfkit-plugin", "builtin", "-k", "Square or Logistic")
    told = result.parseoutcomes()
    assert (told["passed"], told["skipped"], "failed" in told) == (30, 2, False)


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


def test_a_broken_plugin_beside_good_ones_breaks_nothing(pytester, monkeypatch):
    site = pytester.mkdir("site")
    (site / "broken_plugin.py").write_text("raise ImportError('no such luck')")
    (site / "good_plugin.py").write_text(
        "from fmfkit import Spec, hookimpl\n\n@hookimpl\ndef fmfkit_losses():\n"
        "    return [Spec('mine', 'fmfkit.losses:Square', 'mine')]\n"
    )
    for name in ("broken", "good"):
        about = site / f"{name}_plugin-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-plugin\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[fmfkit]\n{name} = {name}_plugin\n")
    monkeypatch.setenv("PYTHONPATH", str(site))
    told = run(pytester, "--pyargs", "fmfkit.testing", "--fmfkit-plugin", "good").parseoutcomes()
    assert (told["passed"], told["skipped"], "failed" in told) == (15, 1, False)
    refused = run(pytester, "--pyargs", "fmfkit.testing", "--fmfkit-plugin", "broken")
    assert refused.ret != 0
    assert "plugin 'broken' is failed: no such luck" in refused.stdout.str() + refused.stderr.str()
    listed = pytester.run(sys.executable, "-m", "fmfkit", "plugins").stdout.str()
    assert "good  (good-plugin 1.0)  ok" in listed
    assert "broken  (broken-plugin 1.0)  failed" in listed
    code = "import fmfkit; fmfkit.fit(fmfkit.Problem.from_coo([0], [0], [1.0], rank=1, loss='good:mine'), rounds=1)"
    assert pytester.run(sys.executable, "-W", "ignore", "-c", code).ret == 0
