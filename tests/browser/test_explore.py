"""The pages of ``fmfkit explore`` in a browser: clicked, typed into, read."""

import pytest
from looking import another_page, check, contrast, requests
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from shelf import HOSTILE


@pytest.fixture
def start(browser, pages):
    browser.get(pages)
    check(browser)
    yield browser
    check(browser)
    assert all(url.startswith(pages) for url in requests(browser))


def click(browser, link):
    """Click on a link, and wait for the page that it leads to."""
    with another_page(browser):
        link.click()


def enter(browser, field, text):
    """Type into a field, press Enter, and wait for the page that follows."""
    control = browser.find_element(By.ID, field)
    control.clear()
    with another_page(browser):
        control.send_keys(text, Keys.ENTER)


def heading(browser):
    return browser.find_element(By.TAG_NAME, "h1").text


def test_one_searches_clicks_a_recommendation_and_asks_why(start):
    enter(start, "q", "r7<")
    assert heading(start) == "Search for r7<"
    click(start, start.find_element(By.LINK_TEXT, "<b>r7</b>"))
    assert heading(start) == "Query <b>r7</b>"
    why = start.find_element(By.LINK_TEXT, "why")
    name = why.accessible_name.removeprefix("Why ")
    click(start, why)
    assert heading(start) == "Why"
    check(start)
    click(start, start.find_element(By.LINK_TEXT, name))
    assert heading(start) == f"Target {name}"
    assert "Similar, by the cosine of embeddings" in start.find_element(By.TAG_NAME, "main").text


def test_hostile_titles_are_shown_as_they_are(start, pages):
    for title in HOSTILE[:4]:
        enter(start, "q", title)
        check(start)
        (link, *_) = start.find_elements(By.PARTIAL_LINK_TEXT, title)
        click(start, link)
        assert title in heading(start)
        check(start)


def test_what_if_i_like_these(start):
    click(start, start.find_element(By.LINK_TEXT, "What if I like these?"))
    for text in ("Book 20", "Book 31"):
        enter(start, "add", text)
        click(start, start.find_element(By.LINK_TEXT, f"Add {text}"))
    captions = [one.text for one in start.find_elements(By.TAG_NAME, "caption")]
    assert captions == ["What you like", "Recommended"]
    liked, best = start.find_elements(By.TAG_NAME, "table")
    assert [row.text for row in liked.find_elements(By.CSS_SELECTOR, "tbody th")] == ["Book 20", "Book 31"]
    before = best.text
    click(start, start.find_element(By.LINK_TEXT, "Remove"))
    liked, best = start.find_elements(By.TAG_NAME, "table")
    assert [row.text for row in liked.find_elements(By.CSS_SELECTOR, "tbody th")] == ["Book 31"]
    assert best.text != before


def test_a_dot_of_the_map_leads_to_its_target(start):
    click(start, start.find_element(By.LINK_TEXT, "Map"))
    assert heading(start) == "Map of targets"
    dots = start.find_elements(By.CSS_SELECTOR, "svg.map a circle")
    assert len(dots) == 60
    title = dots[-1].find_element(By.TAG_NAME, "title").get_attribute("textContent")
    start.execute_script("arguments[0].scrollIntoView({block: 'center', inline: 'center'})", dots[-1])
    click(start, dots[-1])
    assert heading(start) == f"Target {title}"


def test_everything_is_reached_from_the_keyboard_and_the_content_first(start):
    body = start.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    assert start.switch_to.active_element.text == "To the content"
    assert start.switch_to.active_element.location["x"] >= 0  # it is seen once it has the focus
    reached = []
    for _ in range(8):
        start.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(start.switch_to.active_element.accessible_name)
    assert reached[:5] == ["Start", "Map", "What if I like these?", "Search", "Search"]
    outline = start.switch_to.active_element.value_of_css_property("outline-style")
    assert outline == "solid"


def test_text_can_be_read(start):
    assert contrast(start, "p, a, th, td, h1, caption, dt, dd, label, button") >= 4.5


def test_another_name_for_this_machine_is_refused(chromium, browser, pages):
    """As if a page of somebody else had its name point here (DNS rebinding)."""
    port = pages.rstrip("/").rpartition(":")[2]
    browser.get(f"http://fmfkit.localhost:{port}/")  # browsers resolve it to the loopback address
    assert heading(browser) == "Forbidden"
    assert "Book" not in browser.find_element(By.TAG_NAME, "main").text
