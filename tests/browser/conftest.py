"""Chromium, as Debian has it, without a window, and a model of a shelf with hostile titles."""

import shutil
import threading

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from shelf import shelf, trained_on

from fmfkit.explore.server import Server

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--hide-scrollbars", "--window-size=1200,900"),
)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A browser of its own, which notes each request and each message of its console."""
    options = Options()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture(params=[(1200, 900), (390, 800)], ids=["desktop", "phone"])
def browser(chromium, request):
    """The browser as wide as a desktop's, or as a phone's."""
    width, height = request.param
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chromium.get("about:blank")
    for kind in ("browser", "performance"):
        chromium.get_log(kind)
    return chromium


@pytest.fixture(scope="session")
def shelved():
    """A model with history features, its training pairs, and pairs that were held out."""
    return trained_on(shelf(history=True))


@pytest.fixture(scope="session")
def pages(shelved):
    """The address of the pages of the model."""
    with Server(shelved[0]) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()
