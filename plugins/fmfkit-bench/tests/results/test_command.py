from fmfkit_bench.results import sections


def test_the_page_of_results_is_made_from_json_and_names_cores_and_date(bench, results, tmp_path):
    sections.write(results, tmp_path / "a.json")
    bench("results", tmp_path / "a.json", "--out", tmp_path / "b.md")
    page = (tmp_path / "b.md").read_text()
    assert "date 2026-01-02, cores 2." in page
    assert "    fmfkit bench peers x.npz" in page
    assert "| a\\|b <i> | 0.8123 | yes |" in page
    assert "| it holds | x | FAIL | 1 of 2 |" in page


def test_other_files_are_refused(bench, tmp_path):
    (tmp_path / "a.json").write_text("{}")
    assert "expected results" in bench("results", tmp_path / "a.json", "--out", tmp_path / "b.md", code=1)
    assert not (tmp_path / "b.md").exists()


def test_results_of_any_subcommand_make_a_page(bench, tmp_path):
    bench("tables", "--rows", 500, "--repeats", 1, "--json", tmp_path / "a.json")
    bench("results", tmp_path / "a.json", "--out", tmp_path / "b.md")
    page = (tmp_path / "b.md").read_text()
    assert "    fmfkit bench tables --rows 500 --repeats 1 --seed 0" in page
    assert "## Reading tables" in page
