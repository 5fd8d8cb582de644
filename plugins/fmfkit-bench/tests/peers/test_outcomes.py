import pytest
from fmfkit_bench.peers.outcomes import Outcome, section
from fmfkit_bench.peers.search import Found, Limits
from fmfkit_bench.peers.worker import Job, Measured


def outcome(system, value, seconds, **more):
    run = Measured(
        metrics={"RMSE": value},
        seconds=seconds,
        values=[value],
        round_seconds=[seconds],
        peak_bytes=1,
        top_seconds=None,
    )
    return Outcome(system=system, found=Found({}, 1, value, 1, 1.0), runs=[run], difference=0.0, **more)


@pytest.mark.parametrize(
    ("others", "verdicts"),
    [
        ([("a", 0.9, 1.0)], [True, True]),  # far off: its time does not matter
        ([("a", 0.803, 1.0)], [True, False]),  # close, and faster
        ([("a", 0.803, 9.0)], [True, True]),
        ([("a", 0.79, 9.0)], [False, True]),
    ],
)
def test_claims_say_who_is_ahead(others, verdicts):
    job = Job(system="", data="", rank=4, threads=1, seed=0, rounds=1, limits=Limits(1, 1.0))
    found = section("data", [outcome("fmfkit", 0.8, 5.0), *(outcome(*other) for other in others)], job)
    assert [claim.holds for claim in found.claims] == verdicts
    assert [row[1] for row in found.tables[0].rows] == sorted([0.8, *(value for _, value, _ in others)])
