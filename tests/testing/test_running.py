"""Checks are run for a table, and in an author's own tests."""

import textwrap

import attrs
import pytest
from click.testing import CliRunner

from fmfkit import Loss, losses, testing
from fmfkit.testing import running, verdict
from fmfkit.testing.__main__ import main

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
    result.assert_outcomes(passed=2 * len(running.CHECKS[Loss]) - 8, failed=1, skipped=6, xfailed=1)
    result.stdout.fnmatch_lines(["*FAILED*test_worse*Worse-check_is_elementwise*"])


def test_unknown_checks_are_an_error():
    with pytest.raises(ValueError, match="there is no check 'check_x'; there are"):
        testing.parametrize_with_checks([losses.Square()], expected_failures={"check_x": "?"})
    with pytest.raises(ValueError, match="only: there is no check 'check_x'; there are"):
        testing.check(losses.Square(), only=["check_x"])


def test_components_of_one_class_are_told_apart():
    huber, wide = FakeHuber(), FakeHuber(2.0)
    names = [parameter.id for parameter in running.parameters([huber, wide, losses.Square()], {})]
    assert {"FakeHuber(delta=1.0)-check_trains", "FakeHuber(delta=2.0)-check_trains"} < set(names)
    assert "Square-check_trains" in names


@attrs.frozen
class FakeHuber(losses.Square):
    delta: float = 1.0


def test_a_failure_under_pytest_is_its_message_and_no_traceback(pytester):
    pytester.makepyfile(
        textwrap.dedent("""
        from fmfkit import testing, losses

        class Worse(losses.Square):
            def curvature(self, score, y):
                return 1.0

        class Raises(losses.Square):
            def curvature(self, score, y):
                raise ZeroDivisionError("my mistake")

        @testing.parametrize_with_checks([Worse(), Raises()])
        def test_conformance(component, check):
            check(component)
        """)
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", "check_curvature_majorises")
    result.assert_outcomes(failed=2, deselected=2 * len(running.CHECKS[Loss]) - 2)
    text = result.stdout.str()
    assert "but: the bound is exceeded: score = " in text
    assert "see: python -m fmfkit.testing --explain check_curvature_majorises" in text
    assert "but: it raised ZeroDivisionError: my mistake" in text
    assert "test_a_failure_under_pytest_is_its_message_and_no_traceback.py:9, in curvature" in text
    assert "Traceback" not in text
    assert "The above exception" not in text
    assert "def check_curvature_majorises" not in text
    assert len(result.outlines) < 40


class OptionalNative(losses.Square):
    """Has a native form where something is installed that is not."""

    @property
    def native(self):
        return None


def test_a_native_form_that_is_not_there_is_told_loudly():
    with pytest.warns(testing.NotCheckedWarning, match=r"NOT CHECKED: check_native_equals_numpy of .*native is None"):
        results = testing.check(OptionalNative(), only=["check_native_equals_numpy"])
    assert "MISSING  check_native_equals_numpy" in str(results)
    assert "is not built, or what it needs is not installed" in str(results)


def test_a_native_form_that_is_not_there_is_told_by_pytest(pytester):
    pytester.makepyfile(
        textwrap.dedent("""
        from fmfkit import testing, losses

        class Optional(losses.Square):
            @property
            def native(self):
                return None

        @testing.parametrize_with_checks([Optional(), losses.Square()])
        def test_conformance(component, check):
            check(component)
        """)
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", "native_equals")
    result.assert_outcomes(skipped=2, deselected=2 * len(running.CHECKS[Loss]) - 2)
    result.stdout.fnmatch_lines(["*NotCheckedWarning: NOT CHECKED: check_native_equals_numpy of Optional()*"])


def test_every_check_is_explained_where_fmfkit_is_installed():
    for checks in running.CHECKS.values():
        for check in checks:
            text = running.explained(check.__name__)
            assert verdict.law(check) in text
            assert f"def {check.__name__}(" in text
    with pytest.raises(ValueError, match="--explain: there is no check 'check_x'"):
        running.explained("check_x")


def test_checks_are_explained_on_the_command_line():
    told = CliRunner().invoke(main, ["--explain", "check_stops_when_asked"])
    assert "Solver: A callback sees every round" in told.output
    assert "there is no check 'check_x'" in CliRunner().invoke(main, ["--explain", "check_x"]).output
