"""What a browser saw."""

import json
from contextlib import contextmanager
from urllib.parse import urlsplit

from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.ui import WebDriverWait


@contextmanager
def another_page(browser):
    """Wait until what is done leads to another page, and until that is there."""
    before = browser.find_element(By.TAG_NAME, "html")
    yield
    wait = WebDriverWait(browser, 20)
    wait.until(staleness_of(before))
    wait.until(lambda browser: browser.execute_script("return document.readyState") == "complete")


def requests(browser):
    """Return the addresses that pages asked for."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [url for url in asked if urlsplit(url).scheme not in ("about", "data", "chrome")]


def check(browser):
    """Check what must hold of any page: no script ran, none was tried, and nothing is wider than the window."""
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.scripts.length") == 0
    assert browser.execute_script("return document.querySelectorAll('img, iframe, object, embed').length") == 0
    widths = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    wide, window = browser.execute_script(widths)
    assert wide <= window
    for picture in browser.find_elements(By.CSS_SELECTOR, "svg[role=img]"):
        assert picture.accessible_name
    for control in browser.find_elements(By.CSS_SELECTOR, "a:not([tabindex='-1']), button, input:not([type=hidden])"):
        assert control.accessible_name, control.get_attribute("outerHTML")


def contrast(browser, selector):
    """Return the least contrast of the text of elements to what is behind it, as WCAG counts it."""
    return browser.execute_script(
        """
        const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
        const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
            .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
            .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
        const behind = e => {
            for (; e; e = e.parentElement) {
                const [r, g, b, a = 1] = numbers(getComputedStyle(e).backgroundColor);
                if (a === 1) return [r, g, b];
            }
            return [255, 255, 255];
        };
        return Math.min(...[...document.querySelectorAll(arguments[0])].map(e => {
            const [a, b] = [light(numbers(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
            return (a + 0.05) / (b + 0.05);
        }));
        """,
        selector,
    )
