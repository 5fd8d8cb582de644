"""A report in a browser."""

import pytest
from looking import check, contrast, requests
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from shelf import HOSTILE


@pytest.fixture(scope="module")
def report(shelved, tmp_path_factory):
    trained, train, test = shelved
    path = tmp_path_factory.mktemp("report") / "report.html"
    trained.report(test, data=train.report()).save(path)
    return path


def test_a_report_is_shown_offline_and_asks_for_nothing_but_itself(browser, report):
    browser.get(report.as_uri())
    check(browser)
    assert requests(browser) == [report.as_uri()]
    assert len(browser.find_elements(By.CSS_SELECTOR, "section")) == 9
    assert HOSTILE[0] in browser.find_element(By.TAG_NAME, "body").text


def test_charts_are_drawn_with_the_colours_of_the_style(browser, report):
    browser.get(report.as_uri())
    for picture in browser.find_elements(By.CSS_SELECTOR, "svg.chart"):
        assert picture.size["width"] > 250
        assert picture.size["height"] > 100
    (line, *_) = browser.find_elements(By.CSS_SELECTOR, ".line.s0")
    assert line.value_of_css_property("stroke") == "rgb(0, 114, 178)"


def test_links_lead_to_sections_and_numbers_open_from_the_keyboard(browser, report):
    browser.get(report.as_uri())
    browser.find_element(By.LINK_TEXT, "Examples").send_keys(Keys.ENTER)
    assert browser.current_url.endswith("#examples")
    summary = browser.find_element(By.CSS_SELECTOR, "figure summary")
    table = browser.find_element(By.CSS_SELECTOR, "figure details table")
    assert not table.is_displayed()
    summary.send_keys(Keys.ENTER)
    assert table.is_displayed()
    check(browser)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_the_light_and_in_the_dark(browser, report, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(report.as_uri())
    assert contrast(browser, "p, a, th, td, h1, h2, h3, summary, caption, dt, dd, li") >= 4.5
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
