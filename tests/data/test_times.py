"""Times written as text: usual forms are understood, and what could mean two days is refused."""

import datetime

import numpy as np
import polars as pl
import pytest
from bookshop import build

from fmfkit.data.times import are_times, as_times
from fmfkit.errors import DataError

DAY = datetime.datetime(2014, 11, 2)
UNDERSTOOD = {
    "ISO": (["2014-11-02", "2014-11-20"], DAY),
    "ISO with the time of day": (["2014-11-02T18:30:05.25Z"], datetime.datetime(2014, 11, 2, 18, 30, 5, 250_000)),
    "ISO in another zone": (["2014-11-02 01:30+02:00"], datetime.datetime(2014, 11, 1, 23, 30)),
    "the day first, beside points": (["02.11.2014", "3.1.2015"], DAY),
    "the day first, as a value tells": (["02/11/2014", "20/11/2014"], DAY),
    "the month first, as a value tells": (["11/02/2014", "11/20/2014"], DAY),
    "a time of day": (["02.11.2014 18:30", "n/a"], DAY.replace(hour=18, minute=30)),
}


@pytest.mark.parametrize("form", UNDERSTOOD)
def test_usual_forms_are_understood(form):
    written, first = UNDERSTOOD[form]
    column = pl.Series("when", written)
    assert are_times(column)
    assert as_times(column)[0] == first


REFUSED = {
    "days that are none": (
        ["20.11.2014", "31.02.2014"],
        "1 of 2 values are none, such as '31.02.2014'; expected 2014-",
    ),
    "words": (["soon", "later"], "2 of 2 values are none, such as 'soon'"),
    "two forms": (["13/2/2015", "2/13/2015"], "days come first in '13/2/2015', and second in '2/13/2015'"),
    "a form that could be two": (["1/2/2015", "3/2/2015"], "does the day come first in '1/2/2015', or the month"),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("split", ["time", "last-per-query"])
def test_what_is_no_time_or_could_be_two_is_refused_where_times_are_asked_for(what, split):
    written, message = REFUSED[what]
    data = build(pairs={"user": ["a", "a"], "item": [1, 2], "rating": [1.0, 2.0], "time": written})
    with pytest.raises(DataError, match=f"split_.*: times: {message}"):
        data.split(split, 0.5)


def test_days_are_split_by_time_and_not_by_their_text():
    when = ["30.01.2014", "02.11.2014", "01.12.2015", "15.06.2013"]
    data = build(pairs={"user": ["a", "a", "b", "b"], "item": [1, 2, 1, 2], "rating": [1.0, 2, 3, 4], "time": when})
    assert data.time.dtype == np.dtype("datetime64[us]")
    assert data.split_by_time(0.25)[1].y.tolist() == [3]
    assert data.split_leave_last()[1].y.tolist() == [2, 3]


@pytest.mark.parametrize("text", ["12-34-5678", "1.2.3", "ann", "2014"])
def test_codes_are_no_times(text):
    assert not are_times(pl.Series([text]))
