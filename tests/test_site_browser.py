"""The built site in a real browser, at the width of a screen and of a telephone."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from .chromium import needs_chromium, show, start

ROOT = Path(__file__).parents[1]
WIDTHS = (1200, 390)
RESOURCES = "return performance.getEntriesByType('resource').map(one => one.name)"
TIMEOUT = 20

pytestmark = [pytest.mark.slow, needs_chromium]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built anew with warnings as errors."""
    pytest.importorskip("sphinx_gallery")
    folder = tmp_path_factory.mktemp("site")
    options = ["--builder", "html", "--fail-on-warning", "--keep-going", "--quiet"]
    command = [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    """Where the site is served: excerpts of a search are fetched, which needs a server."""
    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    driver = start(tmp_path_factory.mktemp("profile"))
    driver.implicitly_wait(TIMEOUT)
    yield driver
    driver.quit()


def errors(browser: Any) -> list[str]:
    return [one["message"] for one in browser.get_log("browser") if one["level"] == "SEVERE"]


def shown(browser: Any, selector: str) -> Any:
    """The first visible element."""
    elements = browser.find_elements("css selector", selector)
    return next(element for element in elements if element.is_displayed())


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_and_needs_no_network(browser: Any, site: Path, width: int) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 100
    browser.implicitly_wait(0)
    for page in pages:
        if "_static" in page.parts:
            continue
        show(browser, page.as_uri(), width)
        assert errors(browser) == [], page
        assert browser.execute_script("return document.documentElement.scrollWidth") == width, page
        loaded = browser.execute_script(RESOURCES)
        assert all(name.startswith(("file:", "data:")) for name in loaded), page
        assert browser.find_elements("css selector", "merror") == [], page
    browser.implicitly_wait(TIMEOUT)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_navigation_leads_to_every_section(browser: Any, site: Path, width: int) -> None:
    start_page = (site / "index.html").as_uri()
    show(browser, start_page, width)
    header = ".bd-header a.nav-link.nav-internal"
    names = [
        link.get_attribute("textContent").strip()
        for link in browser.find_elements("css selector", header)
    ]
    assert {"User guide", "Methods", "Examples", "API"} <= set(names)
    for name in names[:4]:
        show(browser, start_page, width)
        if width < 500:
            shown(browser, "button.primary-toggle").click()
            links = "dialog[open] a.nav-link.nav-internal"
        else:
            links = header
        by_name = {
            link.get_attribute("textContent").strip(): link
            for link in browser.find_elements("css selector", links)
        }
        by_name[name].click()
        assert browser.current_url != start_page
        assert browser.find_element("css selector", "h1").text
        assert errors(browser) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_search_finds_a_page(browser: Any, served: str, width: int) -> None:
    show(browser, f"{served}/index.html", width)
    shown(browser, "button.search-button__button, button.search-button").click()
    field = shown(browser, "dialog[open] input[type=search]")
    field.send_keys("StabilitySelection")
    field.submit()
    found = browser.find_elements("css selector", "#search-results li a")
    assert any("StabilitySelection" in link.text for link in found)
    assert errors(browser) == []


def test_what_users_look_for_is_found_in_the_guide_first_with_an_excerpt(
    browser: Any, served: str
) -> None:
    show(browser, f"{served}/search.html?q=sample_weight")
    first = browser.find_element("css selector", "#search-results li")
    assert "/guide/" in first.find_element("css selector", "a").get_attribute("href")
    assert "sample_weight" in first.find_element("css selector", "p.context").text


def test_formulae_are_drawn(browser: Any, site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if "<math" in page.read_text("utf-8")]
    assert len(pages) > 20
    for page in pages[:5]:
        show(browser, page.as_uri())
        first = browser.find_element("css selector", "math")
        assert first.size["height"] > 5
