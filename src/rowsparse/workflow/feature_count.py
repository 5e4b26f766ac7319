"""How many features: the score over k by cross-validation, and the k that it suggests."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse._threads import one_blas_thread
from rowsparse.evaluation import METRICS, evaluate_split
from rowsparse.selectors import TopK, TopKCV, topk_path
from rowsparse.selectors.base.selector import ScoreSelector
from rowsparse.selectors.meta.cross_validation import choose
from rowsparse.workflow.cross_validation import judges
from rowsparse.workflow.messages import InputError, setting
from rowsparse.workflow.plan import Plan
from rowsparse.workflow.results import KCurve
from rowsparse.workflow.run_log import ProgressCallback, silent
from rowsparse.workflow.settings import EvaluationSettings
from rowsparse.workflow.threads import in_threads, thread_count

__all__ = ["choose_count", "counts_around", "path_curve", "score_curve"]

_GRID = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500)
_SCORING = {"accuracy": "accuracy", "macro_f1": "f1_macro", "r2": "r2"}

# Multiples of the k asked for that are scored too: by methods that are quick at each k, by those
# that are not, and for large tables, where more features than asked for take long.
_SHARES, _FEW_SHARES, _SMALLER = (0.25, 0.5, 1.5), (0.5, 1.5), (0.25, 0.5, 0.75)

Splits = list[tuple[Index, Index]]


def choose_count(
    plan: Plan,
    k_max: int,
    splits: Splits,
    settings: EvaluationSettings,
    progress: ProgressCallback = silent,
) -> KCurve:
    """The fewest features whose score is within one standard error of the best.

    TopK tries every k up to ``k_max`` along its path, other methods those of a grid.
    """
    if plan.info.cls is TopK:
        return path_curve(plan, k_max, splits, settings, progress)[0]
    return _grid_curve(plan, k_max, splits, settings, progress)


def path_curve(
    plan: Plan,
    k_max: int,
    splits: Splits,
    settings: EvaluationSettings,
    progress: ProgressCallback = silent,
) -> tuple[KCurve, Any]:
    """Scores of the path of TopK, and the path on all samples."""
    table = plan.table
    names = ("alpha", "include", "exclude", "feature_groups", "task")
    options = {name: plan.params[name] for name in names if name in plan.params}
    options["random_state"] = settings.seed
    k_max = min(k_max, plan.n_free)
    if plan.n_forced > k_max:
        raise InputError(
            f"{setting('include')} has {plan.n_forced} columns, more than "
            f"{setting('k_max', k_max)}."
        )
    metric = METRICS[table.task][0]
    progress(f"The best features for every k up to {k_max}")
    with one_blas_thread(not table.is_large):
        path = topk_path(table.X, table.y, k_max, **options)
    progress(f"Cross-validation over k, {len(splits)} folds")
    workers = thread_count(settings.n_jobs)
    options |= {"cv": splits, "scoring": _SCORING[metric], "rule": "best"}
    chooser = TopKCV(k_max, n_restarts=0, n_jobs=workers, **options)
    with warnings.catch_warnings(), one_blas_thread(workers > 1):
        warnings.simplefilter("ignore")
        results = chooser.fit(table.X, table.y).cv_results_
    scores = np.array([results[f"split{at}_test_score"] for at in range(len(splits))])
    return score_curve(metric, path.ks.tolist(), scores, tuple(path.objectives.tolist())), path


def _grid_curve(
    plan: Plan, k_max: int, splits: Splits, settings: EvaluationSettings, progress: ProgressCallback
) -> KCurve:
    table = plan.table
    ks = [k for k in _GRID if k <= min(k_max, plan.table.n_units)]
    metric = METRICS[table.task][0]
    (name, judge), *_ = judges(table.task, table.X.shape[0]).items()
    what = f"Cross-validation over k, {len(splits)} folds"
    progress(what, 0.0)

    def fold_scores(at: int) -> list[float]:
        records = evaluate_split(
            plan.quick(1),
            table.X,
            table.y,
            [(at, splits[at])],
            ks,
            {name: judge},
            name=plan.name,
            task=table.task,
            seed=settings.seed,
        )
        return [record.scores[metric] for record in records]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = in_threads(
            [partial(fold_scores, at) for at in range(len(splits))],
            settings.n_jobs,
            lambda count: progress(what, count / len(splits)),
        )
    return score_curve(metric, ks, np.array(scores))


def counts_around(plan: Plan, k: int, n_train: int) -> list[int]:
    """Numbers of features to score beside k.

    Not fewer than must be selected; not more than k if there are too few training samples.
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
    """The curve of scores of shape (n_splits, n_ks); ``taken`` is the k asked for, if any."""
    table, alphas = scores[:, None, :], np.zeros(1)
    best = choose(table, alphas, one_std_err=False)[1]
    enough = choose(table, alphas, one_std_err=True)[1]
    return KCurve(
        metric=metric,
        ks=tuple(ks),
        mean=tuple(scores.mean(axis=0).tolist()),
        sd=tuple(scores.std(axis=0).tolist()),
        objective=objective,
        best_k=ks[best],
        enough_k=ks[enough],
        chosen_k=ks[enough] if taken is None else taken,
    )
