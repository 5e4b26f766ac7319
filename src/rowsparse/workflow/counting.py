"""How many features: the score over k by cross-validation, and the k that it suggests."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse._threads import one_blas_thread
from rowsparse._validation import check_number
from rowsparse.evaluation import METRICS, evaluate_split
from rowsparse.selectors import TopK, TopKCV, topk_path
from rowsparse.selectors.base.score import ScoreSelector
from rowsparse.selectors.meta.cross_validation import choose
from rowsparse.workflow.errors import InputError
from rowsparse.workflow.methods import Plan
from rowsparse.workflow.results import KCurve
from rowsparse.workflow.running import Progress, in_threads, silent, threads
from rowsparse.workflow.validation import judges

__all__ = ["choose_count", "counts_around", "path_curve", "score_curve"]

_GRID = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500)
_SCORING = {"accuracy": "accuracy", "macro_f1": "f1_macro", "r2": "r2"}

# Shares of the k asked for at which the score is told too: of methods that are quick at each k,
# of those that are not, and of large tables, where more features than asked for take long.
_SHARES, _FEW_SHARES, _SMALLER = (0.25, 0.5, 1.5), (0.5, 1.5), (0.25, 0.5, 0.75)

Splits = list[tuple[Index, Index]]


def choose_count(
    plan: Plan,
    k_max: int,
    splits: Splits,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress = silent,
) -> KCurve:
    """The fewest features whose score is within one standard error of the best.

    TopK goes through every k up to ``k_max`` by its path, other methods through a grid.
    """
    check_number("--k-max", k_max, low=1, integer=True)
    if plan.info.cls is TopK:
        curve, _ = path_curve(plan, k_max, splits, seed=seed, n_jobs=n_jobs, progress=progress)
        return curve
    return _grid_curve(plan, k_max, splits, seed=seed, n_jobs=n_jobs, progress=progress)


def path_curve(
    plan: Plan,
    k_max: int,
    splits: Splits,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress = silent,
) -> tuple[KCurve, Any]:
    """Scores of the path of TopK, and the path on all samples."""
    table = plan.table
    names = ("alpha", "include", "exclude", "groups", "task")
    options = {name: plan.params[name] for name in names if name in plan.params}
    k_max = min(k_max, plan.n_free)
    if plan.n_forced > k_max:
        raise InputError(f"--include has {plan.n_forced} columns, more than --k-max {k_max}.")
    metric = METRICS[table.task][0]
    progress(f"The best features for every k up to {k_max}")
    with one_blas_thread(not table.is_large):
        path = topk_path(table.X, table.y, k_max, random_state=seed, **options)
    progress(f"Cross-validation over k, {len(splits)} folds")
    workers = threads(n_jobs)
    with warnings.catch_warnings(), one_blas_thread(workers > 1):
        warnings.simplefilter("ignore")
        chooser = TopKCV(
            k_max, cv=splits, scoring=_SCORING[metric], rule="best", n_restarts=0,
            n_jobs=workers, random_state=seed, **options,
        )  # fmt: skip
        results = chooser.fit(table.X, table.y).cv_results_
    scores = np.array([results[f"split{at}_test_score"] for at in range(len(splits))])
    return score_curve(metric, path.ks.tolist(), scores, tuple(path.objectives.tolist())), path


def _grid_curve(
    plan: Plan, k_max: int, splits: Splits, *, seed: int, n_jobs: int | None, progress: Progress
) -> KCurve:
    table = plan.table
    ks = [k for k in _GRID if k <= min(k_max, plan.table.n_units)]
    metric = METRICS[table.task][0]
    (name, judge), *_ = judges(table.task, table.X.shape[0]).items()
    what = f"Cross-validation over k, {len(splits)} folds"
    progress(what, 0.0)

    def one(at: int) -> list[Any]:
        part = [(at, splits[at])]
        return evaluate_split(
            plan.quick(1), table.X, table.y, part, ks, {name: judge}, name=plan.name,
            task=table.task, seed=seed,
        )  # fmt: skip

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = in_threads(
            [partial(one, at) for at in range(len(splits))],
            n_jobs,
            lambda count: progress(what, count / len(splits)),
        )
    scores = np.array([[record.scores[metric] for record in records] for records in runs])
    return score_curve(metric, ks, scores)


def counts_around(plan: Plan, k: int, n_train: int) -> list[int]:
    """Numbers of features to score beside k, for the reader who wonders about it.

    None below those that must be selected, and none above k that the training samples could
    not tell apart.
    """
    if plan.info.kind == "deep":
        return []
    quick = plan.info.cls is TopK or issubclass(plan.info.cls, ScoreSelector)
    shares = _SMALLER if plan.table.is_large else _SHARES if quick else _FEW_SHARES
    least, most = max(plan.n_forced, 1), min(plan.n_free, n_train - 1)
    around = {max(round(share * k), 1) for share in shares} - {k}
    return sorted(count for count in around if least <= count <= max(most, k))


def score_curve(
    metric: str,
    ks: Sequence[int],
    scores: Array,
    objective: tuple[float, ...] | None = None,
    taken: int | None = None,
) -> KCurve:
    """From scores of shape (n_splits, n_ks); ``taken`` is the k that was asked for, if any."""
    table, alphas = scores[:, None, :], np.zeros(1)
    best = choose(table, alphas, one_std_err=False)[1]
    chosen = choose(table, alphas, one_std_err=True)[1]
    return KCurve(
        metric=metric,
        ks=tuple(ks),
        mean=tuple(scores.mean(axis=0).tolist()),
        sd=tuple(scores.std(axis=0).tolist()),
        objective=objective,
        best_k=ks[best],
        chosen_k=ks[chosen] if taken is None else taken,
    )
