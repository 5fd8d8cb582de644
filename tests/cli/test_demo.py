"""fmfkit demo: features help."""

import re

from command import invoke


def test_demo_shows_that_features_help_on_known_and_most_on_new_books():
    output = invoke("demo", "--rounds", "12")
    rows = {line[:24].strip(): [float(x) for x in re.findall(r"\d+\.\d+", line)] for line in output.splitlines()[-3:]}
    mean, plain, featured = rows["mean rating"], rows["plain MF, ids only"], rows["FMF, ids and features"]
    assert featured[0] < plain[0] < mean[0]
    assert featured[1] < 0.9 * plain[1]
    assert "round 12/12" in output
