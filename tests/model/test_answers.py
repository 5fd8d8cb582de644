"""Explanations take a score apart, and can be named and printed."""

import pytest
from hypothesis import given
from problems import Case, cases, few

from fmfkit import fit


@few
@given(case=cases())
def test_explanations_add_up_to_the_score(case):
    model = fit(case.build(), rounds=1)
    told = model.explain(0, case.targets - 1)
    parts = {part: sum(c.adds for c in getattr(told, part)) for part in ("query_bias", "target_bias", "by_query")}
    assert told.score == pytest.approx(float(model.score([0], [case.targets - 1])[0]))
    assert told.offset + sum(parts.values()) == pytest.approx(told.score, rel=1e-4, abs=1e-5)
    assert parts["by_query"] == pytest.approx(sum(c.adds for c in told.by_target), rel=1e-4, abs=1e-5)
    assert sum(told.blocks("by_query").values()) == pytest.approx(parts["by_query"])
    assert {c.block for c in told.by_query} <= set(model.X.blocks)


def test_explanations_are_named_and_printed_by_their_largest_parts():
    model = fit(Case(queries=30, targets=50, pairs=300, seed=4).build(), rounds=2)
    plain = model.explain(5, 7)
    sizes = [abs(part.adds) for part in plain.by_query]
    assert sizes == sorted(sizes, reverse=True)
    names = {name: [f"{name} {n}" for n in range(60)] for name in ("indicator", "shared")}
    told = plain.named(names, names)
    assert {part.name for part in told.by_query} == {f"{part.block} {part.feature}" for part in plain.by_query}
    assert "indicator: indicator 5" in str(told)
    assert str(told).splitlines()[0].startswith(f"score {told.score:.4f}, of which the offset {told.offset:.4f}")
