"""The answers that are compared, in one process: prints them as JSON, by the name of the setting.

Run by ``benchmarks.same`` as a file, with the source tree of a revision on PYTHONPATH; arguments
are parts of the names of settings. It uses public names alone. An error is an answer too.
"""

from __future__ import annotations

import json
import sys
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)

import rowsparse as rs

Setting = Callable[[], Any]
Settings = Iterator[tuple[str, Setting]]
# Attributes that differ from run to run.
TIMES = ("seconds", "time")
# Parameters that keep a method fast on small problems, by its name in the registry.
FAST: dict[str, dict[str, Any]] = {
    "rpfs": {"rho": 1.5, "max_iter": 100},
    "cdlsr": {"n_restarts": 4},
    "ipfs": {"rho": 1.2},
    "fspca": {"n_components": 2},
    "concreteautoencoder": {"max_iter": 5, "max_tries": 1},
    "firdl": {
        "operator_hidden": (8,),
        "selector_hidden": (16,),
        "batch_size": 16,
        "n_masks": 16,
        "max_iter": 160,
        "phase_two": 120,
        "learning_rate": 0.05,
    },
}


# ---------------------------------------------------------------------------------- the data
@dataclass(frozen=True)
class Data:
    """Samples with numbers, several numbers, two classes, four classes and labels as targets."""

    X: np.ndarray
    number: np.ndarray
    numbers: np.ndarray
    two: np.ndarray
    four: np.ndarray
    labels: np.ndarray
    weights: np.ndarray


def drawn(n: int, d: int, seed: int, noise: float = 1.5) -> Data:
    """Columns that mix few factors, so that they are hard to tell apart, and targets of twelve."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n, min(10, d // 6)))
    X = rng.standard_normal((n, d)) + factors @ rng.standard_normal((factors.shape[1], d))
    X /= X.std(axis=0)
    W = np.zeros((d, 4))
    W[rng.choice(d, min(d, 12), replace=False)] = rng.standard_normal((min(d, 12), 4))
    numbers = X @ W + noise * rng.standard_normal((n, 4))
    X = X * np.linspace(0.5, 3.0, d) + 1.0
    return Data(
        X,
        numbers[:, 0],
        numbers[:, :3],
        np.where(numbers[:, 1] > np.median(numbers[:, 1]), "yes", "no"),
        numbers.argmax(axis=1),
        (numbers[:, :3] > np.median(numbers[:, :3], axis=0)).astype(int),
        rng.random(n) + 0.2,
    )


def awkward(data: Data) -> np.ndarray:
    """The samples with constant, zero, equal, opposite and dependent columns among the others."""
    X = data.X.copy()
    X[:, 3], X[:, 4], X[:, 5], X[:, 6] = 7.0, 0.0, X[:, 8], -X[:, 9]
    X[:, 7] = X[:, 10] - 2.0 * X[:, 11]
    return X


def sparse(X: np.ndarray, share: float = 0.3) -> Any:
    """The samples with most of their values set to zero, by columns."""
    kept = np.random.default_rng(5).random(X.shape) < share
    return sp.csc_array(np.where(kept, X, 0.0))


# ------------------------------------------------------------------------------ the settings
def settings() -> Settings:
    yield from every_selector()
    yield from searches()
    yield from constrained()
    yield from proofs()
    yield from sources()
    yield from paths()
    yield from meta()
    yield from refusals()
    yield from hard()
    yield from large()
    yield from rough()
    yield from counts_survival_and_lists()
    for seed in range(200):
        yield at_random(seed)


def top(k: float, X: Any, y: Any, sample_weight: Any = None, **parameters: Any) -> Setting:
    """The fit of a TopK that is made when it is called."""
    return lambda: rs.TopK(k, **{"random_state": 0, **parameters}).fit(X, y, sample_weight)


def every_selector() -> Settings:
    """Every selector of the registry on classes and, where it takes them, on numbers."""
    wine, numbers = load_wine(return_X_y=True), drawn(60, 15, seed=1)

    def fitted(name: str, X: Any, y: Any) -> Any:
        selector = rs.get_selector(name, 4, **FAST.get(name, {}))
        if "random_state" in selector.get_params():
            selector.set_params(random_state=0)
        return selector.fit(X, y)

    for name in rs.list_selectors():
        yield f"selector {name}, classes", partial(fitted, name, *wine)
        yield f"selector {name}, numbers", partial(fitted, name, numbers.X, numbers.number)
    wide = drawn(40, 200, seed=2)
    yield "RFS, wide", lambda: rs.RFS(5).fit(wide.X, wide.four)
    yield (
        "RFS, weights, no intercept",
        lambda: rs.RFS(5, fit_intercept=False).fit(numbers.X, numbers.numbers, numbers.weights),
    )
    yield "RPFS, restarts", lambda: rs.RPFS(4, rho=1.5, n_restarts=2, random_state=0).fit(*wine)


def searches() -> Settings:
    """TopK without constraints: losses, targets, shapes, ridges and kinds of numbers."""
    tall, wide, small = drawn(90, 40, seed=3), drawn(40, 150, seed=4), drawn(60, 20, seed=5)
    for name, data in (("tall", tall), ("wide", wide)):
        for target in ("number", "numbers", "two", "four", "labels"):
            y = getattr(data, target)
            yield f"search squared {name} {target}", top(5, data.X, y, loss="squared")
            if not target.startswith("number"):
                yield f"search logistic {name} {target}", top(4, data.X, y, loss="logistic")
        yield f"search l21 {name}", top(4, data.X, data.numbers, loss="l21", n_restarts=3)
    yield "search l21 gamma, classes", top(4, small.X, small.four, loss="l21", gamma=0.5)
    for loss, y in (("squared", tall.numbers), ("logistic", tall.two)):
        run = partial(top, 5, tall.X, y, loss=loss)
        yield f"search {loss} alpha=0", run(alpha=0.0)
        yield f"search {loss} alpha=1", run(alpha=1.0)
        for n_restarts in (0, 5, 20):
            yield f"search {loss} n_restarts={n_restarts}", run(n_restarts=n_restarts)
        yield f"search {loss} n_jobs=2", run(n_jobs=2, n_restarts=6)
        yield f"search {loss} no intercept", run(fit_intercept=False)
        yield f"search {loss} not standardised", run(standardize=False)
        yield f"search {loss} clip", run(clip=1.5)
        yield f"search {loss} weights", run(sample_weight=tall.weights)
        yield (
            f"search {loss} float32",
            top(5, tall.X.astype(np.float32), np.asarray(y), loss=loss),
        )
        yield f"search {loss} sparse", top(5, sparse(tall.X), y, loss=loss)
        yield (
            f"search {loss} sparse float32, not standardised",
            top(5, sparse(tall.X).astype(np.float32), y, loss=loss, standardize=False),
        )
        yield f"search {loss} awkward columns", top(6, awkward(tall), y, loss=loss)
        yield (
            f"search {loss} awkward columns alpha=0",
            top(6, awkward(tall), y, loss=loss, alpha=0.0),
        )
        yield f"search {loss} awkward wide", top(5, awkward(wide), y[:40], loss=loss)
    yield "search squared wide alpha=0", top(5, wide.X, wide.number, loss="squared", alpha=0.0)
    yield "search squared all features", top(20, small.X, small.number)
    yield "search squared share of features", top(0.2, small.X, small.number)
    yield (
        "search squared class weights",
        top(4, tall.X, tall.four, loss="squared", class_weight="balanced"),
    )
    yield (
        "search logistic class weights",
        top(4, tall.X, tall.two, loss="logistic", class_weight={"yes": 3.0, "no": 1.0}),
    )
    yield "search squared digits", top(10, *load_digits(return_X_y=True), loss="squared")
    yield "search logistic cancer", top(6, *load_breast_cancer(return_X_y=True))
    yield "search logistic iris", top(2, *load_iris(return_X_y=True))
    yield "search squared diabetes", top(5, *load_diabetes(return_X_y=True))
    yield (
        "predictors",
        lambda: [
            rs.TopKClassifier(4, random_state=0).fit(tall.X, tall.four),
            rs.TopKRegressor(4, random_state=0).fit(tall.X, tall.numbers),
        ],
    )


def constrained() -> Settings:
    """TopK with included and excluded columns and groups of columns."""
    tall, wide = drawn(90, 40, seed=6), drawn(40, 150, seed=7)
    mixed = np.repeat(np.arange(16), [1, 2, 3, 4] * 4)
    zeros = tall.X.copy()
    zeros[:, np.isin(mixed, [2, 9])] = 0.0
    for loss, y, wide_y in (
        ("squared", tall.numbers, wide.number),
        ("logistic", tall.four, wide.two),
    ):
        run = partial(top, 4, tall.X, y, loss=loss)
        yield f"constraints {loss} include", run(include=[0, 7])
        yield f"constraints {loss} exclude", run(exclude=list(range(20, 40)))
        yield f"constraints {loss} both", run(include=[3], exclude=[1, 2, 5, 30])
        yield (
            f"constraints {loss} include dependent columns",
            top(6, awkward(tall), y, loss=loss, include=[5, 8, 7, 10], exclude=[4]),
        )
        yield f"groups {loss} mixed", run(feature_groups=mixed)
        yield (
            f"groups {loss} mixed both",
            run(feature_groups=mixed, include=[0], exclude=[4, 5, 6]),
        )
        yield f"groups {loss} of one", run(feature_groups=np.arange(40))
        yield f"groups {loss} of equal size", run(feature_groups=np.arange(40) // 4)
        yield f"groups {loss} zero columns", top(4, zeros, y, loss=loss, feature_groups=mixed)
        yield (
            f"groups {loss} awkward columns",
            top(4, awkward(tall), y, loss=loss, feature_groups=mixed),
        )
        yield f"groups {loss} alpha=0", run(feature_groups=mixed, alpha=0.0)
        yield f"groups {loss} n_restarts=0", run(feature_groups=mixed, n_restarts=0)
        yield f"groups {loss} weights", run(feature_groups=mixed, sample_weight=tall.weights)
        yield (
            f"groups {loss} wide",
            top(3, wide.X, wide_y, loss=loss, feature_groups=np.arange(150) // 3),
        )
        yield (
            f"groups {loss} wider than samples",
            top(3, wide.X, wide_y, loss=loss, feature_groups=np.arange(150) // 15),
        )


def proofs() -> Settings:
    """TopK with ``certify=True``."""
    tall, wide, easy = drawn(80, 24, seed=8), drawn(40, 60, seed=9), drawn(60, 16, seed=10)
    close = drawn(100, 30, seed=11, noise=3.0)
    prove = partial(top, certify=True)
    squared, logistic = partial(prove, loss="squared"), partial(prove, loss="logistic")
    yield "proof squared tall", squared(5, tall.X, tall.number)
    yield "proof squared wide", squared(3, wide.X, wide.number, alpha=0.1)
    yield "proof squared wide several", squared(3, wide.X, wide.numbers, alpha=0.1)
    yield "proof squared classes", squared(3, tall.X, tall.four)
    yield "proof squared climbing", squared(6, close.X, close.number, alpha=1e-4)
    yield "proof squared climbing several", squared(5, close.X, close.numbers, alpha=1e-4)
    yield "proof squared alpha=0", squared(5, close.X, close.number, alpha=0.0)
    yield "proof squared alpha=0, few columns", squared(3, easy.X[:12], easy.number[:12], alpha=0.0)
    yield "proof squared alpha=0, wide", squared(6, wide.X, wide.number, alpha=0.0)
    yield "proof squared constraints", squared(5, close.X, close.number, include=[0], exclude=[2])
    yield "proof squared weights, clip", squared(4, tall.X, tall.number, tall.weights, clip=2.0)
    yield "proof squared not standardised", squared(4, tall.X, tall.number, standardize=False)
    yield "proof squared no intercept", squared(4, tall.X, tall.number, fit_intercept=False)
    yield "proof squared sparse float32", squared(4, sparse(tall.X).astype("f4"), tall.number)
    yield "proof squared awkward columns", squared(4, awkward(tall), tall.numbers)
    yield "proof squared awkward alpha=0", squared(4, awkward(tall), tall.number, alpha=0.0)
    yield "proof squared rough gap", squared(6, close.X, close.number, gap_tol=0.05)
    yield "proof squared n_restarts=0", squared(5, close.X, close.number, n_restarts=0)
    yield "proof squared diabetes", squared(4, *load_diabetes(return_X_y=True))
    yield "proof logistic two", logistic(3, easy.X, easy.two, alpha=0.01)
    yield "proof logistic four", logistic(2, easy.X, easy.four, alpha=0.01)
    yield "proof logistic labels", logistic(2, easy.X, easy.labels, alpha=0.01)
    yield "proof logistic wide", logistic(2, wide.X, wide.two, alpha=0.1)
    yield "proof logistic constraints", logistic(3, easy.X, easy.two, include=[1], exclude=[0, 4])
    yield "proof logistic weights", logistic(3, easy.X, easy.two, easy.weights, alpha=0.01)
    yield "proof logistic awkward", logistic(2, awkward(easy), easy.two, alpha=0.01)
    yield "proof logistic alpha=0", logistic(2, easy.X, easy.two, alpha=0.0)
    yield "proof logistic iris", logistic(2, *load_iris(return_X_y=True))


def sources() -> Settings:
    """Fits to Moments, blocks of rows and dask collections."""
    tall, wide = drawn(300, 30, seed=12), drawn(60, 20_001, seed=13)
    blocks = partial(rs.RowBlocks.from_arrays, rows=64)

    def moments(y: Any, **parameters: Any) -> Any:
        found = rs.Moments().update(tall.X[:100], y[:100]).update(tall.X[100:], y[100:])
        return rs.TopK(5, random_state=0, **parameters).fit_moments(found)

    def in_parts(y: Any, **parameters: Any) -> Any:
        selector = rs.TopK(5, random_state=0, **parameters)
        for rows in np.array_split(np.arange(300), 3):
            selector.partial_fit(tall.X[rows], y[rows])
        return selector

    def of_dask(y: Any) -> Any:
        import dask
        import dask.array as da

        with dask.config.set(scheduler="synchronous"):
            X, targets = da.from_array(tall.X, chunks=(90, 30)), da.from_array(y, chunks=90)
            return rs.TopK(5, random_state=0).fit(X, targets)

    yield "moments numbers", partial(moments, tall.numbers)
    yield "moments classes", partial(moments, tall.four)
    yield "moments proof", partial(moments, tall.number, certify=True)
    yield "moments groups", partial(moments, tall.number, feature_groups=np.arange(30) // 3)
    yield "partial_fit numbers", partial(in_parts, tall.number)
    yield "partial_fit classes", partial(in_parts, tall.two, include=[4])
    yield "blocks numbers", lambda: rs.TopK(5, random_state=0).fit(blocks(tall.X, tall.numbers))
    yield (
        "blocks class weights",
        lambda: rs.TopK(5, class_weight="balanced", random_state=0).fit(blocks(tall.X, tall.two)),
    )
    yield "blocks RFS", lambda: rs.RFS(5, gamma=1.0).fit(blocks(tall.X, tall.two))
    yield "blocks path", lambda: rs.topk_path(blocks(tall.X, tall.number), None, 4, random_state=0)
    yield (
        "blocks wide",
        lambda: rs.TopK(4, n_restarts=2, random_state=0).fit(blocks(wide.X, wide.number)),
    )
    yield "dask numbers", partial(of_dask, tall.number)
    yield "dask classes", partial(of_dask, tall.two)


def paths() -> Settings:
    """Paths of TopK and RFS."""
    tall, wide = drawn(90, 40, seed=14), drawn(40, 150, seed=15)
    groups = np.repeat(np.arange(16), [1, 2, 3, 4] * 4)

    def path(X: Any, y: Any, k_max: int, **parameters: Any) -> Setting:
        return lambda: rs.topk_path(X, y, k_max, **{"random_state": 0, **parameters})

    yield "path squared tall", path(tall.X, tall.numbers, 8)
    yield "path squared wide", path(wide.X, wide.number, 6, n_restarts=5)
    yield "path squared classes", path(tall.X, tall.four, 5, loss="squared")
    yield "path squared constraints", path(tall.X, tall.number, 6, include=[2, 3], exclude=[0])
    yield "path squared groups", path(tall.X, tall.number, 5, feature_groups=groups)
    yield "path squared awkward", path(awkward(tall), tall.number, 6)
    yield "path squared alpha=0", path(tall.X, tall.number, 6, alpha=0.0, n_restarts=3)
    yield "path squared sparse", path(sparse(tall.X), tall.number, 4)
    yield "path squared weights", path(tall.X, tall.number, 4, sample_weight=tall.weights)
    yield "path logistic two", path(tall.X, tall.two, 5)
    yield "path logistic four", path(tall.X, tall.four, 3, n_restarts=0)
    yield "path logistic groups", path(tall.X, tall.two, 3, feature_groups=groups)
    yield "path logistic constraints", path(tall.X, tall.two, 4, include=[1], exclude=[0])
    yield "path RFS", lambda: rs.rfs_path(tall.X, tall.four, n_gammas=6)


def meta() -> Settings:
    """Cross-validation and stability."""
    tall = drawn(90, 20, seed=16)

    def cv(y: Any, **parameters: Any) -> Setting:
        return lambda: rs.TopKCV(
            **{"k_max": 4, "cv": 3, "n_restarts": 1, "random_state": 0, **parameters}
        ).fit(tall.X, y)

    def stability(selector: Any, y: Any, **parameters: Any) -> Setting:
        return lambda: rs.StabilitySelection(
            selector, n_subsamples=6, random_state=0, **parameters
        ).fit(tall.X, y)

    yield "cv numbers", cv(tall.number)
    yield "cv several numbers", cv(tall.numbers, alphas=[0.01, 0.1, 1.0])
    yield "cv two", cv(tall.two)
    yield "cv four squared", cv(tall.four, loss="squared")
    yield "cv labels", cv(tall.labels, k_max=3)
    yield "cv best rule, accuracy", cv(tall.two, rule="best", scoring="accuracy")
    yield "cv ebic", cv(tall.number, rule="ebic")
    yield "cv groups", cv(tall.number, feature_groups=np.arange(20) // 2)
    yield "cv constraints", cv(tall.two, include=[0], exclude=[3, 4])
    yield "cv n_jobs=2", cv(tall.number, n_jobs=2)
    yield (
        "cv blocks",
        lambda: rs.TopKCV(k_max=4, cv=3, n_restarts=1, random_state=0).fit(
            rs.RowBlocks.from_arrays(tall.X, tall.number, rows=20)
        ),
    )
    search = rs.TopK(4, n_restarts=1)
    yield "stability numbers", stability(search, tall.number)
    yield "stability logistic", stability(search, tall.two)
    yield "stability threshold", stability(search, tall.number, threshold=0.7)
    yield "stability F statistic", stability(rs.get_selector("fstatistic", 4), tall.two)


def refusals() -> Settings:
    """What is refused, with its sentence."""
    data = drawn(30, 12, seed=17)
    groups = np.arange(12) // 3
    X, y = data.X, data.number
    holes = np.where(np.arange(12) == 5, np.nan, X)
    yield "refused k", top(13, X, y)
    yield "refused loss", top(3, X, y, loss="cubic")
    yield "refused logistic numbers", top(3, X, y, loss="logistic")
    yield "refused include", top(2, X, y, include=[0, 1, 2])
    yield "refused both", top(3, X, y, include=[0], exclude=[0])
    yield "refused out of range", top(3, X, y, exclude=[12])
    yield "refused groups", top(2, X, y, feature_groups=groups[:5])
    yield "refused groups k", top(5, X, y, feature_groups=groups)
    yield "refused l21 groups", top(2, X, y, loss="l21", feature_groups=groups)
    yield "refused l21 proof", top(2, X, y, loss="l21", certify=True)
    yield "refused holes", top(3, holes, y)
    yield "refused lengths", top(3, X, y[:-1])
    yield "refused one class", top(3, X, np.zeros(30, dtype=int), task="classification")
    yield "refused alpha", top(3, X, y, alpha=-1.0)
    yield "refused clip", top(3, X, y, clip=2.0, standardize=False)
    yield "warned gamma", top(3, X, y, gamma=1.0)
    yield "refused path", lambda: rs.topk_path(X, y, 13)
    yield "refused path loss", lambda: rs.topk_path(X, y, 3, loss="l21")
    yield (
        "refused moments",
        lambda: rs.TopK(2, loss="logistic").fit_moments(rs.Moments().update(X, data.two)),
    )
    yield "refused cv", lambda: rs.TopKCV(k_max=3, cv=40).fit(X, y)
    yield "unfitted", lambda: rs.TopK(3).get_support()


def hard() -> Settings:
    """Searches of many starts, and proofs of up to hundreds of subproblems."""
    long, short = drawn(90, 60, seed=23, noise=4.0), drawn(60, 200, seed=23, noise=4.0)
    for name, data, k in (("tall", long, 12), ("wide", short, 10)):
        yield f"hard search {name} number", top(k, data.X, data.number)
        yield f"hard search {name} number alpha=0", top(k, data.X, data.number, alpha=0.0)
        yield f"hard search {name} numbers alpha=0", top(k, data.X, data.numbers, alpha=0.0)
        for target in ("two", "four"):
            y = getattr(data, target)
            yield f"hard search {name} {target}", top(k, data.X, y, loss="logistic", n_restarts=8)
        groups = np.arange(data.X.shape[1]) // 3
        for loss, y in (("squared", data.numbers), ("logistic", data.four)):
            yield (
                f"hard groups {name} {loss}",
                top(k // 2, data.X, y, loss=loss, feature_groups=groups, n_restarts=10),
            )
    climbing, close = drawn(80, 30, seed=20, noise=6.0), drawn(100, 34, seed=20, noise=6.0)
    wide, classes = drawn(40, 60, seed=21, noise=4.0), drawn(60, 20, seed=22, noise=4.0)
    prove = partial(top, certify=True)
    yield "hard proof climbing", prove(8, climbing.X, climbing.number, alpha=1e-4)
    yield "hard proof climbing alpha=0", prove(8, climbing.X, climbing.number, alpha=0.0)
    yield "hard proof climbing several", prove(7, close.X, close.numbers, alpha=1e-4)
    yield (
        "hard proof climbing constraints",
        prove(8, climbing.X, climbing.number, alpha=1e-3, include=[0, 5], exclude=[9, 11]),
    )
    yield "hard proof wide", prove(4, wide.X, wide.number, alpha=0.2)
    yield "hard proof wide several", prove(4, wide.X, wide.numbers, alpha=0.2)
    for target in ("two", "four", "labels"):
        y = getattr(classes, target)
        yield f"hard proof {target}", prove(4, classes.X, y, loss="logistic", alpha=0.005)
        yield (
            f"hard proof {target} wide",
            prove(3, wide.X, getattr(wide, target), loss="logistic", alpha=0.05),
        )


def large() -> Settings:
    """Sizes at which searches and proofs take columns, rows and blocks of them in parts."""
    many, wide = drawn(600, 150, seed=24, noise=4.0), drawn(50, 9000, seed=25, noise=4.0)
    middle, small = drawn(50, 700, seed=26, noise=2.0), drawn(60, 20, seed=27)
    single = wide.X.astype(np.float32)
    yield "large search logistic four", top(18, many.X, many.four, loss="logistic")
    yield (
        "large search logistic constraints",
        top(17, many.X, many.four, loss="logistic", include=[3, 9], exclude=[1], n_restarts=4),
    )
    yield (
        "large path logistic",
        lambda: rs.topk_path(many.X, many.four, 6, n_restarts=1, random_state=0),
    )
    yield "large search squared", top(8, wide.X, wide.number)
    yield "large search squared float32", top(8, single, wide.numbers)
    yield "large search squared alpha=0", top(6, middle.X, middle.number, alpha=0.0)
    yield (
        "large groups squared",
        top(4, middle.X, middle.number, feature_groups=np.arange(700) // 3, n_restarts=5),
    )
    yield "large proof squared", top(3, middle.X, middle.number, alpha=0.5, certify=True)
    yield "large proof squared float32", top(3, single, wide.number, alpha=0.5, certify=True)
    yield "large proof logistic", top(2, many.X, many.two, alpha=0.05, certify=True)
    groups = np.repeat(np.arange(10), 2)
    for loss, y in (("squared", small.numbers), ("logistic", small.four)):
        yield f"nearly all {loss}", top(17, small.X, y, loss=loss)
        yield f"nearly all {loss} groups", top(9, small.X, y, loss=loss, feature_groups=groups)


def rough() -> Settings:
    """Searches of few starts for many columns of noise, which end at what their steps lead to."""
    for seed in range(20):
        data = drawn(300, 120, 100 + seed, noise=40.0)
        groups = np.arange(120) // 3
        run = partial(top, 14, data.X, alpha=1e-3, n_restarts=seed % 3)
        yield f"rough {seed} squared", run(data.number, loss="squared")
        yield f"rough {seed} squared numbers", run(data.numbers, loss="squared")
        yield f"rough {seed} logistic", run(data.two if seed % 2 else data.four, loss="logistic")
        few = partial(top, 6, data.X, alpha=1e-3, n_restarts=seed % 3, feature_groups=groups)
        yield f"rough {seed} groups squared", few(data.number, loss="squared")
        if seed < 8:
            yield f"rough {seed} groups logistic", few(data.two, loss="logistic")
            path = partial(rs.topk_path, data.X, k_max=8, n_restarts=0, random_state=0)
            yield f"rough {seed} path squared", partial(path, y=data.number)
            yield f"rough {seed} path logistic", partial(path, y=data.two)


def counts_survival_and_lists() -> Settings:
    """Counts and survival times, choices of groups that are proven, and near-optimal lists."""
    data, groups = drawn(80, 24, seed=28, noise=3.0), np.arange(24) // 2
    rng, level = np.random.default_rng(28), data.number / data.number.std()
    times = np.column_stack([rng.random(80) < 0.7, rng.exponential(np.exp(-level))])
    targets = {"poisson": rng.poisson(np.exp(level)), "cox": times}
    for loss, y in targets.items():
        run = partial(top, 4, data.X, y, loss=loss)
        yield f"search {loss}", run()
        yield f"search {loss} weights", run(data.weights)
        yield f"groups {loss}", run(feature_groups=groups)
        yield f"proof {loss}", run(certify=True)
        yield f"path {loss}", partial(rs.topk_path, data.X, y, 4, loss=loss, random_state=0)
    for loss, y in {"squared": data.numbers, "logistic": data.four, **targets}.items():
        least = partial(top, X=data.X, y=y, alpha=0.2, loss=loss)
        yield f"proof groups {loss}", least(2, feature_groups=groups, certify=True)
        yield f"near {loss}", near(data.X, y, alpha=0.2, loss=loss)


def near(X: Any, y: Any, **parameters: Any) -> Setting:
    """The choices of three features within a tenth of the least objective."""
    return lambda: rs.NearOptimal(
        rs.TopK(3, random_state=0, **parameters), tolerance=0.1, max_choices=50
    ).fit(X, y)


def at_random(seed: int) -> tuple[str, Setting]:
    """A TopK with everything drawn: data, targets, kind of numbers and parameters."""
    rng = np.random.default_rng([seed, 1])

    def either(*choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    n, d, k = rng.integers(15, 60), rng.integers(12, 30), int(rng.integers(1, 6))
    data = drawn(int(n), int(d), seed, noise=either(0.5, 4.0))
    target = either("number", "numbers", "two", "four", "labels")
    loss = "squared" if target.startswith("number") else either("squared", "logistic")
    X = either(lambda: data.X, lambda: awkward(data), lambda: sparse(data.X))()
    X = either(X, X, X.astype(np.float32))
    columns = rng.permutation(d)
    kind = either("search", "groups", "proof")
    parameters: dict[str, Any] = {
        "alpha": either("auto", 0.0, 1e-3, 0.03, 1.0),
        "n_restarts": either(0, 3, "auto"),
        "fit_intercept": either(True, True, False),
        "standardize": either(True, True, False),
        "include": either(None, columns[: rng.integers(1, k + 1)].tolist()),
        "exclude": either(None, columns[k : k + 5].tolist()),
    }
    if kind == "groups":
        k = min(k, 3)
        groups = rng.integers(0, 8, size=d)
        parameters |= {"feature_groups": groups, "include": None}
        parameters["exclude"] = either(None, [int(groups[0])])
    weights = either(None, data.weights)
    fit = top(
        k, X, getattr(data, target), weights, loss=loss, certify=kind == "proof", **parameters
    )
    return f"drawn {seed} {kind} {loss} {target}", fit


# ------------------------------------------------------------------------------- the answers
def answer(call: Setting) -> dict[str, Any]:
    """What a call returns, or its error, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = plain(call())
        except Exception as error:
            result = {"error": f"{type(error).__name__}: {error}"}
    if not isinstance(result, dict):
        result = {"result": result}
    found = [f"{w.category.__name__}: {w.message}" for w in caught]
    return {**result, "warnings": found} if found else result


def plain(value: Any) -> Any:
    """A value as JSON: arrays and floats bit by bit, objects of the library by their attributes."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | np.ndarray | np.generic):
        return numbers(np.asarray(value))
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items() if key not in TIMES}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if type(value).__module__.startswith("rowsparse."):
        return of_object(value)
    return type(value).__name__


def numbers(array: np.ndarray) -> Any:
    """An array with its bytes, which are those of its floats; a list if it has no numbers."""
    if array.dtype.kind not in "biuf":
        return array.tolist() if array.dtype.kind in "US" else [str(x) for x in array.ravel()]
    data = b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}


def of_object(value: Any) -> Any:
    """What was fitted, or the public attributes of what is no estimator."""
    if hasattr(value, "steps") and hasattr(value, "statement"):
        return of_proof(value)
    if hasattr(value, "get_support"):
        value.get_support()  # after partial_fit the fit is made here
    if hasattr(value, "fit"):
        names = [name for name in dir(value) if name.endswith("_") and not name.startswith("_")]
    else:
        names = [name for name in vars(value) if not name.startswith("_")]
    known = {name: getattr(value, name) for name in names if hasattr(value, name)}
    return plain(known)


def of_proof(proof: Any) -> Any:
    """A proof with its steps as a digest of what is whole numbers, and the floats of all duals."""
    digest, duals = sha256(), []
    for step in proof.steps:
        whole = (int(step.kind), step.feature, step.out, step.fixed)
        features = None if step.dual is None else step.dual.features
        digest.update(json.dumps([as_list(part) for part in (*whole, features)]).encode())
        if step.dual is not None:
            duals.append(np.ravel(step.dual.V))
    rest = {name: part for name, part in vars(proof).items() if name != "steps"}
    return {
        **{name: plain(part) for name, part in rest.items()},
        "n_steps": len(proof.steps),
        "steps": digest.hexdigest(),
        "duals": plain(np.concatenate(duals)) if duals else None,
    }


def as_list(part: Any) -> Any:
    return None if part is None else np.asarray(part).tolist()


def main(parts: list[str]) -> None:
    known = {
        name: answer(call)
        for name, call in settings()
        if not parts or any(part in name for part in parts)
    }
    print(json.dumps(known))


if __name__ == "__main__":
    main(sys.argv[1:])
