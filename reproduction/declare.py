"""What a paper's module declares: its experiments, their tasks, and how a task is done."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Experiment", "Figure", "Paper", "Row", "Section", "Size", "Task"]

# One cell of a table or one point of a curve: coordinates and figures, as JSON can hold them.
Row = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How much of an experiment to run.

    Attributes
    ----------
    name : str
        What the store calls it: results of different sizes are not mixed.
    repeats : int
        Number of repetitions of splits or random starts.
    datasets : tuple of str or None
        Only these data sets; None for all.
    options : dict
        Whatever else an experiment lets one choose.
    """

    name: str = "standard"
    repeats: int | None = None
    datasets: tuple[str, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def keeps(self, dataset: str) -> bool:
        """Whether a data set takes part."""
        return self.datasets is None or dataset in self.datasets


@dataclass(frozen=True)
class Task:
    """A piece of work that is done in one go and stored in one go.

    Attributes
    ----------
    experiment : str
        Name of the experiment it belongs to.
    dataset, method : str
        What is run on what.
    split : int
        Which split of the data or which random start.
    options : dict
        Everything else that the result depends on; its values can be written as JSON.
    """

    experiment: str
    dataset: str
    method: str
    split: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The same for the same work, and different otherwise.

        >>> Task("table1", "srbct", "rfs", 2, {"gamma": 1.0}).key
        'table1/srbct/rfs/2/{"gamma":1.0}'
        """
        options = json.dumps(dict(self.options), sort_keys=True, separators=(",", ":"))
        return f"{self.experiment}/{self.dataset}/{self.method}/{self.split}/{options}"


@dataclass(frozen=True)
class Figure:
    """A picture: the name of its file, what to see in it, and the function that draws it."""

    name: str
    caption: str
    draw: Callable[[Path], None]


@dataclass(frozen=True)
class Section:
    """A part of a page."""

    title: str
    text: str
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    Attributes
    ----------
    name : str
        Short, for ``--only``.
    title : str
        For the page.
    tasks : callable
        From a :class:`Size` to the list of tasks.
    run : callable
        From a task to the rows that it yields; a function of a module, so that processes find it.
    """

    name: str
    title: str
    tasks: Callable[[Size], list[Task]]
    run: Callable[[Task], list[Row]]


@dataclass(frozen=True)
class Paper:
    """A paper and its experiments.

    Attributes
    ----------
    name : str
        As in ``python -m reproduction NAME``.
    title, citation : str
        Of the page, and of the paper: authors, title, where and when.
    experiments : tuple of Experiment
        In the order of the paper.
    standard, quick : Size
        What is run for the pages, and for a trial of a minute or two.
    intro : str
        First paragraphs of the page: the settings that are printed, and those that were chosen.
    sections : callable
        From the rows of each experiment, by its name, to the sections of the page.
    rows_format : {"jsonl", "csv"}
        How the rows are kept beside the page: csv is shorter where all rows have the same fields.
    """

    name: str
    title: str
    citation: str
    experiments: tuple[Experiment, ...]
    standard: Size
    quick: Size
    intro: str
    sections: Callable[[Mapping[str, list[Row]]], list[Section]]
    rows_format: str = "jsonl"

    def chosen(self, only: str | None) -> tuple[Experiment, ...]:
        """All experiments, or the one with a name."""
        if only is None:
            return self.experiments
        found = tuple(e for e in self.experiments if e.name == only)
        if not found:
            names = ", ".join(e.name for e in self.experiments)
            raise ValueError(f"{self.name} has no experiment {only!r}; it has {names}.")
        return found
