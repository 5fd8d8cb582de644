from fmfkit_bench.results import pages


def test_terminal_shows_tables_and_verdicts(results):
    text = pages.terminal(results.sections[0])
    assert "a|b <i>  0.8123  yes" in text
    assert "c             -  no" in text
    assert "FAIL  it holds (x): 1 of 2" in text


def test_html_shows_tables_and_verdicts(results):
    page = pages.page(results, None)
    assert "Claims: 0 of 1 hold" in page
    assert "a|b &lt;i&gt;" in page
    assert "Data &amp; co" in page
    assert "<td class=fail>FAIL</td>" in page
