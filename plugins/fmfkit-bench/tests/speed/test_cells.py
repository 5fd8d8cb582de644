import pytest
from fmfkit_bench.results import sections


@pytest.mark.filterwarnings("ignore")  # of irspack's own
def test_rounds_with_the_term_are_timed_beside_those_without(npz, bench, tmp_path):
    out = tmp_path / "out.json"
    small = ("--rank", 4, "--rounds", 3, "--repeats", 1, "--threads", 1)
    bench("cells", npz(positives=True), "--shape", "weibo", "--scale", 0.001, *small, "--json", out)
    first, second = sections.read(out).sections
    for found in (first, second):
        rows = [dict(zip(found.tables[0].columns, row, strict=True)) for row in found.tables[0].rows]
        assert [(row["features"], row["threads"]) for row in rows] == [("no", 1), ("yes", 1)]
        for row in rows:
            assert row["ratio"] == pytest.approx(row["s/round with"] / row["s/round without"])
        assert len(found.claims) == 2


def test_wrong_use_exits_with_2(bench):
    assert "give FILES" in bench("cells", code=2)
