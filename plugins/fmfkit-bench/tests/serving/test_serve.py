import importlib.util

import pytest
from fmfkit_bench.results import sections
from fmfkit_bench.serving import serve

SMALL = ("--targets", 60, "--queries", 50, "--pairs", 400, "--rank", 4, "--requests", 5, "--batch", 20, "--repeats", 1)
IMPLICIT = importlib.util.find_spec("implicit") is not None


def test_serve_times_queries_batches_and_loading(bench, tmp_path):
    out = tmp_path / "out.json"
    bench("serve", *SMALL, "--threads", 1, "--json", out)
    single, new, batches, loading = sections.read(out).sections
    ways = [serve.BY_ROW, serve.ALL_TARGETS, serve.BY_ID, *([serve.IMPLICIT] if IMPLICIT else [])]
    for section in (single, batches):
        (table,) = section.tables
        assert [row[0] for row in table.rows] == ways
    assert all(0 < row[1] <= row[2] for row in [*single.tables[0].rows, *new.tables[0].rows])
    assert [row[0] for row in new.tables[0].rows] == [serve.VECTOR, serve.NEW]
    assert [row[0] for row in loading.tables[0].rows] == ["fmfkit", *(["implicit"] if IMPLICIT else [])]
    assert all(row[1] > 0 and row[2] > 0 for row in loading.tables[0].rows)
    same = [claim for claim in single.claims if "same" in claim.what]
    assert len(same) == 1 + IMPLICIT
    assert all(claim.holds for claim in same)


def test_training_pairs_are_drawn_once_each_and_left_out():
    given = serve.Options(
        targets=30, queries=20, pairs=300, rank=2, k=5, requests=1, liked=3, batch=1, repeats=1, threads=1, seed=0
    )
    served = serve.Served.make(given, lambda line: None)
    assert served.known.nnz == 300
    assert served.known.max() == 1
    for row in range(20):
        answer = served.by_id.recommend([served.ids[row]], 5)
        known = {f"item-{target}" for target in served.known[row].indices}
        assert not known & set(answer["target"])


@pytest.mark.parametrize("pairs", [0, 1501])
def test_senseless_sizes_are_refused(bench, pairs):
    bench("serve", "--targets", 60, "--queries", 50, "--pairs", pairs, code=2)
