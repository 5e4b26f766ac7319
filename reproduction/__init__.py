"""The experiments of the papers, declared one module a paper, and the runner that does them."""

from __future__ import annotations

from importlib import import_module

from reproduction.declare import Paper

# One module each, in the order of their years; last the table of all methods.
PAPERS = ("nie2010", "cai2013", "kong2014", "an2021", "xu2023", "league")


def get_paper(name: str) -> Paper:
    """The declaration of a paper.

    Examples
    --------
    >>> get_paper("nie2010").name
    'nie2010'
    """
    if name not in PAPERS:
        raise ValueError(f"There is no paper {name!r}; there are {', '.join(PAPERS)}.")
    paper: Paper = import_module(f"reproduction.{name}").PAPER
    return paper
