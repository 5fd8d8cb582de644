import pytest
from fmfkit_bench.speed import goals
from fmfkit_bench.speed.goals import Goal


@pytest.mark.parametrize(
    ("measured", "more", "verdict"), [(1.0, True, "missed"), (2.5, True, "must"), (5, True, "aim"), (1, False, "aim")]
)
def test_verdicts(measured, more, verdict):
    limits = (2.0, 4.0) if more else (4.0, 2.0)
    assert Goal("x", measured, *limits, more=more).verdict == verdict


def test_goals_that_do_not_apply_are_shown_without_a_verdict_or_claim():
    section = goals.section([Goal("a", 3.0, 2.0, 4.0), Goal("b", 1.0, 2.0, 4.0), Goal("c", 5.0)])
    assert [row[-1] for row in section.tables[0].rows] == ["must", "missed", None]
    assert [(claim.what, claim.holds) for claim in section.claims] == [("a", True), ("b", False)]
    assert section.tables[0].rows[0][1:4] == ["3x", "2x", "4x"]
