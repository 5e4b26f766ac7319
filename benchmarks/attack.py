"""An attack on the certificate: tiny problems at every edge, enumerated in exact arithmetic.

What must hold for whatever TopK accepts: 0 <= lower_bound_ <= optimum <= objective_, all finite;
"optimal" if and only if gap_ <= gap_tol; exactly k features, those to be included among them; and
never worse than without the certificate. Bounds are compared as exact fractions, with the logistic
loss in long doubles; the objective may be off by what rounding does to a sum. Half of the problems
are solved with limits so small that they take the paths of large ones. The same must hold from
Moments, RowBlocks and Dask. Proofs with one field changed, and files with damaged bytes, must be
refused in one sentence or prove no more than is true of their own statement, in little memory.
"""

from __future__ import annotations

import os
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from benchmarks.attack_limits import small_limits
from benchmarks.exact import Array, ExactProblem
from benchmarks.exact_logistic import LogisticProblem
from benchmarks.tables import VERDICT, Table, verdict
from rowsparse import Moments, RowBlocks, TopK
from rowsparse.certificate import Proof, Statement, verify
from rowsparse.certificate.proof import Kind

_SMALL_LIMITS = "small limits"
_EXTREME = {"clip", "subnormal entries", "huge entries", "bad scales", "extreme weights"}
# Relative rounding error of a computed objective, of itself and of the objective of nothing.
_OBJECTIVE, _OF_TOTAL = 1e-9, 1e-13
# Relative rounding error of sums of long doubles.
_LONG = 1e-17
# How much less than the bound of the fit a checked proof may come to, from this ridge on.
_CHECKED, _LEAST_RIDGE = 1e-6, 1e-3


@dataclass(frozen=True)
class Case:
    """A small problem and how to fit it; ``kinds`` says what is special about it."""

    seed: int
    X: Any
    y: Array
    weights: Array | None
    settings: dict[str, Any]
    kinds: tuple[str, ...]

    def exact(self) -> ExactProblem | LogisticProblem:
        """The same problem in fractions, or with the logistic loss in long doubles."""
        X = self.X.toarray() if sp.issparse(self.X) else self.X
        logistic = self.settings.get("loss") == "logistic"
        return (LogisticProblem if logistic else ExactProblem).of(
            np.asarray(X, dtype=np.float64),
            _labels(self.y) if logistic else _targets(self.y),
            self.settings["n_features_to_select"],
            self.settings["alpha"],
            weights=self.weights,
            standardize=self.settings["standardize"],
            fit_intercept=self.settings["fit_intercept"],
            include=self.settings["include"] or (),
            exclude=self.settings["exclude"] or (),
            clip=self.settings.get("clip"),
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
    settings = _settings(rng, d, kinds)
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
    if _SMALL_LIMITS in kinds and settings["alpha"] < _LEAST_RIDGE:
        # Relaxations with hardly a ridge take minutes where they replace a few fits.
        kinds.remove(_SMALL_LIMITS)
    return Case(seed, case.X, y, case.weights, settings, tuple(kinds) or ("ordinary",))


def draw_extreme(seed: int) -> Case:
    """As :func:`draw`, with limited columns, and entries and weights of extreme sizes."""
    return _extreme(draw(seed))


def draw_extreme_logistic(seed: int) -> Case:
    """As :func:`draw_extreme`, with the logistic loss."""
    return _extreme(draw_logistic(seed))


def _extreme(case: Case) -> Case:
    rng, kinds = np.random.default_rng([case.seed, 5]), [k for k in case.kinds if k != "ordinary"]
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
    """Numbers near the ends of the range of floats may warn of overflow; others may not."""
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
        if case.settings["time_limit"] is None:
            # A proof may end with a choice that is the best one within the tolerance alone.
            slack = (_OBJECTIVE + case.settings["gap_tol"]) * without.objective_
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
    selector: TopK, X: Any, y: Array, weights: Array, task: str, rng: np.random.Generator
) -> TopK:
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
    result.check(len(chosen) == k, "not k features")
    result.check(chosen >= set(include or ()), "without a feature to include")
    result.check(not chosen & set(exclude or ()), "with a feature to exclude")
    closed = fitted.gap_ <= case.settings["gap_tol"]
    result.check(fitted.status_ == ("optimal" if closed else "gap"), "status against gap")


def _check_truth(result: Verdict, case: Case, fitted: TopK) -> None:
    """What the fit says agrees with the enumeration in exact arithmetic."""
    exact = case.exact()
    support = fitted.get_support(indices=True).tolist()
    optimum: Any = min(exact.best(), exact.objective(support))
    total = float(exact.total)
    number: Any = Fraction
    if isinstance(exact, LogisticProblem):
        # In long doubles, whose rounding is far below that of a bound.
        number, optimum = np.longdouble, optimum + _LONG * exact.total
    result.check(number(fitted.lower_bound_) <= optimum, "bound above the optimum")
    slack = _OBJECTIVE * float(optimum) + _OF_TOTAL * total
    result.check(fitted.objective_ >= float(optimum) - slack, "objective below the optimum")
    try:
        checked = float(verify(case.X, case.y, fitted.proof_, sample_weight=case.weights))
    except ValueError as refusal:
        result.check(False, f"a genuine proof: {refusal}")
        return
    result.check(number(checked) <= optimum, "checked bound above the optimum")
    # With a ridge close to rounding error, both bounds are inaccurate, the checked one more so.
    ordinary = not _EXTREME & set(case.kinds)
    if ordinary and case.settings["standardize"] and case.settings["alpha"] >= _LEAST_RIDGE:
        slack = _CHECKED * fitted.lower_bound_ + 100 * _OF_TOTAL * total
        result.check(checked >= fitted.lower_bound_ - slack, "checked bound below the bound")


# -------------------------------------------------------------------------------- tampering
_HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2, 3, 2**70, -0.5, 0.0, 1e-300, 0.5, 2.0, 1e300, np.nan, np.inf),
    *("", "squared", "logistic", "regression", "balanced", [], [0], [0, 0], [-1], [1.0, 2.0]),
    *([-1.0, 1.0], [np.nan, 1.0], {}, b"x", np.zeros(2), np.array([0, 1])),
)


def judge_tampered(case: Case) -> Verdict:
    """Fields of the proof of a case changed one at a time, by values of every type."""
    result, rng = Verdict(), np.random.default_rng([case.seed, 6])
    proof = _proof_of(case, result)
    for _ in range(0 if proof is None else 12):
        changed = _tampered(proof, rng)
        name, other = changed
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                checked = verify(case.X, case.y, other, sample_weight=case.weights)
        except ValueError as refusal:
            result.check("\n" not in str(refusal), f"{name}: a refusal of several lines")
            continue
        except Exception as error:
            result.check(False, f"{name}: {type(error).__name__}")
            continue
        numbers = np.array([checked.bound, checked.objective])
        if not np.isfinite(numbers).all() or checked.bound < 0:
            result.check(False, f"{name}: a number that is not finite")
        elif checked.bound > _optimum(case, other) * (1 + 1e-13):
            result.check(False, f"{name}: bound above the optimum")
    return result


def judge_damaged(case: Case) -> Verdict:
    """Files of the proof of a case with bytes changed, read and checked in little memory."""
    result, rng = Verdict(), np.random.default_rng([case.seed, 7])
    proof = _proof_of(case, result)
    if proof is None:
        return result
    with TemporaryDirectory() as folder, _little_memory():
        whole = proof.save(Path(folder) / "whole.npz")
        with zipfile.ZipFile(whole) as file:
            parts = {name: file.read(name) for name in file.namelist()}
        for trial in range(20):
            path = Path(folder) / "damaged.npz"
            if trial % 4 == 0:
                content = bytearray(whole.read_bytes())
                _spoil(content, rng)
                path.write_bytes(
                    content[: int(rng.integers(len(content)))] if trial % 8 else content
                )
            else:
                name = list(parts)[int(rng.integers(len(parts)))]
                content = bytearray(parts[name])
                _spoil(content, rng)
                with zipfile.ZipFile(path, "w") as file:
                    for key, value in (parts | {name: bytes(content)}).items():
                        file.writestr(key, value)
            try:
                loaded = Proof.load(path)
                checked = verify(case.X, case.y, loaded, sample_weight=case.weights)
            except ValueError as refusal:
                result.check("\n" not in str(refusal), "a refusal of several lines")
            except Exception as error:
                result.check(False, f"{type(error).__name__}")
            else:
                true = checked.bound <= _optimum(case, loaded) * (1 + 1e-13)
                result.check(bool(true), "bound above the optimum")
    return result


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


def _proof_of(case: Case, result: Verdict) -> Any:
    """The proof of a case; None if TopK refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            fitted = TopK(**case.settings).fit(case.X, case.y, sample_weight=case.weights)
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
        return name, replace(proof, statement=replace(proof.statement, **{name: value}))
    if part < 0.65:
        name = _drawn(rng, ["support", "objective", "lower_bound", "diagonal", "data"])
        old = getattr(proof, name)
        if isinstance(old, np.ndarray) and rng.random() < 0.5:
            value = _changed(old, rng)
        # What is no array is refused when a file is read.
        if name in ("support", "diagonal", "data") and not isinstance(value, np.ndarray | None):
            value = np.atleast_1d(np.array(value, dtype=object))
        if name == "support" and value is None:
            value = np.zeros(0, dtype=int)
        return name, replace(proof, **{name: value})
    at = int(rng.integers(len(proof.steps)))
    step, name = proof.steps[at], _drawn(rng, ["kind", "feature", "out", "fixed", "dual"])
    if name == "kind":
        changed: Any = Kind(int(rng.integers(6)))
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
    """The optimum of a proof's own statement, which verify has accepted."""
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
    settings = {name: getattr(about, name) for name in names}
    settings["n_features_to_select"] = about.k
    # Other weights than the case's: the proof is about those of its statement.
    other = replace(case, y=y, weights=weights, settings=settings)
    return float(other.exact().best())


# --------------------------------------------------------------------------------- the run
def run(quick: bool) -> list[Table]:
    """As many cases as fit into ROWSPARSE_MINUTES (1) a loss, from the seed ROWSPARSE_SEED (0)."""
    minutes = 0.1 if quick else float(os.environ.get("ROWSPARSE_MINUTES", "1"))
    first = int(os.environ.get("ROWSPARSE_SEED", "0"))
    parts: list[tuple[str, Callable[[int], Case], Callable[[Case], Verdict]]] = [
        ("squared loss", draw, judge),
        ("squared loss, extreme numbers", draw_extreme, judge),
        ("squared loss from Moments, RowBlocks and Dask", draw_extreme, judge_moments),
        ("logistic loss", draw_logistic, judge),
        ("logistic loss, extreme numbers", draw_extreme_logistic, judge),
        ("tampered proofs", draw, judge_tampered),
        ("tampered proofs, logistic loss", draw_logistic, judge_tampered),
        ("damaged files", draw, judge_damaged),
    ]
    return [_attacked(*part, minutes, first) for part in parts]


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
    tables = run(quick=False)
    for each_table in tables:
        print(each_table.text(), flush=True)
    sys.exit(any(row["violations"] for each_table in tables for row in each_table.rows))
