"""Facts about every benchmark set; they are stored in ``catalog.toml``."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from rowsparse._validation import check_choice

TASKS = ("classification", "multilabel")


@dataclass(frozen=True)
class Original:
    """A file of jundongl/scikit-feature, at a fixed commit, and the sha256 that it must have."""

    file: str
    sha256: str


@dataclass(frozen=True)
class DatasetInfo:
    """Facts about a benchmark set.

    Attributes
    ----------
    name : str
        What :func:`load` calls it.
    title : str
        What the literature calls it.
    kind : str
        What the features are: gene expression, images, text, ...
    task : {"classification", "multilabel"}
        What y is.
    n_samples, n_features : int
        Shape of X.
    dtype : str
        Type of X.
    class_sizes : tuple of int
        Samples of each class, or positive samples of each label.
    role : {"paper", "variant", "stand-in", "extra"}
        Used by a paper; the samples of such a set in another form; in place of sets that could
        not be found; none of these.
    origin : str
        Public repository on GitHub, and the file in it.
    citation : str
        The work that the data come from.
    sha256 : str
        Of the values of X and y, see :func:`rowsparse.datasets.fetch.fingerprint`.
    papers : tuple of str
        Those of the papers here that use it, by first author and year.
    differs : str
        How it differs from what they print; empty if it does not, as far as they tell.
    notes : str
        What else to know before using it.
    licence : str
        Terms of use, if the source states any.
    class_names : tuple of str
        Names of the classes or labels; empty if not known for certain.
    same_samples : tuple of str
        Sets with the same samples: not independent evidence.
    image_shape : (int, int) or None
        Height and width, if the features are the pixels of an image.
    image_order : {"C", "F"} or None
        Whether the pixels go row by row or column by column.
    original : Original or None
        The file to download; None for a set that has to be fetched by hand.

    Examples
    --------
    >>> from rowsparse.datasets import dataset_info
    >>> info = dataset_info("glioma")
    >>> info.n_samples, info.n_features, info.n_classes, info.papers
    (50, 4434, 4, ('Nie 2010', 'Kong 2014'))
    """

    name: str
    title: str
    kind: str
    task: str
    n_samples: int
    n_features: int
    dtype: str
    class_sizes: tuple[int, ...]
    role: str
    origin: str
    citation: str
    sha256: str
    papers: tuple[str, ...] = ()
    differs: str = ""
    notes: str = ""
    licence: str = "not stated by the source; in public use for research"
    class_names: tuple[str, ...] = ()
    same_samples: tuple[str, ...] = ()
    image_shape: tuple[int, int] | None = None
    image_order: str | None = None
    original: Original | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes or labels."""
        return len(self.class_sizes)

    @property
    def downloadable(self) -> bool:
        """Whether :func:`load` can download it."""
        return self.original is not None


def list_datasets(task: str | None = None, paper: str | None = None) -> list[DatasetInfo]:
    """All benchmark sets, or those for one task or of one paper.

    Parameters
    ----------
    task : {"classification", "multilabel"}, optional
        What y must be.
    paper : {"Nie 2010", "Cai 2013", "Kong 2014", "An 2021", "Xu 2023"}, optional
        Who must have used them.

    Returns
    -------
    list of DatasetInfo
        The sets of the papers first.

    Examples
    --------
    >>> from rowsparse.datasets import list_datasets
    >>> [info.name for info in list_datasets(paper="Xu 2023")]
    ['srbct', 'usps', 'umist', 'jaffe', 'coil20', 'isolet']
    """
    check_choice("task", task, TASKS, optional=True)
    check_choice("paper", paper, papers(), optional=True)
    return [
        info
        for info in catalogue().values()
        if (task is None or info.task == task) and (paper is None or paper in info.papers)
    ]


def dataset_info(name: str) -> DatasetInfo:
    """The facts about the benchmark set ``name``."""
    if not isinstance(name, str):
        raise TypeError(f"name must be the name of a data set; got {name!r}.")
    if name not in catalogue():
        close = difflib.get_close_matches(name.lower(), catalogue(), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "see list_datasets()."
        raise ValueError(f"There is no data set {name!r}: {hint}")
    return catalogue()[name]


@cache
def catalogue() -> dict[str, DatasetInfo]:
    """All benchmark sets by name."""
    return {facts["name"]: _info(facts) for facts in _stored()["dataset"]}


def papers() -> dict[str, str]:
    """The papers whose data these are: first author and year, and the full reference."""
    return dict(_stored()["papers"])


def _info(facts: dict[str, Any]) -> DatasetInfo:
    facts = {key: tuple(v) if isinstance(v, list) else v for key, v in facts.items()}
    if "original" in facts:
        facts["original"] = Original(**facts["original"])
    return DatasetInfo(**facts)


@cache
def _stored() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("catalog.toml").read_text(encoding="utf-8"))
