"""A proof in memory, and its file format: arrays of numbers, and a header in JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse._files import write_whole
from rowsparse._npz import read_npz
from rowsparse.certificate.steps import Dual, Kind, Step

_FORMAT, _VERSION = "rowsparse proof", 1
_ARRAYS = frozenset(
    {
        "header",
        "support",
        "pool",
        "diagonal",
        "kinds",
        "features",
        "duals",
        "dual_sizes",
        "dual_features",
        "dual_W",
        "out_sizes",
        "out",
        "fixed_sizes",
        "fixed",
    }
)


def proof_path(path: str | PathLike[str]) -> Path:
    """The file that :meth:`Proof.save` writes: `path`, with .npz added if it does not end so."""
    path = Path(path)
    return path if path.suffix == ".npz" else path.with_name(path.name + ".npz")


@dataclass(frozen=True)
class ProofProblem:
    """What a proof is about: the selection problem in terms of the user's data.

    Attributes
    ----------
    n_features, n_targets : int
        Number of columns of X, and of targets.
    k : int
        Number of features to choose.
    alpha, standardize, fit_intercept, task, clip
        As in :class:`rowsparse.TopK`, with the task resolved.
    class_weight : None, "balanced" or list of float
        One weight per class, in the order of the classes.
    include, exclude : list of int
        Columns that must and must not be chosen.
    x_unit, y_unit : float
        Powers of two by which X and y are divided before anything else.
    loss : {"squared", "logistic"}
        The loss.
    """

    n_features: int
    n_targets: int
    k: int
    alpha: float
    standardize: bool
    fit_intercept: bool
    task: str
    class_weight: Any
    include: list[int]
    exclude: list[int]
    x_unit: float
    y_unit: float
    clip: float | None = None
    loss: str = "squared"

    def check(self) -> None:
        """Raise ValueError for values that no selector can have."""
        counts = isinstance(self.k, int) and 1 <= self.k <= self.n_features
        clip = 1.0 if self.clip is None else self.clip
        numbers = (self.alpha, self.x_unit, self.y_unit, clip)
        finite = all(isinstance(v, (int, float)) and 0 <= v < np.inf for v in numbers)
        positive = finite and min(self.x_unit, self.y_unit, clip) > 0
        if not (counts and positive and (self.clip is None or self.standardize)):
            raise ValueError("the proof does not hold: its k, alpha, clip or units are invalid.")
        if self.loss not in ("squared", "logistic"):
            raise ValueError("the proof does not hold: its loss is unknown.")


@dataclass(frozen=True, eq=False, repr=False)
class Proof:
    """A proof that no choice of k features has an objective below a bound.

    :func:`rowsparse.certificate.verify` checks it; ``len`` is the number of its steps
    (:mod:`rowsparse.certificate.steps` says what they mean).

    Attributes
    ----------
    problem : ProofProblem
        What the proof is about.
    support : array of int
        The columns chosen.
    objective, lower_bound : float
        Their objective, and the bound that is claimed, in the units of y.
    complete : bool
        Whether all steps were kept. If not, they prove only the bound before any branching.
    pool : array of int
        The columns to choose from. Without a ridge, columns that equal others or are zero add
        nothing, and are left out.
    diagonal : array or None
        For each column of the pool, what replaces the ridge; None for the ridge itself.
    steps : sequence of Step
        The proof itself.
    about : dict
        Where the data came from, as JSON values; not part of what is proven.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import TopK
    >>> X, y = load_iris(return_X_y=True)
    >>> proof = TopK(2, certify=True, keep_proof=True, random_state=0).fit(X, y).proof_
    >>> proof.support, proof.complete
    (array([1, 3]), True)
    """

    problem: ProofProblem
    support: Index
    objective: float
    lower_bound: float
    complete: bool
    pool: Index
    diagonal: Array | None
    steps: Sequence[Step]
    about: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return (
            f"Proof(k={self.problem.k}, objective={self.objective:g}, "
            f"lower_bound={self.lower_bound:g}, steps={len(self)})"
        )

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the proof to a compressed file; returns its path, which ends in .npz."""
        file = proof_path(path)
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "problem": asdict(self.problem),
            "objective": self.objective,
            "lower_bound": self.lower_bound,
            "complete": self.complete,
            "about": self.about,
        }
        arrays: dict[str, Any] = {
            "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            "support": self.support,
            "pool": self.pool,
            "diagonal": np.zeros(0) if self.diagonal is None else self.diagonal,
        }
        arrays |= _flat(self.steps, self.problem.n_targets)
        write_whole(file, lambda temporary: np.savez_compressed(temporary, **arrays))
        return file

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a proof from a file that :meth:`save` wrote."""
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"There is no file {path}.")
        try:
            arrays, _ = read_npz(path, _ARRAYS)
            header = json.loads(arrays["header"].tobytes())
            if header["format"] != _FORMAT or header["version"] != _VERSION:
                raise ValueError("another format")
            diagonal = arrays["diagonal"]
            return cls(
                ProofProblem(**header["problem"]),
                arrays["support"],
                float(header["objective"]),
                float(header["lower_bound"]),
                bool(header["complete"]),
                arrays["pool"],
                diagonal if diagonal.size else None,
                list(_steps(arrays)),
                dict(header["about"]),
            )
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            raise ValueError(
                f"{path} is not a proof that rowsparse wrote, or is damaged."
            ) from None


def _flat(steps: Sequence[Step], n_targets: int) -> dict[str, Array]:
    """The steps as a few arrays; a dual point that several steps share is stored once."""
    duals: dict[int, Dual] = {}
    for step in steps:
        if step.dual is not None and step.kind in (Kind.BOUND, Kind.SCREEN):
            duals.setdefault(id(step.dual), step.dual)
    number = {key: at for at, key in enumerate(duals)}
    points = list(duals.values())
    width = points[0].W.shape[1] if points else n_targets
    screens = [step for step in steps if step.kind == Kind.SCREEN]
    out, fixed = ([getattr(s, name) for s in screens] for name in ("out", "fixed"))
    return {
        "kinds": np.array([step.kind for step in steps], dtype=np.uint8),
        "features": np.array([step.feature for step in steps], dtype=np.int32),
        "duals": np.array([number.get(id(step.dual), -1) for step in steps], dtype=np.int32),
        "dual_sizes": np.array([p.features.size for p in points], dtype=np.int32),
        "dual_features": _joined([p.features for p in points]),
        "dual_W": np.concatenate([np.zeros((0, width)), *(p.W for p in points)]),
        "out_sizes": np.array([part.size for part in out], dtype=np.int32),
        "out": _joined(out),
        "fixed_sizes": np.array([part.size for part in fixed], dtype=np.int32),
        "fixed": _joined(fixed),
    }


def _joined(parts: Sequence[Index]) -> Index:
    return np.concatenate([np.zeros(0, dtype=np.int32), *(p.astype(np.int32) for p in parts)])


def _parts(values: Array, sizes: Index) -> list[Array]:
    ends = np.cumsum(sizes)
    if (ends[-1] if ends.size else 0) != len(values):
        raise ValueError("sizes do not add up")
    return [values[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def _steps(arrays: dict[str, Array]) -> Iterator[Step]:
    """The steps from the arrays of :func:`_flat`."""
    features = _parts(arrays["dual_features"], arrays["dual_sizes"])
    duals = list(map(Dual, features, _parts(arrays["dual_W"], arrays["dual_sizes"])))
    out = iter(_parts(arrays["out"], arrays["out_sizes"]))
    fixed = iter(_parts(arrays["fixed"], arrays["fixed_sizes"]))
    rows = zip(arrays["kinds"], arrays["features"], arrays["duals"], strict=True)
    for code, feature, number in rows:
        kind = Kind(int(code))
        dual = None if number < 0 else duals[number]
        if kind == Kind.SCREEN:
            yield Step(kind, dual, -1, next(out), next(fixed))
        else:
            yield Step(kind, dual, int(feature))
