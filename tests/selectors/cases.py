"""Every selector there is, built in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import rowsparse

Factory = Callable[..., Any]
NAMES = ("RFS", "RPFS", "LpInf", "NmAPG", "CDLSR", "TopK")


def all_selectors(
    k: Any, defaults: Mapping[str, dict[str, Any]] | None = None
) -> list[tuple[str, Factory]]:
    """(name, factory) of each selector; a factory takes further parameters by keyword.

    ``defaults`` has parameters by the name of a selector, to make it faster for instance.
    """

    def factory(name: str) -> Factory:
        selector = getattr(rowsparse, name)
        fixed = {"random_state": 0} if "random_state" in signature(selector).parameters else {}
        fixed |= (defaults or {}).get(name, {})
        return lambda **options: selector(options.pop("k", k), **(fixed | options))

    return [(name, factory(name)) for name in NAMES if hasattr(rowsparse, name)]
