import pytest
from fmfkit_bench.results import sections


@pytest.mark.parametrize("positives", [False, True])
def test_accuracy_shows_that_features_help(npz, bench, tmp_path, positives):
    out = tmp_path / "out.json"
    path = npz(positives=positives, cold=True)
    settings = ("--rank", 4, "--trials", 4, "--rounds", 12)
    output = bench("accuracy", path, *settings, "--json", out)
    (section,) = sections.read(out).sections
    plain, full = (dict(zip(section.tables[0].columns, row, strict=True)) for row in section.tables[0].rows)
    assert (plain["model"], full["model"]) == ("ids only", "with features")
    assert full["test"] > plain["test"] if positives else full["test"] < plain["test"]
    assert full["metric"] == ("precision@1" if positives else "rmse")
    assert section.claims[0].holds
    assert "pass  features help (data): " in output
