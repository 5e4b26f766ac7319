"""What a paper's module declares: its experiments, their tasks, and how a task is done."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

# One cell of a table or one point of a curve: coordinates and figures, as JSON can hold them.
Row = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Contender:
    """A selector with its parameters, and what it is called on the page.

    Papers keep contenders in a dictionary; its keys are the ``method`` of the rows. ``share`` is
    that of the random starts of the size, where several are run.
    """

    selector: str
    label: str
    params: Mapping[str, Any] = field(default_factory=dict)
    share: float = 1.0

    def starts(self, size: Size, default: int) -> int:
        """Random starts that are run.

        >>> Contender("rpfs", "RPFS", share=0.2).starts(Size(options={"starts": 50}), 40)
        10
        """
        return max(1, round(self.share * int(size.options.get("starts", default))))


def labels(contenders: Mapping[str, Contender]) -> dict[str, str]:
    """What each method is called on the page."""
    return {method: contender.label for method, contender in contenders.items()}


@dataclass(frozen=True)
class Size:
    """How much of an experiment to run.

    Results of sizes with different names are not mixed. ``repeats`` counts repetitions of splits or
    random starts, ``datasets`` is None for all, and ``options`` are those of the experiments.
    """

    name: str = "standard"
    repeats: int = 1
    datasets: tuple[str, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def keeps(self, dataset: str) -> bool:
        """Whether a data set takes part."""
        return self.datasets is None or dataset in self.datasets

    def chosen(self, methods: Mapping[str, T], option: str = "methods") -> dict[str, T]:
        """The methods that the option names; all of them without that option.

        >>> Size(options={"methods": ("rfs",)}).chosen({"rfs": 1, "topk": 2})
        {'rfs': 1}
        """
        kept = self.options.get(option, methods)
        return {name: method for name, method in methods.items() if name in kept}


class Declaration:
    """What the TOML file of a paper says: data sets, contenders, sizes and printed numbers.

    >>> Declaration("nie2010").contenders()["rfs gamma 10"].params
    {'gamma': 10.0, 'fit_intercept': False}
    """

    def __init__(self, name: str) -> None:
        path = Path(__file__).parent / f"{name}.toml"
        self._tables = tomllib.loads(path.read_text(encoding="utf-8"))

    def table(self, name: str) -> dict[str, Any]:
        """A table as it stands there."""
        return dict(self._tables[name])

    def contenders(self, name: str = "contenders") -> dict[str, Contender]:
        """Contenders by method, which is also the selector where no other is named."""
        found = {}
        for method, fields in self._tables[name].items():
            params = dict(fields)
            selector, label = params.pop("selector", method), params.pop("label")
            found[method] = Contender(
                selector, label, share=params.pop("share", 1.0), params=params
            )
        return found

    def size(self, name: str) -> Size:
        """What is called ``repeats`` and ``datasets``; the rest are options."""
        options = self.table(name)
        repeats, datasets = options.pop("repeats", 1), options.pop("datasets", None)
        return Size(name, repeats, tuple(datasets) if datasets else None, options)


@dataclass(frozen=True)
class RunTask:
    """Work that is done and stored as a whole: a method on a data set, for one split or start.

    ``options`` has everything else that the result depends on, in values that JSON can hold.
    """

    experiment: str
    dataset: str
    method: str
    split: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Identifies the work: equal for equal tasks only.

        >>> RunTask("table1", "srbct", "rfs", 2, {"gamma": 1.0}).key
        'table1/srbct/rfs/2/{"gamma":1.0}'
        """
        options = json.dumps(dict(self.options), sort_keys=True, separators=(",", ":"))
        return f"{self.experiment}/{self.dataset}/{self.method}/{self.split}/{options}"


@dataclass(frozen=True)
class Experiment:
    """One table or figure: its name for ``--only``, its tasks, and the function that does one.

    ``run`` is a function of a module, so that other processes can import it.
    """

    name: str
    tasks: Callable[[Size], list[RunTask]]
    run: Callable[[RunTask], list[Row]]


@dataclass(frozen=True)
class Paper:
    """A paper and its experiments.

    Attributes
    ----------
    name : str
        As in ``python -m reproduction NAME``; also the name of the page's template.
    experiments : tuple of Experiment
        In the order of the paper.
    standard, quick : Size
        What is run for the pages, and for a trial of a minute or two.
    page : callable
        From the rows of each experiment, by its name, to what the template shows: numbers,
        tables and pictures.
    rows_format : {"jsonl", "csv"}
        How the rows are kept beside the page: csv is shorter where all rows have the same fields.
    templates : Path
        Folder of the page's template.
    """

    name: str
    experiments: tuple[Experiment, ...]
    standard: Size
    quick: Size
    page: Callable[[Mapping[str, list[Row]]], dict[str, Any]]
    rows_format: str = "jsonl"
    templates: Path = Path(__file__).parent / "templates"

    def chosen(self, only: str | None) -> tuple[Experiment, ...]:
        """All experiments, or the one with a name."""
        if only is None:
            return self.experiments
        found = tuple(e for e in self.experiments if e.name == only)
        if not found:
            names = ", ".join(e.name for e in self.experiments)
            raise ValueError(f"{self.name} has no experiment {only!r}; it has {names}.")
        return found
