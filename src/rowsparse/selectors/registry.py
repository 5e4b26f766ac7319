"""Every selector by name: the one place where a new method makes itself known."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from inspect import getdoc, signature
from typing import Any, TypeVar

from rowsparse._validation import check_choice
from rowsparse.selectors.base.shared_parameters import filled_docstring
from rowsparse.targets import ASKED_TASKS, TASKS

__all__ = ["KINDS", "SelectorInfo", "get_selector", "list_selectors", "register", "selector_info"]

# baseline: what the others must beat.
KINDS = ("sparse", "filter", "subspace", "deep", "baseline")

# The package that tells whether an extra is installed.
_PACKAGE_OF = {"deep": "torch"}

Class = TypeVar("Class", bound=type)


@dataclass(frozen=True)
class SelectorInfo:
    """Facts about a selector.

    Attributes
    ----------
    name : str
        The name for :func:`get_selector`.
    cls : type
        The class.
    kind : {"sparse", "filter", "subspace", "deep", "baseline"}
        Sparse linear model, score of single features, subspace or graph, neural network, or
        baseline.
    reference : str
        Authors and year.
    extra : str or None
        The extra that has to be installed for it.
    """

    name: str
    cls: Any
    kind: str
    reference: str
    extra: str | None

    @property
    def tasks(self) -> tuple[str, ...]:
        """The kinds of targets that it takes."""
        return tuple(self.cls.tasks)

    @property
    def supervised(self) -> bool:
        """Whether it needs targets."""
        return bool(self.cls.supervised)

    @property
    def random(self) -> bool:
        """Whether it takes a ``random_state``."""
        return "random_state" in signature(self.cls).parameters

    @property
    def is_installed(self) -> bool:
        """Whether the packages that it needs are installed."""
        package = None if self.extra is None else _PACKAGE_OF.get(self.extra, self.extra)
        return package is None or find_spec(package) is not None

    @property
    def summary(self) -> str:
        """Its summary in one line."""
        return (getdoc(self.cls) or "").partition("\n")[0]


_REGISTERED: dict[str, SelectorInfo] = {}


def register(
    name: str, *, kind: str, reference: str, extra: str | None = None
) -> Callable[[Class], Class]:
    """Make a selector known by name; a decorator for its class.

    Parameters
    ----------
    name : str
        Lower-case letters and digits.
    kind : {"sparse", "filter", "subspace", "deep", "baseline"}
        What sort of method it is.
    reference : str
        Authors and year.
    extra : str, optional
        The extra that has to be installed for it.
    """
    check_choice("kind", kind, KINDS)
    if _plain(name) != name:
        raise ValueError(f"name must be of lower-case letters and digits; got {name!r}.")

    def decorate(cls: Class) -> Class:
        known = _REGISTERED.get(name)
        # A module that is loaded again brings its classes again.
        if known is not None and known.cls.__qualname__ != cls.__qualname__:
            raise ValueError(f"The name {name!r} belongs to {known.cls.__qualname__} already.")
        _REGISTERED[name] = SelectorInfo(name, cls, kind, reference, extra)
        return filled_docstring(cls)

    return decorate


def list_selectors(task: str | None = None, kind: str | None = None) -> list[str]:
    """The names of all selectors, or of those of one kind or for one task.

    Parameters
    ----------
    task : {"classification", "multilabel", "regression", "counts", "survival"}, optional
        What they must be able to take as targets.
    kind : {"sparse", "filter", "subspace", "deep", "baseline"}, optional
        What sort of method they must be.

    Returns
    -------
    list of str
        Sorted; each is understood by :func:`get_selector`.

    Examples
    --------
    >>> from rowsparse import list_selectors
    >>> "topk" in list_selectors(task="regression", kind="sparse")
    True
    """
    check_choice("task", task, (*TASKS[1:], *ASKED_TASKS), optional=True)
    check_choice("kind", kind, KINDS, optional=True)
    return [
        name
        for name, info in sorted(_all().items())
        if (kind is None or info.kind == kind) and (task is None or task in info.tasks)
    ]


def selector_info(name: str) -> SelectorInfo:
    """The facts about a selector, by its name or that of its class.

    Examples
    --------
    >>> from rowsparse.selectors.registry import selector_info
    >>> selector_info("RFS").reference
    'Nie et al. 2010'
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be the name of a selector; got {name!r}.")
    by_name = _by_name(_REGISTERED)
    if _plain(name) not in by_name:
        by_name = _by_name(_all())
    if _plain(name) not in by_name:
        close = difflib.get_close_matches(_plain(name), by_name, n=1)
        hint = f"did you mean {by_name[close[0]].name!r}?" if close else "see list_selectors()."
        raise ValueError(f"There is no selector {name!r}: {hint}")
    return by_name[_plain(name)]


def get_selector(name: str, n_features_to_select: int | float = 10, **params: Any) -> Any:
    """Make a selector by its name.

    Parameters
    ----------
    name : str
        One of :func:`list_selectors`, or the name of a class, in any case.
    n_features_to_select : int or float, default=10
        How many features to keep; a float between 0 and 1 is a share of all.
    **params
        Further parameters of the selector.

    Returns
    -------
    selector
        Not fitted.

    Examples
    --------
    >>> from rowsparse import get_selector
    >>> get_selector("topk", 5, alpha=2.0)
    TopK(alpha=2.0, n_features_to_select=5)
    """
    info = selector_info(name)
    accepted = list(signature(info.cls).parameters)
    for param in params:
        if param not in accepted:
            raise TypeError(
                f"{info.cls.__name__} has no parameter {param!r}; it has {', '.join(accepted)}."
            )
    return info.cls(n_features_to_select, **params)


def _all() -> dict[str, SelectorInfo]:
    # Importing a module runs its decorators.
    package = import_module("rowsparse.selectors")
    for module in package.MODULES:
        import_module(f"rowsparse.selectors.{module}")
    return _REGISTERED


def _by_name(known: dict[str, SelectorInfo]) -> dict[str, SelectorInfo]:
    return known | {_plain(info.cls.__name__): info for info in known.values()}


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
