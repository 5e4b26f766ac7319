"""The pages of the samples, each made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from rowsparse.report import comparison_page, path_page, selection_page

from . import samples
from .reading import Page

PAGES: dict[str, Callable[[], str]] = {
    "digits": lambda: selection_page(samples.with_tests(samples.digits())),
    "genes": lambda: selection_page(samples.with_tests(samples.genes())),
    "one feature": lambda: selection_page(samples.genes(1)),
    "large": lambda: selection_page(samples.with_tests(samples.genes(60, 20_000, 9))),
    "numbers": lambda: selection_page(samples.numbers_only()),
    "labels": lambda: selection_page(samples.labels()),
    "hostile": lambda: selection_page(samples.with_tests(samples.hostile())),
    "comparison": lambda: comparison_page(samples.comparison()),
    "published": lambda: comparison_page(samples.comparison(protocol="published")),
    "hostile comparison": lambda: comparison_page(samples.comparison(samples.HOSTILE[:12])),
    "path": lambda: path_page(samples.path()),
    "hostile path": lambda: path_page(samples.path(names=samples.HOSTILE * 3)),
}


@cache
def made(name: str) -> str:
    return PAGES[name]()


@cache
def parsed(name: str) -> Page:
    return Page(made(name))
