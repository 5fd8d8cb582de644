"""Checks are run for a table, and in an author's own tests."""

import textwrap

import pytest

from fmfkit import Loss, losses, testing
from fmfkit.testing import running

pytest_plugins = ["pytester"]


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
            "check_curvature_majorises": "known",
            "check_is_elementwise": "it passes, so this is wrong"})
        def test_worse(component, check):
            check(component)
        """)
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2 * len(running.CHECKS[Loss]) - 4, failed=1, skipped=2, xfailed=1)
    result.stdout.fnmatch_lines(["*FAILED*test_worse*Worse-check_is_elementwise*"])


def test_unknown_checks_are_an_error():
    with pytest.raises(ValueError, match="there is no check 'check_x'; there are"):
        testing.parametrize_with_checks([losses.Square()], expected_failures={"check_x": "?"})
