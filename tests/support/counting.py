"""A plugin of pytest: notes how many examples each property test tried, where a report can show it."""

import re

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    tried = re.findall(r"(\d+) passing", getattr(item, "hypothesis_statistics", ""))
    if call.when == "call" and tried:
        item.user_properties.append(("tried", sum(map(int, tried))))
    return report
