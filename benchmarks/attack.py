"""An attack on the certificate: tiny problems at every edge, enumerated in exact arithmetic.

What must hold for whatever TopK accepts: 0 <= lower_bound_ <= optimum <= objective_, all finite;
"optimal" if and only if gap_ <= gap_tol; exactly k features or groups, those to be included among
them; and never worse than without the certificate. Bounds are compared as exact fractions, with the
curved losses in long doubles; the objective may be off by what rounding does to a sum. Half of the
problems are solved with limits so small that they take the paths of large ones. The same must hold
from Moments, RowBlocks and Dask. NearOptimal must list every choice within its tolerance and say
of each feature what follows, and both checkers must agree. Proofs with one field changed, and files
with damaged bytes, must be refused in one sentence or prove no more than is true of their own
statement, in little memory.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from benchmarks.attack_limits import small_limits
from benchmarks.exact import Array, ExactProblem, fractions_of
from benchmarks.exact_curved import CoxProblem, CurvedProblem, LogisticProblem, PoissonProblem
from benchmarks.tables import VERDICT, Table, verdict
from rowsparse import Moments, NearOptimal, RowBlocks, TopK, TopKPath, topk_path
from rowsparse.certificate import Proof, Statement, verify
from rowsparse.certificate.data import Table as CheckedTable
from rowsparse.certificate.exact import exact_objectives
from rowsparse.certificate.proof import Kind

_SMALL_LIMITS = "small limits"
_EXTREME = {"clip", "subnormal entries", "huge entries", "bad scales", "extreme weights"}
# Relative rounding error of a computed objective, of itself and of the objective of nothing.
_OBJECTIVE, _OF_TOTAL = 1e-9, 1e-13
# Share of the objective of nothing to which logistic fits are made: classes may be separated.
_FITTED = 1e-11
# How much less than the bound of the fit a checked proof may come to, from this ridge on.
_CHECKED, _LEAST_RIDGE = 1e-9, 1e-6
# The same of groups, whose blocks have more rounding counted.
_CHECKED_GROUPS = 1e-8
# The same with extreme numbers.
_CHECKED_EXTREME = 1e-7
# The least ridge with which relaxations replace a few curved fits.
_LEAST_RELAXED = 1e-3
# The problem of each loss, and its targets.
_EXACT: dict[str, type[ExactProblem | CurvedProblem]] = {
    "squared": ExactProblem,
    "logistic": LogisticProblem,
    "poisson": PoissonProblem,
    "cox": CoxProblem,
}


@dataclass(frozen=True)
class Case:
    """A small problem and how to fit it; ``kinds`` says what is special about it."""

    seed: int
    X: Any
    y: Array
    weights: Array | None
    settings: dict[str, Any]
    kinds: tuple[str, ...]

    def exact(self) -> ExactProblem | CurvedProblem:
        """The same problem in fractions, or with a curved loss in long doubles."""
        X = self.X.toarray() if sp.issparse(self.X) else self.X
        loss = self.settings.get("loss", "squared")
        return _EXACT[loss].of(
            np.asarray(X, dtype=np.float64),
            _labels(self.y) if loss == "logistic" else _targets(self.y),
            self.settings["n_features_to_select"],
            self.settings["alpha"],
            weights=self.weights,
            standardize=self.settings["standardize"],
            fit_intercept=self.settings["fit_intercept"],
            include=self.settings["include"] or (),
            exclude=self.settings["exclude"] or (),
            clip=self.settings.get("clip"),
            groups=self.settings["feature_groups"],
        )


@dataclass
class Verdict:
    """What came of a case: what it broke, and whether it was proven."""

    broken: list[str] = field(default_factory=list)
    status: str = "refused"

    def check(self, holds: bool, what: str) -> None:
        """Note what does not hold."""
        if not holds:
            self.broken.append(what)


def _targets(y: Array) -> Array:
    if y.dtype.kind == "i":
        return (y[:, None] == np.unique(y)).astype(float)
    return y if y.ndim == 2 else y[:, None]


def _labels(y: Array) -> Array:
    """Of two classes the second, of several each, of several labels all."""
    if y.ndim == 2:
        return y
    Y = _targets(y)
    return Y[:, 1:] if Y.shape[1] == 2 else Y


# ------------------------------------------------------------------------------- the cases
def draw(seed: int) -> Case:
    """One case; the same for the same seed."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 26)), int(rng.integers(2, 10))
    kinds: list[str] = []
    X, y = _data(rng, n, d)
    X = _damaged(rng, X, y, kinds)
    if rng.random() < 0.15:
        kinds.append("float32")
        X = X.astype(np.float32)
    if rng.random() < 0.2:
        kinds.append("sparse")
        if rng.random() < 0.5:
            X[rng.random(X.shape) < 0.6] = 0
        X = [sp.csc_array, sp.csr_array][int(rng.integers(2))](X)
    weights = None
    if rng.random() < 0.2:
        kinds.append("weights")
        weights = rng.uniform(0.1, 3.0, n) * 10.0 ** rng.uniform(-2, 2, n)
    if rng.random() < 0.3:
        y = (np.arange(n) % 3)[rng.permutation(n)] if n > 3 else np.arange(n) % 2
    elif rng.random() < 0.2:
        kinds.append("offset of y")
        y = y * 10.0 ** rng.uniform(-6, 6) + 10.0 ** rng.uniform(0, 9)
    settings = _settings(rng, d, kinds) | {"feature_groups": None}
    _group(np.random.default_rng([seed, 8]), d, settings, kinds)
    if np.random.default_rng([seed, 2]).random() < 0.5:
        kinds.append(_SMALL_LIMITS)
    settings["task"] = "classification" if y.ndim == 1 and y.dtype.kind in "iu" else "auto"
    return Case(seed, X, y, weights, settings, tuple(kinds) or ("ordinary",))


def draw_logistic(seed: int) -> Case:
    """As :func:`draw`, with classes or labels and the logistic loss."""
    case, rng = draw(seed), np.random.default_rng([seed, 1])
    kinds = [kind for kind in case.kinds if kind not in ("ordinary", "offset of y")]
    n, d = case.X.shape
    X = case.X.toarray() if sp.issparse(case.X) else case.X
    form = rng.random()
    if form < 0.25:
        kinds.append("labels")
        y = (rng.random((n, int(rng.integers(2, 4)))) < rng.uniform(0.1, 0.9)).astype(int)
        y[rng.permutation(n)[:2]] = [[0], [1]]
    else:
        classes = 2 if form < 0.7 else int(rng.integers(3, 5))
        order = rng.permutation(n)
        if rng.random() < 0.4:
            kinds.append("separable")
            order = np.argsort(np.argsort(X[:, int(rng.integers(d))]))
        y = (order * classes // n) if n >= classes else np.arange(n) % 2
        if classes > 2:
            kinds.append("several classes")
    settings = case.settings | {"loss": "logistic"}
    settings["task"] = "classification" if y.ndim == 1 else "multilabel"
    if _SMALL_LIMITS in kinds and settings["alpha"] < _LEAST_RELAXED:
        # Relaxations with hardly a ridge take minutes where they replace a few fits.
        kinds.remove(_SMALL_LIMITS)
    return Case(seed, case.X, y, case.weights, settings, tuple(kinds) or ("ordinary",))


def draw_counts(seed: int) -> Case:
    """As :func:`draw`, with counts and the Poisson loss."""
    case, rng = draw(seed), np.random.default_rng([seed, 10])
    kinds = [kind for kind in case.kinds if kind not in ("ordinary", "offset of y")]
    n, d = case.X.shape
    X = case.X.toarray() if sp.issparse(case.X) else case.X
    spread = X.std(axis=0, dtype=np.float64)
    Z = (X - X.mean(axis=0, dtype=np.float64)) / np.where(spread > 0, spread, 1)
    slopes = 0.4 * rng.standard_normal((d, int(rng.integers(1, 3))))
    rates = np.exp(np.clip(rng.uniform(-1, 4) + Z @ slopes, -5, 8))
    y = rng.poisson(rates).astype(float)
    y[int(rng.integers(n))] += 1
    if rng.random() < 0.2:
        kinds.append("not whole")
        y *= rng.uniform(0.01, 3)
    settings = case.settings | {"loss": "poisson", "task": "auto"}
    if _SMALL_LIMITS in kinds and settings["alpha"] < _LEAST_RELAXED:
        kinds.remove(_SMALL_LIMITS)
    y = y if y.shape[1] > 1 else y[:, 0]
    return Case(seed, case.X, y, case.weights, settings, tuple(kinds) or ("ordinary",))


def draw_times(seed: int) -> Case:
    """As :func:`draw`, with survival times, many of them tied, and the Cox loss."""
    case, rng = draw(seed), np.random.default_rng([seed, 12])
    kinds = [kind for kind in case.kinds if kind not in ("ordinary", "offset of y")]
    n, d = case.X.shape
    X = case.X.toarray() if sp.issparse(case.X) else case.X
    spread = X.std(axis=0, dtype=np.float64)
    Z = (X - X.mean(axis=0, dtype=np.float64)) / np.where(spread > 0, spread, 1)
    steep = 10.0 ** rng.uniform(-1, 1)
    times = rng.exponential(np.exp(np.clip(steep * (Z @ rng.standard_normal(d)), -30, 30)))
    if rng.random() < 0.5:
        kinds.append("ties of times")
        times = np.ceil(np.argsort(np.argsort(times)) / rng.uniform(1, 6))
    elif rng.random() < 0.3:
        kinds.append("perfect order")
        times = -Z[:, int(rng.integers(d))]
    times = times - times.min() + 1.0
    events = rng.random(n) < rng.uniform(0.1, 1)
    events[int(rng.integers(n))] = True
    settings = case.settings | {"loss": "cox", "task": "auto"}
    if _SMALL_LIMITS in kinds and settings["alpha"] < _LEAST_RELAXED:
        kinds.remove(_SMALL_LIMITS)
    y = np.column_stack([events, times])
    return Case(seed, case.X, y, case.weights, settings, tuple(kinds) or ("ordinary",))


def draw_tied(seed: int) -> Case:
    """Entries of few values, so that many choices have equal objectives, and columns are copies."""
    case, rng = draw(seed), np.random.default_rng([seed, 11])
    n, d = int(rng.integers(2, 5)) * 4, int(rng.integers(3, 9))
    kinds = [kind for kind in case.kinds if kind in ("tiny ridge", "no ridge", "not standardised")]
    X = rng.choice([-1.0, 1.0] if rng.random() < 0.5 else [0.0, 1.0, 2.0], (n, d))
    # The rows in another order, for the columns and for y: what one column is worth, another is.
    for j in range(1, d):
        if rng.random() < 0.5:
            X[:, j] = np.roll(X[:, int(rng.integers(j))], int(rng.integers(0, n, endpoint=True)))
    y = np.resize([1.0, -1.0, 2.0, -2.0][: int(rng.integers(2, 5))], n)
    if rng.random() < 0.4:
        X = np.vstack([X, X[:, rng.permutation(d)]])
        y = np.append(y, y)
    weights = rng.integers(1, 3, len(y)).astype(float) if rng.random() < 0.2 else None
    names = ("alpha", "standardize", "fit_intercept", "gap_tol", "n_restarts", "random_state")
    settings = case.settings | _settings(rng, d, []) | {name: case.settings[name] for name in names}
    settings["feature_groups"] = None
    kinds += ["include, exclude"] if settings["include"] or settings["exclude"] else []
    _group(rng, d, settings, kinds)
    kinds += [_SMALL_LIMITS] if rng.random() < 0.5 else []
    form, settings["task"] = rng.random(), "regression"
    if form < 0.35:
        y = (y > 0).astype(int)
        if form < 0.2 and settings["alpha"] > 0:
            settings["loss"] = "logistic"
        settings["task"] = "classification"
    elif form < 0.5 and settings["alpha"] > 0:
        y = y + 2.0
        settings |= {"loss": "poisson", "task": "auto"}
    kinds.append(str(settings["loss"]))
    if settings["loss"] != "squared" and settings["alpha"] < _LEAST_RELAXED:
        kinds = [kind for kind in kinds if kind != _SMALL_LIMITS]
    return Case(seed, X, y, weights, settings, ("ties", *kinds))


def draw_extreme(seed: int, drawn: Callable[[int], Case] = draw) -> Case:
    """As another draw, with limited columns, and entries and weights of extreme sizes."""
    case, rng = drawn(seed), np.random.default_rng([seed, 5])
    kinds = [kind for kind in case.kinds if kind != "ordinary"]
    X = np.array(case.X.toarray() if sp.issparse(case.X) else case.X, dtype=np.float64)
    n, d = X.shape
    settings, weights = dict(case.settings), case.weights
    chance = rng.random(5)
    if chance[0] < 0.4 and settings["standardize"]:
        kinds.append("clip")
        settings["clip"] = float(10.0 ** rng.uniform(-2, 0.5))
    if chance[1] < 0.3:
        kinds.append("subnormal entries")
        rows = rng.random(n) < 0.3
        X[rows] = X[rows] * 1e-310 if rng.random() < 0.5 else 5e-324
    if chance[2] < 0.2:
        kinds.append("huge entries")
        X[:, rng.random(d) < 0.4] *= 10.0 ** rng.uniform(50, 290)
    if chance[3] < 0.4:
        kinds.append("bad scales")
        X *= 10.0 ** rng.uniform(-14, 14, d)
    if chance[4] < 0.15 and settings["loss"] == "squared":
        kinds.append("extreme weights")
        weights = 10.0 ** rng.uniform(-13, 0, n) * (1.0 if rng.random() < 0.5 else 1e-120)
        weights = weights / weights.max()
    single = case.X.dtype == np.float32 and np.abs(X).max() < 1e30
    X = X.astype(np.float32) if single else X
    X = type(case.X)(X) if sp.issparse(case.X) else X
    return Case(case.seed, X, case.y, weights, settings, tuple(kinds) or ("ordinary",))


def draw_any(seed: int) -> Case:
    """One of the draws above, which one depends on the seed; a quarter with extreme numbers."""
    rng = np.random.default_rng([seed, 13])
    every = (draw, draw_logistic, draw_counts, draw_times, draw_tied)
    drawn = every[int(rng.integers(len(every)))]
    return draw_extreme(seed, drawn) if rng.random() < 0.25 else drawn(seed)


def _data(rng: np.random.Generator, n: int, d: int) -> tuple[Array, Array]:
    X = rng.standard_normal((n, d))
    if rng.random() < 0.4:
        X += rng.uniform(0, 3) * rng.standard_normal((n, 1))
    y = X @ rng.standard_normal((d, int(rng.integers(1, 4)))) * (rng.random((d, 1)) < 0.4)[0]
    y = y + 10.0 ** rng.uniform(-8, 1) * rng.standard_normal(y.shape)
    return X, y if y.shape[1] > 1 else y[:, 0]


def _damaged(rng: np.random.Generator, X: Array, y: Array, kinds: list[str]) -> Array:
    """X with duplicates, near-duplicates, constants, offsets and scales."""
    d = X.shape[1]
    i, j = rng.permutation(d)[:2]
    chance = rng.random(5)
    if chance[0] < 0.2:
        kinds.append("duplicates")
        X[:, i] = X[:, j] * rng.choice([1.0, -1.0, 2.0, 3.0])
    if chance[1] < 0.25:
        kinds.append("near-duplicates")
        other = y if y.ndim == 1 else y[:, 0]
        noise = other / max(np.abs(other).max(), 1e-300) if rng.random() < 0.5 else X[:, i]
        X[:, i] = X[:, j] + 10.0 ** rng.uniform(-12, -1) * noise
    if chance[2] < 0.05:
        kinds.append("constant")
        X[:, i] = rng.choice([0.0, 0.1, 1e6])
    if chance[3] < 0.2:
        kinds.append("scales")
        X *= 10.0 ** rng.uniform(-8, 8, d if rng.random() < 0.5 else 1)
    if chance[4] < 0.25:
        kinds.append("offsets")
        X += X.std(axis=0) * 10.0 ** rng.uniform(0, 11, d if rng.random() < 0.5 else 1)
    return X


def _group(rng: np.random.Generator, d: int, settings: dict[str, Any], kinds: list[str]) -> None:
    """Groups for a quarter of the cases, and other numbers and constraints for them."""
    if rng.random() > 0.25:
        return
    kinds.append("groups")
    groups = _partition(rng, d)
    settings["feature_groups"] = groups
    k = int(rng.integers(1, len(groups) + 1))
    settings["n_features_to_select"] = k
    if "include, exclude" in kinds:
        order = rng.permutation(len(groups))
        parts = order[: rng.integers(0, k)], order[::-1][: rng.integers(0, len(groups) - k + 1)]
        # Any column stands for its group.
        include, exclude = (
            [groups[g][int(rng.integers(len(groups[g])))] for g in p] for p in parts
        )
        settings |= {"include": include, "exclude": exclude}


def _partition(rng: np.random.Generator, d: int) -> list[list[int]]:
    """Every column in one group; the groups, and their columns, in any order."""
    labels = rng.integers(0, int(rng.integers(1, d + 1)), d)
    return [
        rng.permutation(np.flatnonzero(labels == label)).tolist()
        for label in rng.permutation(np.unique(labels))
    ]


def _settings(rng: np.random.Generator, d: int, kinds: list[str]) -> dict[str, Any]:
    k = int(rng.integers(1, d + 1))
    alpha = 10.0 ** rng.uniform(-2, 1)
    if rng.random() < 0.3:
        kinds.append("tiny ridge")
        alpha = 10.0 ** rng.uniform(-18, -2)
    elif rng.random() < 0.2:
        kinds.append("no ridge")
        alpha = 0.0
    include, exclude = None, None
    if rng.random() < 0.2:
        kinds.append("include, exclude")
        order = rng.permutation(d)
        include = np.sort(order[: rng.integers(0, k)]).tolist()
        exclude = np.sort(order[::-1][: rng.integers(0, d - k + 1)]).tolist()
    limit = None
    if rng.random() < 0.1:
        kinds.append("time limit")
        limit = 10.0 ** rng.uniform(-7, -2)
    if rng.random() < 0.3:
        kinds.append("not standardised")
    return {
        "n_features_to_select": k,
        "loss": "squared",
        "alpha": alpha,
        "include": include,
        "exclude": exclude,
        "time_limit": limit,
        "standardize": "not standardised" not in kinds,
        "fit_intercept": bool(rng.random() < 0.85),
        "gap_tol": float(rng.choice([1e-6, 1e-6, 1e-3, 1e-9, 0.0])),
        "n_restarts": int(rng.choice([0, 5])),
        "random_state": 0,
        "certify": True,
        "task": "auto",
    }


# ------------------------------------------------------------------------------ the checks
def _limits(case: Case) -> AbstractContextManager[None]:
    return small_limits(case.seed) if _SMALL_LIMITS in case.kinds else nullcontext()


def _warned(case: Case) -> Literal["error", "ignore"]:
    """Products and slopes near the ends of the range of floats may warn of overflow."""
    return "ignore" if _EXTREME & set(case.kinds) else "error"


def judge(case: Case) -> Verdict:
    """Fit a case, and hold what it says against the enumeration."""
    result = Verdict()
    with warnings.catch_warnings(), _limits(case):
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter(_warned(case), RuntimeWarning)
        try:
            fitted = TopK(**case.settings).fit(case.X, case.y, sample_weight=case.weights)
            plain = case.settings | {"certify": False, "time_limit": None}
            without = TopK(**plain).fit(case.X, case.y, sample_weight=case.weights)
        except ValueError as refusal:
            result.check("\n" not in str(refusal), "a refusal of several lines")
            return result
        except Exception as error:
            result.check(False, f"{type(error).__name__}: {error}")
            return result
        result.status = fitted.status_
        _check_statement(result, case, fitted)
        # With both, the rounding of the limits may be all that there is of an objective.
        is_noise = {"clip", "extreme weights"} <= {*case.kinds}
        if case.settings["time_limit"] is None and not is_noise:
            # A proof may end with a choice that is the best one within the tolerance alone.
            slack = (_OBJECTIVE + case.settings["gap_tol"]) * without.objective_
            if case.settings["loss"] != "squared":
                slack += _FITTED * float(case.exact().total)
            result.check(fitted.objective_ <= without.objective_ + slack, "worse with a proof")
        _check_truth(result, case, fitted)
    return result


def judge_moments(case: Case) -> Verdict:
    """As :func:`judge`, with the case in blocks; of Moments, one may come and go again."""
    result, rng = Verdict(), np.random.default_rng([case.seed, 4])
    X = case.X.toarray() if sp.issparse(case.X) and rng.random() < 0.5 else case.X
    task = "classification" if case.y.dtype.kind == "i" else "regression"
    settings = case.settings | {"task": task, "time_limit": None, "clip": None}
    case = replace(case, settings=settings)
    weights = np.ones(len(case.y)) if case.weights is None else case.weights
    with warnings.catch_warnings(), _limits(case):
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter(_warned(case), RuntimeWarning)
        try:
            fitted = _from_source(TopK(**settings), X, case.y, weights, task, rng)
        except ValueError as refusal:
            result.check("\n" not in str(refusal), "a refusal of several lines")
            return result
        result.status = fitted.status_
        _check_statement(result, case, fitted)
        chosen = fitted.get_support(indices=True).tolist()
        exact: Any = case.exact()
        optimum: Any = min(exact.best(), exact.objective(chosen))
        result.check(Fraction(fitted.lower_bound_) <= optimum, "bound above the optimum")
        slack = (1 - Fraction(_OF_TOTAL)) * optimum - Fraction(_OF_TOTAL) * exact.total
        result.check(Fraction(fitted.objective_) >= slack, "objective below the optimum")
        try:
            checked = float(verify(X, case.y, fitted.proof_, sample_weight=weights))
        except ValueError as refusal:
            result.check(False, f"a genuine proof: {refusal}")
            return result
        result.check(Fraction(checked) <= optimum, "checked bound above the optimum")
    return result


def _from_source(
    selector: Any, X: Any, y: Array, weights: Array, task: str, rng: np.random.Generator
) -> Any:
    """The selector fitted from Moments, from blocks of rows, or from Dask."""
    cut = int(rng.integers(1, len(y)))
    parts = [(X[rows], y[rows], weights[rows]) for rows in (slice(0, cut), slice(cut, None))]
    source = rng.random()
    if source < 0.2:
        return selector.fit(RowBlocks(lambda: iter(parts)))
    if source < 0.25 and not sp.issparse(X):
        import dask.array as da

        chunks = ((cut, len(y) - cut), -1)
        arrays = [da.from_array(part, chunks[: part.ndim]) for part in (X, y, weights)]
        return selector.fit(*arrays)
    moments = Moments(task)
    for part in parts:
        moments.update(*part)
    if rng.random() < 0.3:
        passing = Moments(task).update(
            X * 10.0 ** rng.uniform(-3, 3),
            y * (10.0 ** rng.uniform(-3, 6) if task == "regression" else 1),
            weights,
        )
        moments = moments.merge(passing).subtract(passing)
    return selector.fit_moments(moments)


def _check_statement(result: Verdict, case: Case, fitted: TopK) -> None:
    """What the fit says agrees with itself."""
    numbers = [fitted.lower_bound_, fitted.objective_, fitted.gap_, fitted.root_bound_]
    result.check(bool(np.isfinite(numbers).all()), "a number that is not finite")
    result.check(0 <= fitted.lower_bound_ <= fitted.objective_, "not 0 <= bound <= objective")
    result.check(0 <= fitted.root_bound_ <= fitted.lower_bound_, "root bound above the bound")
    k, include, exclude = (
        case.settings[name] for name in ("n_features_to_select", "include", "exclude")
    )
    chosen = set(fitted.get_support(indices=True).tolist())
    units = case.settings["feature_groups"] or [[j] for j in range(case.X.shape[1])]
    inside = [unit for unit in units if chosen & {*unit}]
    result.check(len(inside) == k, "not k features")
    result.check(chosen == {j for unit in inside for j in unit}, "a part of a group")
    result.check(chosen >= set(include or ()), "without a feature to include")
    result.check(not chosen & set(exclude or ()), "with a feature to exclude")
    closed = fitted.gap_ <= case.settings["gap_tol"]
    result.check(fitted.status_ == ("optimal" if closed else "gap"), "status against gap")


def _check_truth(result: Verdict, case: Case, fitted: TopK) -> None:
    """What the fit says agrees with the enumeration in exact arithmetic."""
    exact = case.exact()
    support = fitted.get_support(indices=True).tolist()
    optimum: Any = min(exact.best(), exact.objective(support))
    total, optimum_here = float(exact.total), float(optimum)
    number: Any = Fraction
    if isinstance(exact, CurvedProblem):
        # In long doubles, whose rounding is far below that of a bound.
        number, optimum = np.longdouble, optimum + exact.rounding
    result.check(number(fitted.lower_bound_) <= optimum, "bound above the optimum")
    slack = _OBJECTIVE * float(optimum) + _OF_TOTAL * total
    if number is np.longdouble and case.settings["alpha"] < _LEAST_RIDGE:
        # The steps of the enumeration end too early where the columns of a curved loss depend on
        # each other, on scales of their own, and nothing but their rounding tells them apart.
        table = CheckedTable.from_arrays(case.X, case.y, case.weights, fitted.proof_)
        optimum_here = exact_objectives(table, [np.array(support)])[0][0]
    result.check(fitted.objective_ >= optimum_here - slack, "objective below the optimum")
    try:
        groups = case.settings["feature_groups"]
        checked = float(
            verify(case.X, case.y, fitted.proof_, sample_weight=case.weights, feature_groups=groups)
        )
    except ValueError as refusal:
        result.check(False, f"a genuine proof: {refusal}")
        return
    result.check(number(checked) <= optimum, "checked bound above the optimum")
    # With a ridge close to rounding error, both bounds are inaccurate, the checked one more so.
    if case.settings["standardize"] and case.settings["alpha"] >= _LEAST_RIDGE:
        share = _CHECKED_GROUPS if "groups" in case.kinds else _CHECKED
        share = _CHECKED_EXTREME if _EXTREME & set(case.kinds) else share
        size = exact.size if isinstance(exact, CurvedProblem) else total
        slack = share * fitted.lower_bound_ + 100 * _OF_TOTAL * size
        result.check(checked >= fitted.lower_bound_ - slack, "checked bound below the bound")


# ------------------------------------------------------------------------------ every k
@dataclass(frozen=True)
class _OfPath:
    """What a path says of one k, as a fitted TopK does."""

    path: TopKPath
    at: int
    root_bound_: float = 0.0

    def __getattr__(self, name: str) -> Any:
        values = {
            "objective_": self.path.objectives,
            "lower_bound_": self.path.lower_bounds,
            "gap_": self.path.gaps,
            "status_": self.path.statuses,
            "proof_": self.path.proofs,
        }
        found = values[name]
        assert found is not None
        return found[self.at]

    def get_support(self, indices: bool) -> Array:
        return self.path.supports[self.at]


def judge_path(case: Case) -> Verdict:
    """Fit all k up to that of a case, and hold each against the enumeration."""
    result, names = Verdict(), signature(topk_path).parameters
    settings = {name: value for name, value in case.settings.items() if name in names}
    with warnings.catch_warnings(), _limits(case):
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter(_warned(case), RuntimeWarning)
        k_max, weights = case.settings["n_features_to_select"], case.weights
        try:
            path = topk_path(case.X, case.y, k_max, sample_weight=weights, **settings)
        except ValueError as refusal:
            result.check("\n" not in str(refusal), "a refusal of several lines")
            return result
        except Exception as error:
            result.check(False, f"{type(error).__name__}: {error}")
            return result
        assert path.statuses is not None
        result.status = "optimal" if {*path.statuses} == {"optimal"} else "gap"
        result.check(bool(np.all(np.diff(path.objectives) <= 0)), "objectives that rise with k")
        for at, k in enumerate(path.ks.tolist()):
            sized = replace(case, settings=case.settings | {"n_features_to_select": k})
            said: Any = _OfPath(path, at)
            _check_statement(result, sized, said)
            _check_truth(result, sized, said)
    return result


# ----------------------------------------------------------------------------------- lists
def judge_list(case: Case) -> Verdict:
    """The choices that are nearly as good as the best one, and what follows for each feature.

    A tenth of those with the squared loss come from Moments, RowBlocks or Dask.
    """
    result, rng = Verdict(), np.random.default_rng([case.seed, 9])
    near, is_ordinary, s = _near(case, rng), _is_ordinary(case), case.settings
    with warnings.catch_warnings(), _limits(case):
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter(_warned(case), RuntimeWarning)
        try:
            from_source = s["loss"] == "squared" and not s.get("clip") and rng.random() < 0.1
            if from_source:
                # What came and went leaves its rounding.
                is_ordinary, ones = False, np.ones(len(case.y))
                case = replace(case, weights=ones if case.weights is None else case.weights)
                task = "classification" if case.y.dtype.kind == "i" else "regression"
                near.set_params(selector__task=task)
                _from_source(near, case.X, case.y, np.asarray(case.weights), task, rng)
            else:
                near.fit(case.X, case.y, sample_weight=case.weights)
        except ValueError as refusal:
            result.check("\n" not in str(refusal), "a refusal of several lines")
            return result
        except Exception as error:
            result.check(False, f"{type(error).__name__}: {error}")
            return result
        result.status = "optimal" if near.complete_ else "gap"
        kinds = np.arange(near.n_features_in_)
        for j, copies in near.copies_.items():
            kinds[j] = min(j, *copies.tolist())
        every = _Enumeration.of(case, kinds, near.choices_)
        _check_listed(result, every, near, is_ordinary)
        _check_verdicts(result, every, near)
        if from_source and s["feature_groups"] is None:
            # The checkers see which columns are copies.
            every = _Enumeration.of(case, _copies(case), near.choices_)
        ends: list[Array] = []
        for exact in (False, True):
            name = "exactly" if exact else "checked"
            try:
                proof, weights = near.proof_, case.weights
                checked = verify(case.X, case.y, proof, sample_weight=weights, exact=exact)
            except ValueError as refusal:
                result.check(False, f"a genuine list, {name}: {refusal}")
                continue
            result.check(every.holds(checked.bound), f"{name} bound above a choice not listed")
            ends.append(np.array(checked.listed))
            pairs = zip(near.choices_, checked.listed, strict=True)
            held = all(every.is_between(S, *between, is_ordinary) for S, between in pairs)
            result.check(held, f"{name} objective of a listed choice")
            # A tolerance is no share of nothing.
            if near.complete_ and is_ordinary and every.best > every.slack:
                # Other choices may be as good as those listed, up to rounding.
                reached = -1.0 if checked.tolerance is None else checked.tolerance
                enough = reached >= near.tolerance - _OBJECTIVE
                result.check(enough, f"{name} list not complete")
        if len(ends) == 2:
            apart = np.max(ends, axis=0)[:, 0] > np.min(ends, axis=0)[:, 1]
            result.check(not apart.any(), "checkers that differ on a listed choice")
    return result


def _near(case: Case, rng: np.random.Generator) -> NearOptimal:
    """What lists the choices of a case, up to some tolerance and some number."""
    settings = {name: value for name, value in case.settings.items() if name != "certify"}
    tolerance = 0.0 if rng.random() < 0.1 else 10.0 ** rng.uniform(-4, 0.5)
    most = 1000 if rng.random() < 0.7 else int(rng.integers(1, 6))
    return NearOptimal(TopK(**settings), tolerance=tolerance, max_choices=most)


def _is_ordinary(case: Case) -> bool:
    """Whether rounding is far below what bounds differ by."""
    ridge = case.settings["standardize"] and case.settings["alpha"] >= _LEAST_RELAXED
    return bool(ridge) and not {*_EXTREME, "offsets", "scales", "offset of y"} & {*case.kinds}


@dataclass(frozen=True)
class _Enumeration:
    """All choices of a case, what they are worth, and which of them are listed.

    Attributes
    ----------
    exact : ExactProblem or CurvedProblem
        The problem.
    values : dict
        The objective of each choice, as a fraction or a long double.
    kinds : array of int
        For every column the first of its copies.
    listed : frozenset
        The choices listed, by the kinds of their columns.
    """

    exact: Any
    values: dict[tuple[int, ...], Any]
    kinds: Array
    listed: frozenset[tuple[int, ...]]

    @classmethod
    def of(cls, case: Case, kinds: Array, choices: Iterable[Any]) -> _Enumeration:
        """What there is to choose from, and what was listed."""
        exact: Any = case.exact()
        listed = frozenset(_kind(kinds, S) for S in choices)
        values = {S: exact.objective(S) for S in exact.choices()}
        s = case.settings
        if s["alpha"] == 0 and s["loss"] == "squared" and s["feature_groups"] is None:
            # Columns that add nothing to the others take no part, unless nothing else is left.
            zero = {j for j in range(len(kinds)) if exact.G[j, j] == 0}
            counted = {S: f for S, f in values.items() if _adds(S, kinds, zero, s["include"] or ())}
            values = counted or values
        return cls(exact, values, kinds, listed)

    @property
    def best(self) -> float:
        """The least objective."""
        return float(min(self.values.values()))

    @property
    def slack(self) -> float:
        """What rounding may change of an objective besides a share of it."""
        share = _OF_TOTAL if isinstance(self.exact, ExactProblem) else _FITTED
        return 10 * share * float(self.exact.total)

    @cached_property
    def others(self) -> Any:
        """The least objective of a choice that is not listed; infinite if all are."""
        pairs = self.values.items()
        left = (f for S, f in pairs if _kind(self.kinds, S) not in self.listed)
        least = min(left, default=np.inf)
        # What is computed in long doubles may be a little less than the least objective.
        return least if isinstance(self.exact, ExactProblem) else least + self.exact.rounding

    def holds(self, bound: float) -> bool:
        """Whether no choice is below a bound, apart from those listed."""
        if np.inf in (bound, self.others):
            return bool(bound <= self.others)
        return bool(self._number(bound) <= self.others)

    def is_between(self, choice: Array, low: float, high: float, is_ordinary: bool) -> bool:
        """Whether the objective of a choice is."""
        # Without sight of the columns a list may have choices with two copies.
        units = tuple(choice.tolist())
        value = self.values[units] if units in self.values else self.exact.objective(units)
        most, least = value, value
        if isinstance(self.exact, CurvedProblem):
            # What is computed may be above the least, if classes are separated, and far above it
            # where columns nearly depend on each other.
            most, least = value + self.exact.rounding, value - _FITTED * self.exact.total
            high = high if is_ordinary else np.inf
        return bool(self._number(low) <= most and (high == np.inf or least <= self._number(high)))

    def _number(self, value: float) -> Any:
        return Fraction(value) if isinstance(self.exact, ExactProblem) else np.longdouble(value)

    def within(self, increase: float, sign: int) -> list[tuple[int, ...]]:
        """The choices within an increase of the least objective, or a little less or more."""
        limit = (1 + increase) * self.best
        limit += sign * (_OBJECTIVE * limit + self.slack)
        return [S for S, value in self.values.items() if float(value) < limit]


def _kind(kinds: Array, choice: Any) -> tuple[int, ...]:
    return tuple(sorted(kinds[list(choice)].tolist()))


def _adds(choice: Sequence[int], kinds: Array, zero: set[int], include: Sequence[int]) -> bool:
    """Whether no column of a choice is constant or a copy of another, but for those included."""
    free = [j for j in choice if j not in include]
    own = [int(kinds[j]) for j in (*{int(kinds[j]): j for j in include}.values(), *free)]
    return not zero & {*free} and len({*own}) == len(own)


def _check_listed(
    result: Verdict, every: _Enumeration, near: NearOptimal, is_ordinary: bool
) -> None:
    """The list itself: choices, once each, with their objectives, and no better one left out."""
    chosen, objectives = [tuple(S.tolist()) for S in near.choices_], near.objectives_
    result.check(len(every.listed) == len(chosen), "a choice listed twice")
    result.check(len(chosen) <= near.max_choices, "more choices than asked for")
    result.check(bool((np.diff(objectives) >= 0).all()), "not in order")
    result.check(objectives[0] == near.objective_, "not the best one first")
    if not set(chosen) <= every.values.keys():
        result.check(False, "a listed choice that is none")
        return
    true = np.array([float(every.values[S]) for S in chosen])
    slack = _OBJECTIVE * true + every.slack
    result.check(bool((objectives >= true - slack).all()), "a listed objective that is too small")
    if is_ordinary:
        result.check(bool((objectives <= true + slack).all()), "one that is too large")
    for S, value in every.values.items():
        if _kind(every.kinds, S) in every.listed:
            at = [_kind(every.kinds, one) for one in chosen].index(_kind(every.kinds, S))
            around = 1e-12 * float(value) + every.slack
            result.check(abs(float(value) - true[at]) <= around, "copies that are none")
    result.check(every.holds(near.proof_.lower_bound), "a better choice that is not listed")
    ends = near.proof_.lower_bound >= (1 + near.tolerance) * near.objective_
    result.check(near.complete_ == ends, "complete against the bound")
    if len(chosen) == near.max_choices and near.tolerance_ >= -_OBJECTIVE:
        # Of copies up to rounding the objectives may be larger than what is true.
        last = min(true.max(), (1 + near.tolerance) * near.objective_)
        least = last * (1 - _OBJECTIVE) - every.slack
        result.check(float(every.others) >= least, "not the best ones")
    elif near.selector.time_limit is None and is_ordinary:
        result.check(near.complete_, "not complete")


def _check_verdicts(result: Verdict, every: _Enumeration, near: NearOptimal) -> None:
    """What is said of each feature."""
    increase = near.tolerance if near.complete_ else near.tolerance_
    verdicts = [near.in_all_, near.in_some_, near.in_none_]
    result.check(int(np.sum(verdicts, axis=0).max()) <= 1, "two verdicts on a feature")
    # Whether rounding makes the best choice another one.
    is_right = abs(near.objective_ - every.best) <= _OBJECTIVE * every.best
    if increase >= 0:
        sure, maybe = (_members(every.within(increase, sign), near) for sign in (-1, 1))
        result.check(bool(sure[:, near.in_all_].all()), "in all")
        result.check(not sure[:, near.in_none_].any(), "in none")
        mixed = np.asarray(maybe.any(axis=0) & ~maybe.all(axis=0))
        is_clear = is_right and every.best > every.slack
        result.check(not is_clear or bool(np.all(mixed[near.in_some_])), "in some")
    found = [
        _members([S for S in every.values if _kind(every.kinds, S) == kind], near).any(axis=0)
        for kind in every.listed
    ]
    result.check(np.allclose(near.share_, np.mean(found, axis=0)), "share")
    if not is_right or every.best <= every.slack:  # nothing is a share of nothing
        return
    member = _members(every.values, near)
    values = np.array([*map(float, every.values.values())])
    for name, inside in (("with", member), ("without", ~member)):
        costs, exact = getattr(near, f"cost_{name}_"), getattr(near, f"cost_{name}_exact_")
        true = np.where(inside, values[:, None], np.inf).min(axis=0)
        slack = np.where(np.isfinite(true), _OBJECTIVE * true, 0) + every.slack
        reached = (1 + costs) * near.objective_
        result.check(bool((reached <= true + slack).all()), f"a cost {name} that is too large")
        result.check(
            bool((reached >= true - slack)[exact].all()), f"a cost {name} that is not exact"
        )


def _members(choices: Iterable[tuple[int, ...]], near: NearOptimal) -> Array:
    """Which columns each choice has."""
    rows = list(choices)
    member = np.zeros((len(rows), near.n_features_in_), dtype=bool)
    for row, S in zip(member, rows, strict=True):
        row[list(S)] = True
    return member


# -------------------------------------------------------------------------------- tampering
_HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2, 3, 2**70, -0.5, 0.0, 1e-300, 0.5, 2.0, 1e300, np.nan, np.inf),
    *("", "squared", "logistic", "regression", "balanced", [], [0], [0, 0], [-1], [1.0, 2.0]),
    *([-1.0, 1.0], [np.nan, 1.0], {}, b"x", np.zeros(2), np.array([0, 1])),
)


def judge_tampered(case: Case) -> Verdict:
    """Fields of the proof of a case changed one at a time, by values of every type."""
    return _judged_tampered(case, TopK(**case.settings))


def judge_tampered_list(case: Case) -> Verdict:
    """As :func:`judge_tampered`, of a list."""
    return _judged_tampered(case, _near(case, np.random.default_rng([case.seed, 9])))


def _judged_tampered(case: Case, selector: Any) -> Verdict:
    result, rng = Verdict(), np.random.default_rng([case.seed, 6])
    proof = _proof_of(case, result, selector)
    for _ in range(0 if proof is None else 12):
        name, other = _tampered(proof, rng)
        _check_harmless(result, case, name, partial(replace, other), exact=rng.random() < 0.25)
    return result


def _check_harmless(
    result: Verdict, case: Case, name: str, proof: Callable[[], Proof], *, exact: bool
) -> None:
    """A proof that somebody has changed is refused in one sentence, or proves what is true."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        try:
            changed = proof()
            checked = verify(case.X, case.y, changed, sample_weight=case.weights, exact=exact)
        except ValueError as refusal:
            result.check("\n" not in str(refusal), f"{name}: a refusal of several lines")
            return
        except Exception as error:
            result.check(False, f"{name}: {type(error).__name__}: {error}")
            return
    if not np.isfinite(checked.objective) or not checked.bound >= 0:
        result.check(False, f"{name}: a number that is not finite")
    elif checked.bound > _optimum(case, changed) * (1 + 1e-13):
        result.check(False, f"{name}: bound above the optimum")


def judge_damaged(case: Case) -> Verdict:
    """Files of the proof of a case, or of a list, changed, read and checked in little memory."""
    result, rng = Verdict(), np.random.default_rng([case.seed, 7])
    selector = TopK(**case.settings) if rng.random() < 0.7 else _near(case, rng)
    proof = _proof_of(case, result, selector)
    if proof is None:
        return result
    with TemporaryDirectory() as folder, _little_memory():
        whole, path = proof.save(Path(folder) / "whole.npz"), Path(folder) / "damaged.npz"
        with np.load(whole) as file:
            arrays = dict(file)
        for trial in range(20):
            name = _drawn(rng, [*arrays])
            if trial % 4 == 0:
                name, content = "file", bytearray(whole.read_bytes())
                _spoil(content, rng)
                end = int(rng.integers(len(content))) if trial % 8 else len(content)
                path.write_bytes(content[:end])
            elif trial % 4 == 1:
                with zipfile.ZipFile(whole) as parts, zipfile.ZipFile(path, "w") as file:
                    for key in parts.namelist():
                        content = bytearray(parts.read(key))
                        if key == f"{name}.npy":
                            _spoil(content, rng)
                        file.writestr(key, bytes(content))
            else:
                name = name if trial % 4 == 2 else "header"
                other = _retyped(arrays[name], rng) if name != "header" else _header(arrays, rng)
                np.savez(path, **(arrays | {name: other}))
            _check_harmless(result, case, name, partial(Proof.load, path), exact=trial % 8 == 2)
    return result


def _retyped(array: Array, rng: np.random.Generator) -> Array:
    """An array changed, or of other numbers, or of another number of axes."""
    way = rng.random()
    if way < 0.5:
        return _changed(array, rng)
    return (
        array.astype(_drawn(rng, ["f8", "f4", "i8", "u1", "?", "U3"]))
        if way < 0.8
        else array.T[None]
    )


def _header(arrays: dict[str, Array], rng: np.random.Generator) -> Array:
    """The header with another value, of any type, in one field of it or of the statement."""
    header = json.loads(arrays["header"].tobytes())
    part = header if rng.random() < 0.4 else header["statement"]
    value = _HOSTILE[int(rng.integers(len(_HOSTILE)))]
    value = value.tolist() if isinstance(value, np.ndarray) else value
    part[_drawn(rng, [*part])] = value if not isinstance(value, bytes) else {"": [value.decode()]}
    return np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)


def _spoil(content: bytearray, rng: np.random.Generator) -> None:
    for _ in range(int(rng.integers(1, 4))):
        content[int(rng.integers(len(content)))] = int(rng.integers(256))


@contextmanager
def _little_memory(extra: int = 1 << 29) -> Iterator[None]:
    """Half a gigabyte more than now, and no more."""
    import resource

    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used * resource.getpagesize() + extra, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _proof_of(case: Case, result: Verdict, selector: Any) -> Any:
    """The proof of a case; None if the selector refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fitted = selector.fit(case.X, case.y, sample_weight=case.weights)
        except ValueError:
            return None
    result.status = fitted.status_
    return fitted.proof_


def _tampered(proof: Proof, rng: np.random.Generator) -> tuple[str, Proof]:
    """The name of a field, and the proof with another value in it."""
    value = _HOSTILE[int(rng.integers(len(_HOSTILE)))]
    part = rng.random()
    if part < 0.5:
        name = _drawn(rng, [f.name for f in fields(Statement)])
        if name == "feature_groups" and rng.random() < 0.7:
            value = _partition(rng, proof.statement.n_features)
        return name, replace(proof, statement=replace(proof.statement, **{name: value}))
    if part < 0.65:
        names = ["support", "objective", "lower_bound", "diagonal", "data"]
        name = _drawn(rng, names if proof.listed is None else [*names, "listed", "listed"])
        old = getattr(proof, name)
        if isinstance(old, np.ndarray) and rng.random() < 0.5:
            value = _changed(old, rng)
        # What is no array is refused when a file is read.
        if name in ("support", "diagonal", "data", "listed") and not isinstance(
            value, np.ndarray | None
        ):
            value = np.atleast_1d(np.array(value, dtype=object))
        if name == "support" and value is None:
            value = np.zeros(0, dtype=int)
        return name, replace(proof, **{name: value})
    at = int(rng.integers(len(proof.steps)))
    step, name = proof.steps[at], _drawn(rng, ["kind", "feature", "out", "fixed", "dual"])
    if name == "kind":
        changed: Any = Kind(int(rng.integers(len(Kind))))
    elif name == "feature":
        changed = int(rng.integers(-2, 12))
    elif name == "dual" and step.dual is not None:
        which = _drawn(rng, ["features", "V"])
        changed = replace(step.dual, **{which: _changed(getattr(step.dual, which), rng)})
    else:
        changed = None if name == "dual" else rng.integers(-1, 10, int(rng.integers(3)))
    steps = [*proof.steps]
    steps[at] = replace(step, **{name: changed})
    return f"step {name}", replace(proof, steps=steps)


def _drawn(rng: np.random.Generator, names: list[str]) -> str:
    return names[int(rng.integers(len(names)))]


def _changed(array: Array, rng: np.random.Generator) -> Array:
    """An array with other numbers, in another order, or of another shape."""
    way = int(rng.integers(5))
    if way == 0 or array.size == 0:
        return array[: len(array) // 2]
    if way == 1:
        return np.concatenate([array, array[:1]])
    if array.dtype.kind != "f":
        return array + int(rng.integers(-2, 3)) if array.dtype.kind == "i" else array[::-1]
    changed = array.copy()
    at = tuple(int(rng.integers(size)) for size in array.shape)
    changed[at] = [np.nan, np.inf, 1e300, -changed[at], changed[at] * 1e6][int(rng.integers(5))]
    return changed if way < 4 else array * 10.0 ** rng.uniform(-3, 3)


def _optimum(case: Case, proof: Proof) -> float:
    """The optimum of a proof's own statement, which verify has accepted; rounded up."""
    about = proof.statement
    weights = np.ones(len(case.y)) if case.weights is None else case.weights
    if about.class_weight is not None:
        labels = _targets(case.y)
        per_class = np.asarray(
            (weights.sum() / (labels.shape[1] * (weights @ labels)))
            if isinstance(about.class_weight, str)
            else about.class_weight
        )
        weights = weights * (labels @ per_class)
    y = case.y.astype(float) if about.task != "classification" else case.y
    if about.task == "classification" and y.dtype.kind != "i":
        y = np.unique(y, return_inverse=True)[1].reshape(y.shape)
    names = ("alpha", "include", "exclude", "clip", "standardize", "fit_intercept", "loss")
    settings: dict[str, Any] = {"feature_groups": about.feature_groups}
    settings |= {name: getattr(about, name) for name in names}
    settings["n_features_to_select"] = about.k
    # Other weights than the case's: the proof is about those of its statement.
    other = replace(case, y=y, weights=weights, settings=settings)
    exact = other.exact()
    rounding = exact.rounding if isinstance(exact, CurvedProblem) else 0.0
    if proof.listed is None:
        return float(exact.best()) + rounding
    kinds = _copies(other) if about.feature_groups is None else np.arange(about.n_features)
    listed = map(about.columns_of, proof.listed.tolist())
    return float(_Enumeration.of(other, kinds, listed).others) + rounding


def _copies(case: Case) -> Array:
    """For every column the first one that is equal up to its sign, or up to a power of two."""
    exact: Any = case.exact()
    X = np.asarray(case.X.toarray() if sp.issparse(case.X) else case.X, dtype=np.float64)
    same_scale = case.settings["alpha"] > 0 and not case.settings["standardize"]
    first: dict[tuple[Fraction, ...], int] = {}
    kinds = []
    for j, x in enumerate(X.T):
        varies = exact.G[j, j] if isinstance(exact, ExactProblem) else exact.X[:, j].any()
        leading = next((value for value in x.tolist() if value), 1.0)
        unit = Fraction(1) if same_scale else Fraction(2) ** int(np.frexp(leading)[1])
        key = tuple(fractions_of(x) / (unit if leading > 0 else -unit)) if varies else ()
        kinds.append(first.setdefault(key, j))
    return np.array(kinds)


# --------------------------------------------------------------------------------- the run
def run(quick: bool) -> list[Table]:
    """As many cases as fit into ROWSPARSE_MINUTES (1) a loss, from the seed ROWSPARSE_SEED (0)."""
    return list(_tables(quick))


def _tables(quick: bool) -> Iterator[Table]:
    minutes = 0.1 if quick else float(os.environ.get("ROWSPARSE_MINUTES", "1"))
    first = int(os.environ.get("ROWSPARSE_SEED", "0"))
    losses = {"squared": draw, "logistic": draw_logistic, "Poisson": draw_counts, "Cox": draw_times}
    parts: list[tuple[str, Callable[[int], Case], Callable[[Case], Verdict]]] = []
    for name, drawn in losses.items():
        parts += [
            (f"{name} loss", drawn, judge),
            (f"{name} loss, extreme numbers", partial(draw_extreme, drawn=drawn), judge),
            (f"lists, {name} loss", drawn, judge_list),
        ]
    parts += [
        ("squared loss from Moments, RowBlocks and Dask", draw_extreme, judge_moments),
        ("every k, all losses", draw_any, judge_path),
        ("every k with ties and copies, all losses", draw_tied, judge_path),
        ("lists, all losses", draw_any, judge_list),
        ("lists with ties and copies, all losses", draw_tied, judge_list),
        ("tampered proofs, all losses", draw_any, judge_tampered),
        ("tampered lists, all losses", draw_any, judge_tampered_list),
        ("damaged files, all losses", draw_any, judge_damaged),
    ]
    for part in parts:
        yield _attacked(*part, minutes, first)


def _attacked(
    what: str,
    drawn: Callable[[int], Case],
    judged: Callable[[Case], Verdict],
    minutes: float,
    first: int,
) -> Table:
    tried: Counter[str] = Counter()
    proven: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    examples: dict[str, int] = {}
    seed, end = first, perf_counter() + 60 * minutes
    while perf_counter() < end:
        case = drawn(seed)
        result = judged(case)
        for kind in ("all", *case.kinds):
            tried[kind] += 1
            proven[kind] += result.status == "optimal"
            broken[kind] += bool(result.broken)
        for claim in result.broken:
            seen[claim] += 1
            examples.setdefault(claim, seed)
        seed += 1
    formats = {"kind": "", "cases": "d", "proven": "d", "violations": "d", VERDICT: ""}
    title = f"Attack on the certificate, {what}, {minutes:g} minutes, seeds from {first}."
    table = Table(title, formats)
    table.target = "no violation"
    for kind, count in tried.most_common():
        row = {"kind": kind, "cases": count, "proven": proven[kind], "violations": broken[kind]}
        table.rows.append(row | {VERDICT: verdict(not broken[kind]) if kind == "all" else ""})
    table.notes += [f"{count} x {claim} (seed {examples[claim]})" for claim, count in seen.items()]
    return table


if __name__ == "__main__":
    violations = 0
    for each_table in _tables(quick=False):
        print(each_table.text(), flush=True)
        violations += sum(row["violations"] for row in each_table.rows)
    sys.exit(violations > 0)
