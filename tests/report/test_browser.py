"""The pages in a real browser: Debian's chromium, without a screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rowsparse.report import comparison_page, path_page, selection_page

from ..chromium import needs_chromium, show, start
from . import samples

WIDTHS = (360, 800, 1280)

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder: Path = tmp_path_factory.mktemp("pages")
    texts = {
        "digits": selection_page(samples.with_tests(samples.digits())),
        "hostile": selection_page(samples.with_tests(samples.hostile())),
        "comparison": comparison_page(samples.comparison(samples.HOSTILE[:4])),
        "path": path_page(samples.path(names=samples.HOSTILE * 3)),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in texts}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    driver = start(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


def run(browser: Any, script: str, *arguments: Any) -> Any:
    return browser.execute_script(script, *arguments)


def find(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def shown_names(browser: Any, table: str) -> list[str]:
    return run(
        browser,
        "return [...document.querySelectorAll(`#${arguments[0]} tbody tr:not([hidden]) th`)]"
        ".map(one => one.textContent.trim())",
        table,
    )


def heading(browser: Any, table: str, text: str) -> Any:
    cells = browser.find_elements("css selector", f"#{table} thead th")
    return next(cell for cell in cells if cell.text.startswith(text))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["digits", "hostile", "comparison", "path"])
def test_a_page_fits_its_width_without_an_error(
    browser: Any, pages: dict[str, str], name: str, width: int
) -> None:
    for scheme in ("light", "dark"):
        show(browser, pages[name], width, scheme)
        page_width = run(browser, "return document.documentElement.scrollWidth")
        assert page_width == width
        assert browser.get_log("browser") == []
        visible = (
            "return [...document.querySelectorAll('svg.chart')].filter(e => e.checkVisibility()"
        )
        assert run(browser, f"{visible} && e.getBoundingClientRect().width < 60).length") == 0
        assert run(browser, f"{visible}).length") > 0


OVERLAPS = """
const clashes = [];
for (const drawing of document.querySelectorAll(".chart")) {
  if (!drawing.checkVisibility()) continue;
  const boxes = [...drawing.querySelectorAll("text")]
    .map(e => [e.textContent, e.getBoundingClientRect()]);
  for (const [i, [a, p]] of boxes.entries()) for (const [b, q] of boxes.slice(i + 1)) {
    const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    if (across > 1 && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3)
      clashes.push(`${a} and ${b}`);
  }
}
return clashes;
"""
SMALLEST = """
return Math.min(...[...document.querySelectorAll(".chart text, .cells span")]
  .filter(e => e.checkVisibility() && e.textContent.trim())
  .map(e => parseFloat(getComputedStyle(e).fontSize)
    * (e.ownerSVGElement ? e.getScreenCTM().a : 1)));
"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["digits", "comparison", "path"])
def test_the_numbers_of_the_charts_are_readable_and_apart(
    browser: Any, pages: dict[str, str], name: str, width: int
) -> None:
    show(browser, pages[name], width)
    assert run(browser, "return document.querySelectorAll('.chart text').length") > 10
    assert run(browser, OVERLAPS) == []
    assert run(browser, SMALLEST) >= 10


@pytest.mark.parametrize("name", ["hostile", "comparison", "path"])
def test_a_hostile_name_runs_nothing(browser: Any, pages: dict[str, str], name: str) -> None:
    show(browser, pages[name])
    for cell in browser.find_elements("css selector", "tbody th")[:8]:
        run(
            browser,
            "for (const kind of ['mouseover', 'click', 'focus', 'error', 'load'])"
            " arguments[0].dispatchEvent(new Event(kind, {bubbles: true}))",
            cell,
        )
    assert run(browser, "return window.hacked === undefined")
    assert run(browser, "return document.scripts.length") == 1
    assert run(browser, "return document.querySelectorAll('[onload], [onerror], img').length") == 0
    assert browser.get_log("browser") == []
    if name == "hostile":
        assert shown_names(browser, "feature-table")[0] == samples.HOSTILE[0]


def test_the_policy_stops_what_is_put_into_the_page_later(
    browser: Any, pages: dict[str, str]
) -> None:
    show(browser, pages["digits"])
    run(
        browser,
        "const script = document.createElement('script');"
        "script.textContent = 'window.hacked = 1'; document.body.append(script);"
        "document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\" id=late>late</p>')",
    )
    assert run(browser, "return window.hacked === undefined")
    colour = run(browser, "return getComputedStyle(document.getElementById('late')).color")
    assert colour != "rgb(255, 0, 0)"
    messages = [entry["message"] for entry in browser.get_log("browser")]
    assert any("Content Security Policy" in message for message in messages)


def test_tables_sort_by_click_and_by_key(browser: Any, pages: dict[str, str]) -> None:
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    show(browser, pages["digits"])
    by_rank = shown_names(browser, "feature-table")
    assert by_rank == [feature.name for feature in samples.digits().features]
    score = heading(browser, "feature-table", "Score")
    score.find_element("css selector", "button").click()
    assert score.get_attribute("aria-sort") == "ascending"
    assert shown_names(browser, "feature-table") == by_rank[::-1]
    assert len(browser.find_elements("css selector", "#feature-table [aria-sort]")) == 1
    name = heading(browser, "feature-table", "Feature").find_element("css selector", "button")
    name.send_keys(keys.ENTER)
    assert shown_names(browser, "feature-table") == sorted(by_rank)
    name.send_keys(keys.SPACE)
    assert shown_names(browser, "feature-table") == sorted(by_rank, reverse=True)


def test_gaps_are_sorted_to_the_end_both_ways(browser: Any, pages: dict[str, str]) -> None:
    show(browser, pages["comparison"])
    button = heading(browser, "method-table", "Redundancy").find_element("css selector", "button")
    last = "return document.querySelector('#method-table tbody tr:last-child').textContent"
    for _ in range(2):
        button.click()
        assert "–" in run(browser, last)


def test_tables_filter_by_what_is_typed(browser: Any, pages: dict[str, str]) -> None:
    show(browser, pages["hostile"])
    field = find(browser, "#feature-table-filter")
    field.send_keys("SAME")
    assert shown_names(browser, "feature-table") == [
        f"same name column {f.index + 1}"
        for f in samples.hostile().features
        if f.name == "same name"
    ]
    count = find(browser, "#feature-table-filter + .count")
    assert count.text == f"2 of {len(samples.HOSTILE)} shown"
    field.clear()
    field.send_keys("<IMG SRC")
    assert len(shown_names(browser, "feature-table")) == 1
    # A shortened name is found by a part that is not shown.
    field.clear()
    field.send_keys("x" * 60)
    assert len(shown_names(browser, "feature-table")) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_button_switches_the_theme(browser: Any, pages: dict[str, str], scheme: str) -> None:
    show(browser, pages["digits"], scheme=scheme)
    background = "return getComputedStyle(document.body).backgroundColor"
    before = run(browser, background)
    button = find(browser, "#theme")
    other = "Dark" if scheme == "light" else "Light"
    assert button.text == f"{other} theme"
    button.click()
    after = run(browser, background)
    assert after != before
    button.click()
    assert run(browser, background) == before
    show(browser, pages["digits"], scheme="dark" if scheme == "light" else "light")
    assert run(browser, background) == after


def test_a_name_in_the_legend_brings_out_its_line(browser: Any, pages: dict[str, str]) -> None:
    show(browser, pages["comparison"])
    entry = find(browser, "#scores .legend li:nth-child(2)")
    run(browser, "arguments[0].focus()", entry)
    chosen = browser.find_elements("css selector", "#scores .series.chosen")
    assert {one.get_attribute("data-series") for one in chosen} == {"1"}
    run(browser, "document.activeElement.blur()")
    assert browser.find_elements("css selector", "#scores .chosen") == []


def test_links_lead_to_their_sections(browser: Any, pages: dict[str, str]) -> None:
    show(browser, pages["digits"])
    for link in browser.find_elements("css selector", ".contents a"):
        target = link.get_attribute("href").partition("#")[2]
        assert find(browser, f"#{target} h2").text


def test_the_page_is_whole_without_its_script(browser: Any, pages: dict[str, str]) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(browser, pages["digits"])
        assert not find(browser, "#theme").is_displayed()
        assert not find(browser, "#feature-table-filter").is_displayed()
        assert len(browser.find_elements("css selector", "#feature-table tbody tr")) == 10
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_it_prints_light_and_complete(browser: Any, pages: dict[str, str]) -> None:
    show(browser, pages["digits"], scheme="dark")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        paper = run(browser, "return getComputedStyle(document.body).getPropertyValue('--card')")
        assert paper.strip() == "#ffffff"
        assert not find(browser, "#theme").is_displayed()
        assert find(browser, ".chart").is_displayed()
        assert run(browser, "return document.documentElement.scrollWidth") == 1280
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
