"""What a proof is: a statement, the steps that prove it, and a file that holds both.

`docs/certificate_format.md` is the specification: what is stated, what each kind of step means,
and the arrays of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse._files import write_whole
from rowsparse._npz import read_npz

# The largest float.
_MOST = float(np.finfo(np.float64).max)
FORMAT, VERSION = "rowsparse proof", 6
# Those that are read. Version 2 has no groups, 3 no counts, 4 no lists, 5 no survival times.
_READ = (2, 3, 4, 5, 6)
# Of each task what its targets are, in words, and the losses for them.
TASKS = {
    "classification": ("classes", ("squared", "logistic")),
    "multilabel": ("labels", ("squared", "logistic")),
    "regression": ("numbers", ("squared",)),
    "counts": ("counts", ("poisson",)),
    "survival": ("survival times", ("cox",)),
}
# The arrays of a file besides "header": for each its kinds of numbers and its axes.
_ARRAYS = {
    "support": ("iu", 1),
    "data_hash": ("u", 1),
    "kinds": ("u", 1),
    "features": ("i", 1),
    "duals": ("i", 1),
    "dual_sizes": ("i", 1),
    "dual_features": ("i", 1),
    "dual_V": ("f", 2),
    "out_sizes": ("i", 1),
    "out": ("i", 1),
    "fixed_sizes": ("i", 1),
    "fixed": ("i", 1),
}
_OPTIONAL = {"diagonal": ("f", 1), "listed": ("iu", 2)}


# ------------------------------------------------------------------------------ the statement
@dataclass(frozen=True)
class Statement:
    """The selection problem that a proof is about, in terms of the user's data.

    Attributes
    ----------
    n_features : int
        Number of columns of X.
    k : int
        Number of columns to choose.
    alpha : float
        The ridge is alpha times the sum of the weights of the samples.
    loss : {"squared", "logistic", "poisson", "cox"}
        The loss.
    task : {"classification", "multilabel", "regression", "counts", "survival"}
        What y holds.
    standardize, fit_intercept : bool
        As in :class:`rowsparse.TopK`; the Cox loss has no intercept in any case.
    class_weight : None, "balanced" or list of float
        One weight per class, in the order of the classes.
    include, exclude : list of int
        Columns that must and must not be chosen; with groups, they stand for theirs.
    clip : float or None
        Values further than this many standard deviations from the mean of their column are
        moved to that distance.
    feature_groups : list of lists of int, or None
        The columns of each group; every column is in one. Then ``k`` is the number of groups to
        choose. None where columns are chosen one by one.
    tolerance : float or None
        With a list of choices: that these are all whose objective exceeds the least one by less
        than this share of it. None for a proof about the best choice alone.
    """

    n_features: int
    k: int
    alpha: float
    loss: str
    task: str
    standardize: bool
    fit_intercept: bool
    class_weight: Any
    include: list[int]
    exclude: list[int]
    clip: float | None
    feature_groups: list[list[int]] | None = None
    tolerance: float | None = None

    @property
    def n_units(self) -> int:
        """Number of groups, or of columns."""
        return self.n_features if self.feature_groups is None else len(self.feature_groups)

    def units_of(self, columns: Sequence[int]) -> list[int]:
        """The groups that have some of these columns, in order; the columns without groups."""
        if self.feature_groups is None:
            return list(columns)
        some = set(columns)
        return [g for g, group in enumerate(self.feature_groups) if some.intersection(group)]

    def columns_of(self, units: Sequence[int]) -> list[int]:
        """The columns of some groups; the units themselves without groups."""
        groups = self.feature_groups
        return list(units) if groups is None else [j for g in units for j in groups[g]]

    def check(self) -> None:
        """Raise ValueError for values that no statement can have."""
        d = self.n_features
        counts = _is_count(d) and _is_count(self.k) and 1 <= self.k <= d
        flags = isinstance(self.standardize, bool) and isinstance(self.fit_intercept, bool)
        alpha = _is_number(self.alpha) and self.alpha >= 0
        clip = self.clip is None or (
            _is_number(self.clip) and self.clip > 0 and self.standardize is True
        )
        words = isinstance(self.task, str) and self.task in TASKS
        fits = words and self.loss in TASKS[self.task][1]
        near = self.tolerance is None or (_is_number(self.tolerance) and self.tolerance >= 0)
        if not (counts and flags and alpha and clip and fits and near and self._has_weights()):
            raise does_not_hold("its statement has values that are invalid")
        lists = (self.include, self.exclude)
        if not all(isinstance(part, list) and all(map(_is_count, part)) for part in lists):
            raise does_not_hold("it includes or excludes columns that do not exist")
        both = [*self.include, *self.exclude]
        if len(set(both)) < len(both) or not all(0 <= j < d for j in both):
            raise does_not_hold("it includes or excludes columns that do not exist")
        if not self._has_groups():
            raise does_not_hold("its groups do not have every column once")
        fixed, barred = map(self.units_of, (self.include, self.exclude))
        if len(fixed) > self.k or self.n_units - len(barred) < self.k or {*fixed} & {*barred}:
            raise does_not_hold("there is no such choice of columns")

    def _has_groups(self) -> bool:
        groups = self.feature_groups
        if groups is None:
            return True
        if not isinstance(groups, list) or not all(isinstance(g, list) and g for g in groups):
            return False
        columns = [j for group in groups for j in group]
        if len(columns) != self.n_features or not all(map(_is_count, columns)):
            return False
        return sorted(columns) == list(range(len(columns)))

    def _has_weights(self) -> bool:
        given = self.class_weight
        if given is None:
            return True
        if self.task != "classification":
            return False
        if isinstance(given, list):
            return bool(given) and all(_is_number(weight) and weight > 0 for weight in given)
        return bool(given == "balanced")

    def sentence(self, bound: float) -> str:
        """The statement in words, with a bound."""
        which, what = self.words()
        return f"No {which} have {what} below {bound:.10g}."

    def words(self) -> tuple[str, str]:
        """In words, what is chosen from what, and its objective."""
        named = (("with", self.include), ("without", self.exclude))
        which = " and".join(f" {word} {_listed(part)}" for word, part in named if part)
        columns = "standardised columns" if self.standardize else "columns as they are"
        if self.clip is not None:
            columns += f" within {self.clip:g} standard deviations"
        parts = [f"ridge {self.alpha:g} n on {columns}"]
        if not self.fit_intercept and self.loss != "cox":
            parts.append("no intercept")
        if self.class_weight is not None:
            weights = self.class_weight
            parts.append(
                f"{weights} classes"
                if isinstance(weights, str)
                else f"class weights {', '.join(f'{w:g}' for w in weights)}"
            )
        units = f"{self.n_features:,} columns"
        if self.feature_groups is not None:
            units = f"{self.n_units:,} groups of {units}"
        what = f"a {self.loss} loss for {TASKS[self.task][0]} ({'; '.join(parts)})"
        return f"{self.k} of the {units}{which}", what


def does_not_hold(reason: str) -> ValueError:
    """The error for a proof that is not one."""
    return ValueError(f"the proof does not hold: {reason}.")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return (_is_count(value) or isinstance(value, float)) and abs(value) <= _MOST


def _listed(columns: list[int], most: int = 5) -> str:
    shown = ", ".join(map(str, columns[:most])) + (", ..." if len(columns) > most else "")
    return f"{'column' if len(columns) == 1 else 'columns'} {shown}"


# ---------------------------------------------------------------------------------- the steps
class Kind(IntEnum):
    """What a step does with a set of choices; a unit is a column, or a group of them."""

    OPEN = 0  # bounds it by 0: no objective is negative
    BOUND = 1  # bounds it by a dual point
    LAST = 2  # one or two columns, or one group, are left to choose: tries all ways
    SPLIT = 3  # splits it into the choices with a unit, which come next, and those without
    SCREEN = 4  # removes the choices with some units, or without others, by a dual point
    ALL = 5  # tries every choice
    EXCHANGE = 6  # splits it like SPLIT; those without the unit are without its copies, too


# Those that have lists of units.
_WITH_LISTS = (Kind.SCREEN, Kind.EXCHANGE)


@dataclass(frozen=True)
class Dual:
    """The non-zero rows V of the coefficients of a bound, in the units of X and y."""

    features: Index
    V: Array


@dataclass(frozen=True)
class Step:
    """One step; see :class:`Kind`.

    Attributes
    ----------
    kind : Kind
        What it does.
    dual : Dual or None
        The dual point of a bound.
    feature : int
        The column to split on, or the group, or -1.
    out, fixed : array of int or None
        For screening: columns, or groups, of no choice that remains, and of all that remain. For
        EXCHANGE ``out`` are copies of the column.
    """

    kind: Kind
    dual: Dual | None = None
    feature: int = -1
    out: Index | None = None
    fixed: Index | None = None


# ---------------------------------------------------------------------------------- the proof
@dataclass(frozen=True, eq=False, repr=False)
class Proof:
    """A proof that no choice of k columns, or groups of them, has an objective below a bound.

    :func:`rowsparse.certificate.verify` checks it; ``len`` is the number of its steps.

    Attributes
    ----------
    statement : Statement
        What the proof is about.
    support : array of int
        The columns that were chosen.
    objective, lower_bound : float
        Their objective, and the bound, as the prover claims them. Nothing rests on them.
    diagonal : array or None
        For each column of the pool, what replaces the ridge, as a share of the diagonal entry of
        Z'Z + ridge I; None for the ridge itself. The pool are the columns that are not excluded
        and, without a ridge, neither zero nor copies of others.
    data : array or None
        A hash of the data, which tells other tables from it; None if they were never seen in one
        piece.
    steps : sequence of Step
        The proof itself.
    about : dict
        Where the data came from, as JSON values; not part of what is proven.
    listed : array of int of shape (N, k) or None
        The columns, or groups, of each choice that the bound is not about; of choices that differ
        by copies of columns there is one. None for a proof whose bound is about all choices.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import TopK
    >>> X, y = load_iris(return_X_y=True)
    >>> proof = TopK(2, loss="squared", certify=True, random_state=0).fit(X, y).proof_
    >>> proof.support
    array([1, 3])
    >>> print(proof)
    Proof(k=2, objective=60.8858, lower_bound=60.8857, steps=2)
    """

    statement: Statement
    support: Index
    objective: float
    lower_bound: float
    diagonal: Array | None
    data: Array | None
    steps: Sequence[Step]
    about: dict[str, Any] = field(default_factory=dict)
    listed: Index | None = None

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return (
            f"Proof(k={self.statement.k}, objective={self.objective:g}, "
            f"lower_bound={self.lower_bound:g}, steps={len(self)})"
        )

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the proof to a compressed file; returns its path, which ends in .npz."""
        file = proof_path(path)
        header = {
            "format": FORMAT,
            "version": VERSION,
            "statement": asdict(self.statement),
            "objective": float(self.objective),
            "lower_bound": float(self.lower_bound),
            "about": self.about,
        }
        arrays: dict[str, Any] = {
            "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            "support": self.support,
            "data_hash": np.zeros(0, dtype=np.uint64) if self.data is None else self.data,
        }
        own = {name: getattr(self, name) for name in _OPTIONAL}
        arrays |= {name: array for name, array in own.items() if array is not None}
        arrays |= _flat(self.steps)
        write_whole(file, lambda temporary: np.savez_compressed(temporary, **arrays))
        return file

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a proof from a file that :meth:`save` wrote."""
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"There is no file {path}.")
        try:
            arrays, _ = read_npz(path, {"header", *_ARRAYS, *_OPTIONAL})
            header = json.loads(arrays["header"].tobytes())
            if header["format"] != FORMAT:
                raise ValueError("another format")
            version = header["version"]
            if version in _READ:
                return cls(**_parts_of(header, arrays), about=dict(header["about"]))
        except Exception:  # damaged bytes make zipfile, NumPy and json raise almost anything
            raise ValueError(
                f"{path} is not a proof that rowsparse wrote, or is damaged."
            ) from None
        raise ValueError(
            f"{path} is a proof in version {version!r} of the format, and this is version "
            f"{VERSION}: make it anew with TopK(certify=True)."
        )


def proof_path(path: str | PathLike[str]) -> Path:
    """The file that :meth:`Proof.save` writes: `path`, with .npz added if it does not end so."""
    path = Path(path)
    return path if path.suffix == ".npz" else path.with_name(path.name + ".npz")


def _parts_of(header: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Any]:
    """What :class:`Proof` is made of, from a file; raises something if that does not fit."""
    there = {name: form for name, form in _OPTIONAL.items() if name in arrays}
    for name, (kinds, ndim) in (_ARRAYS | there).items():
        if arrays[name].dtype.kind not in kinds or arrays[name].ndim != ndim:
            raise ValueError(name)
    data = arrays["data_hash"]
    return {
        "statement": Statement(**header["statement"]),
        "support": arrays["support"],
        "objective": float(header["objective"]),
        "lower_bound": float(header["lower_bound"]),
        **{name: arrays.get(name) for name in _OPTIONAL},
        "data": data if data.size else None,
        "steps": list(_steps(arrays)),
    }


def _flat(steps: Sequence[Step]) -> dict[str, Array]:
    """The steps as a few arrays; a dual point that several steps share is stored once."""
    duals: dict[int, Dual] = {}
    for step in steps:
        if step.dual is not None and step.kind in (Kind.BOUND, Kind.SCREEN):
            duals.setdefault(id(step.dual), step.dual)
    number = {key: at for at, key in enumerate(duals)}
    points = list(duals.values())
    width = points[0].V.shape[1] if points else 1
    named = [step for step in steps if step.kind in _WITH_LISTS]
    none: Index = np.zeros(0, dtype=np.int32)
    out = [none if step.out is None else step.out for step in named]
    fixed = [none if step.fixed is None else step.fixed for step in named]
    return {
        "kinds": np.array([step.kind for step in steps], dtype=np.uint8),
        "features": np.array([step.feature for step in steps], dtype=np.int32),
        "duals": np.array([number.get(id(step.dual), -1) for step in steps], dtype=np.int32),
        "dual_sizes": np.array([p.features.size for p in points], dtype=np.int32),
        "dual_features": _joined([p.features for p in points]),
        "dual_V": np.concatenate([np.zeros((0, width)), *(p.V for p in points)]),
        "out_sizes": np.array([part.size for part in out], dtype=np.int32),
        "out": _joined(out),
        "fixed_sizes": np.array([part.size for part in fixed], dtype=np.int32),
        "fixed": _joined(fixed),
    }


def _joined(parts: Sequence[Index]) -> Index:
    return np.concatenate([np.zeros(0, dtype=np.int32), *(p.astype(np.int32) for p in parts)])


def _parts(values: Array, sizes: Index) -> list[Array]:
    ends = np.cumsum(sizes, dtype=np.int64)
    if np.any(sizes < 0) or (ends[-1] if ends.size else 0) != len(values):
        raise ValueError("sizes do not add up")
    return [values[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def _steps(arrays: dict[str, Array]) -> Iterator[Step]:
    """The steps from the arrays of :func:`_flat`."""
    features = _parts(arrays["dual_features"], arrays["dual_sizes"])
    duals = list(map(Dual, features, _parts(arrays["dual_V"], arrays["dual_sizes"])))
    out = iter(_parts(arrays["out"], arrays["out_sizes"]))
    fixed = iter(_parts(arrays["fixed"], arrays["fixed_sizes"]))
    rows = zip(arrays["kinds"], arrays["features"], arrays["duals"], strict=True)
    for code, feature, number in rows:
        kind = Kind(int(code))
        dual = None if number < 0 else duals[number]
        if kind in _WITH_LISTS:
            yield Step(kind, dual, int(feature), next(out), next(fixed))
        else:
            yield Step(kind, dual, int(feature))
    if next(out, None) is not None or next(fixed, None) is not None:
        raise ValueError("more lists than steps")
