"""Hostile input through every door: a result, or an error on purpose. FMFKIT_FUZZ is how many inputs a door gets."""

import os

import pytest
from fuzzing import DOORS, Choices, keep_the_law
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

COUNT = int(os.environ.get("FMFKIT_FUZZ", "100"))


@pytest.mark.parametrize("door", DOORS)
def test_hostile_input_is_answered_or_refused(door, tmp_path, record_property):
    last, results = tmp_path / "last", []

    # bytes cannot be made simpler in a way that people would see: there is no shrinking
    @settings(max_examples=COUNT, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)
    @given(st.binary(min_size=8, max_size=200))
    def try_one(data):
        last.write_text(data.hex())  # of what ends the process
        results.append(keep_the_law(DOORS[door], Choices(data)))

    try_one()
    record_property("inputs", len(results))
    print(f"{door}: {len(results)} inputs, {sum(results)} with a result")
    assert len(results) >= COUNT
