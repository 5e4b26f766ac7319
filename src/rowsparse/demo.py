"""The digits demonstration: every method picks k of the 64 pixels.

The module computes and returns; :mod:`rowsparse.report` draws and :mod:`rowsparse.cli` prints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from rowsparse.evaluation import refitted_objective
from rowsparse.selectors import get_selector, selector_info

__all__ = ["METHODS", "N_PIXELS", "DigitsDemo", "DigitsRow", "check_k", "run_digits"]

N_PIXELS = 64

#: The rows shown, in the order of their papers: name in the registry and parameters. The
#: objective shown is least squares without a ridge, which TopK minimises with the squared loss and
#: alpha = 0 only; its default for classes is the logistic loss.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "RFS": ("rfs", {}),
    "RPFS": ("rpfs", {}),
    "LpInf": ("lpinf", {}),
    "NmAPG": ("nmapg", {}),
    "CDLSR": ("cdlsr", {}),
    "TopK, α=0": ("topk", {"alpha": 0.0, "loss": "squared"}),
    "TopK": ("topk", {}),
}


@dataclass(frozen=True)
class DigitsRow:
    """What one method did on the digits.

    Attributes
    ----------
    method : str
        Label in ``METHODS``, or "All pixels" for no selection.
    paper : str
        Authors and year; empty for no selection.
    support : ndarray of bool, shape (64,)
        The selected pixels of the fit on all images.
    seconds : float or None
        Time of that fit; None for no selection.
    objective : float
        Squared error of least squares refitted on the selected pixels.
    fold_accuracies : tuple of float
        Accuracy of a linear support vector machine on each held-out fold.
    """

    method: str
    paper: str
    support: NDArray[np.bool_]
    seconds: float | None
    objective: float
    fold_accuracies: tuple[float, ...]

    @property
    def n_selected(self) -> int:
        """Number of selected pixels."""
        return int(self.support.sum())

    @property
    def accuracy(self) -> float:
        """Mean accuracy over the folds."""
        return float(np.mean(self.fold_accuracies))

    @property
    def accuracy_sd(self) -> float:
        """Standard deviation of the accuracy over the folds."""
        return float(np.std(self.fold_accuracies))


@dataclass(frozen=True)
class DigitsDemo:
    """The demonstration's result.

    Attributes
    ----------
    k : int
        Number of pixels asked for.
    mean_digits : ndarray, shape (10, 8, 8)
        Mean image of each digit.
    rows : tuple of DigitsRow
        One for each method, then one for all 64 pixels.
    """

    k: int
    mean_digits: NDArray[np.float64]
    rows: tuple[DigitsRow, ...]


def check_k(k: int) -> None:
    """Refuse a number of pixels that the digits do not have.

    Parameters
    ----------
    k : int
        Number of pixels to pick.

    Raises
    ------
    ValueError
        If `k` is not between 1 and 64.
    """
    if not 1 <= k <= N_PIXELS:
        raise ValueError(f"k must be between 1 and {N_PIXELS}, the number of pixels; got {k}.")


def run_digits(k: int = 10, *, progress: Callable[[str], None] | None = None) -> DigitsDemo:
    """Let every method pick `k` of the 64 pixels of scikit-learn's digits.

    Parameters
    ----------
    k : int, default=10
        Number of pixels to pick, from 1 to 64.
    progress : callable, optional
        Called with the name of each method before it runs.

    Returns
    -------
    DigitsDemo
        One row for each method and, last, one for all pixels.
    """
    check_k(k)
    X, y = load_digits(return_X_y=True)
    tell = progress or (lambda name: None)
    rows = []
    # With 64 columns, several BLAS threads would only wait for each other.
    with threadpool_limits(1):
        for label, (name, params) in METHODS.items():
            tell(label)
            info = selector_info(name)
            # Where a method is random, its start is fixed so that the demo repeats.
            fixed = {"random_state": 0} if info.random else {}
            selector = get_selector(name, k, **params, **fixed)
            start = perf_counter()
            support = clone(selector).fit(X, y).get_support()
            seconds = perf_counter() - start
            rows.append(_row(label, info.reference, support, seconds, [selector], X, y))
        tell("All pixels")
        rows.append(_row("All pixels", "", np.ones(N_PIXELS, dtype=bool), None, [], X, y))
    means = np.stack([X[y == digit].mean(axis=0).reshape(8, 8) for digit in range(10)])
    return DigitsDemo(k=k, mean_digits=means, rows=tuple(rows))


def _row(
    method: str,
    paper: str,
    support: NDArray[np.bool_],
    seconds: float | None,
    first_steps: list[Any],
    X: NDArray[np.float64],
    y: NDArray[np.int_],
) -> DigitsRow:
    """A row with the objective of the support, and with accuracies on held-out folds.

    ``first_steps`` are those of the pipeline before the classifier: a selection is repeated inside
    each fold.
    """
    model = make_pipeline(*first_steps, StandardScaler(), SVC(kernel="linear", C=1.0))
    folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)
    scores = cross_val_score(model, X, y, cv=folds, error_score="raise")
    objective = refitted_objective(X, y, support, task="classification")
    return DigitsRow(method, paper, support, seconds, objective, tuple(scores.tolist()))
