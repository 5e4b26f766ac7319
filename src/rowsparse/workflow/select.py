"""Select features from a table, and find out all that can be said of the choice."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rowsparse._arrays import Index
from rowsparse._compat import HAS_CALLBACKS
from rowsparse._threads import one_blas_thread
from rowsparse._validation import check_number
from rowsparse.evaluation import METRICS
from rowsparse.selectors import StabilitySelection
from rowsparse.workflow.counting import choose_count, counts_around, score_curve
from rowsparse.workflow.describing import (
    class_means,
    correlations,
    distributions,
    order_of,
    ranked,
    units_of,
)
from rowsparse.workflow.errors import InputError, one_line
from rowsparse.workflow.methods import Plan, make_plan
from rowsparse.workflow.results import Certificate, KCurve, ProgressPoint, SelectionResult
from rowsparse.workflow.running import (
    Clock,
    Progress,
    silent,
    thread_backend,
    threads,
    told,
    versions,
)
from rowsparse.workflow.table import Table
from rowsparse.workflow.validation import Validation, cross_validate, table_folds

__all__ = ["default_subsamples", "select"]

# Subsamples for the selection frequencies: fewer of a large table.
_SUBSAMPLES, _FEW_SUBSAMPLES = 20, 5
_MOST_POINTS = 400


def select(
    table: Table,
    k: int | str,
    *,
    method: str = "topk",
    certify: bool = False,
    keep_proof: bool = False,
    alpha: float | None = None,
    include: str | None = None,
    exclude: str | None = None,
    cv: int = 5,
    stability: int | None = None,
    time_limit: float | None = None,
    k_max: int = 30,
    image_shape: tuple[int, int] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    settings: dict[str, Any] | None = None,
    progress: Progress = silent,
) -> SelectionResult:
    """Select k features from a table.

    Parameters
    ----------
    table : Table
        See :func:`rowsparse.workflow.table.read_table`.
    k : int or "auto"
        Number of features; "auto" chooses it by cross-validation, up to ``k_max``.
    method : str, default="topk"
        Name of a selector.
    certify, keep_proof, alpha, time_limit
        As in :class:`rowsparse.TopK`.
    include, exclude : str, optional
        Names of columns that must or must not be selected, with commas between.
    cv : int, default=5
        Number of folds; 0 leaves cross-validation out.
    stability : int, optional
        Number of subsamples for the selection frequencies; 0 leaves them out.
    image_shape : tuple of int, optional
        Height and width, where the features are the pixels of an image.
    seed : int, default=0
        For everything that is drawn.
    n_jobs : int, optional
        Number of threads; the answer is the same for any.
    settings : dict, optional
        Kept in the result as they are.
    progress : callable
        See :class:`rowsparse.workflow.running.Progress`.

    Returns
    -------
    SelectionResult
    """
    plan = make_plan(
        table, method, certify=certify, keep_proof=keep_proof, alpha=alpha, include=include,
        exclude=exclude, time_limit=time_limit, seed=seed,
    )  # fmt: skip
    _check(plan.table, k, cv, stability, image_shape)
    run = _Run(
        plan,
        table_folds(plan.table, cv, seed) if cv else [],
        default_subsamples(plan) if stability is None else stability,
        seed,
        n_jobs,
        progress,
    )
    with one_blas_thread(not plan.table.is_large):
        result = run.result(k, k_max)
        means = None if image_shape is None else class_means(plan.table)
    return replace(
        result, settings=dict(settings or {}), image_shape=image_shape, class_means=means
    )


def default_subsamples(plan: Plan) -> int:
    """How many subsamples to draw unless told otherwise."""
    if plan.info.kind == "deep":
        return 0
    return _FEW_SUBSAMPLES if plan.table.is_large else _SUBSAMPLES


def _check(
    table: Table, k: int | str, cv: int, stability: int | None, image: tuple[int, int] | None
) -> None:
    d = table.X.shape[1]
    if k == "auto":
        if not cv:
            raise InputError("-k auto needs cross-validation: --cv must be at least 2.")
    else:
        check_number("-k", k, low=1, integer=True)
        if int(k) > table.n_units:
            raise InputError(f"-k {k} is more than the {table.n_units:,} columns to select from.")
    check_number("--stability", stability, low=0, integer=True, optional=True)
    if stability == 1:
        raise InputError("--stability needs at least 2 subsamples, or 0 for none.")
    if image is not None and image[0] * image[1] != d:
        raise InputError(
            f"--image {image[0]}x{image[1]} has {image[0] * image[1]:,} pixels, but the table has "
            f"{d:,} columns to select from."
        )


# ------------------------------------------------------------------------------ the selection
class _Watcher:
    """Hears of every iteration of a fit: keeps the points, and tells the progress."""

    def __init__(self, what: str, progress: Progress) -> None:
        self.what, self.progress = what, progress
        self.points: list[ProgressPoint] = []
        self.start = time.perf_counter()

    def setup(self, estimator: Any, context: Any) -> None:
        self.start = time.perf_counter()

    def teardown(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any, *, metadata: Any = None) -> bool:
        if not metadata or "objective" not in metadata:
            return False
        bound = metadata.get("lower_bound")
        objective = float(metadata["objective"])
        passed = time.perf_counter() - self.start
        self.points.append(
            ProgressPoint(passed, objective, None if bound is None else float(bound))
        )
        words = f"{self.what}, objective {objective:.4g}"
        if bound is not None and objective > 0:
            words += f", proven to within {100 * max(objective - bound, 0) / objective:.2g} %"
        self.progress(words)
        return False

    def thinned(self) -> tuple[ProgressPoint, ...]:
        """As many points as a figure can show, the last among them."""
        if len(self.points) <= _MOST_POINTS:
            return tuple(self.points)
        at = np.unique(np.linspace(0, len(self.points) - 1, _MOST_POINTS).astype(int))
        return tuple(self.points[i] for i in at.tolist())


@dataclass
class _Run:
    """The steps of one selection, with their times and what the user should know of them."""

    plan: Plan
    splits: list[tuple[Index, Index]]
    n_subsamples: int
    seed: int
    n_jobs: int | None
    progress: Progress
    clock: Clock = field(default_factory=Clock)
    notes: dict[str, None] = field(default_factory=dict)
    converged: bool = True

    def result(self, k: int | str, k_max: int) -> SelectionResult:
        """Go through all steps."""
        plan, table = self.plan, self.plan.table
        curve = self.curve(k_max) if k == "auto" else None
        count = int(curve.chosen_k if curve is not None else k)
        selector, points = self.fitted(count)
        order = order_of(selector)
        validation = self.validated(count, with_others=curve is None)
        if curve is None and validation is not None and len(validation.ks) > 1:
            curve = score_curve(validation.metric, validation.ks, validation.over_k, taken=count)
        resampled = self.resampled(count)
        with self.clock.step("describe"):
            self.progress("Describing the features")
            units = units_of(table.X)
            among, alternatives = correlations(table, order, units)
            features = ranked(table, selector, order, units, resampled)
            spread = distributions(table, order)
        return SelectionResult(
            data=table.summary(),
            method=plan.name,
            method_reference=plan.info.reference,
            k=order.size,
            k_was_chosen=k == "auto",
            settings={},
            versions=versions(),
            features=features,
            certificate=_certificate(selector),
            metric=METRICS[table.task][0],
            score=math.nan if validation is None else float(validation.scores.mean()),
            score_sd=math.nan if validation is None else float(validation.scores.std()),
            baseline_score=math.nan if validation is None else validation.baseline,
            chance_score=math.nan if validation is None else validation.chance,
            curve=curve,
            correlation=among,
            alternatives=alternatives,
            distributions=spread,
            stability=_stability(resampled),
            progress=points,
            confusion=None if validation is None else validation.confusion,
            seconds=self.clock.seconds,
            warnings=tuple(self.notes),
            objective=float(getattr(selector, "objective_", math.nan)),
            converged=self.converged,
            proof=selector.proof_ if plan.params.get("keep_proof") else None,
        )

    def note(self, sentence: str) -> None:
        """Keep a sentence for the user, once."""
        self.notes[sentence] = None

    def curve(self, k_max: int) -> KCurve:
        """The score over k."""
        with self.clock.step("choose k"):
            curve = choose_count(
                self.plan,
                k_max,
                self.splits,
                seed=self.seed,
                n_jobs=self.n_jobs,
                progress=self.progress,
            )
        self.note(
            "The number of features was chosen on the same folds as the score: it may be a little "
            "too good."
        )
        return curve

    def fitted(self, k: int) -> tuple[Any, tuple[ProgressPoint, ...]]:
        """The selector on all samples, and how it got there."""
        table = self.plan.table
        what = f"{self.plan.name}: selecting {k} of {table.X.shape[1]:,} features"
        self.progress(what)
        selector, watcher = self.plan.selector(k), _Watcher(what, self.progress)
        if HAS_CALLBACKS and hasattr(selector, "set_callbacks"):
            selector.set_callbacks(watcher)
        with self.clock.step("select"), told() as heard:
            selector.fit(table.X, table.y)
        self.progress(what)
        self.converged = heard.converged and bool(getattr(selector, "converged_", True))
        for sentence in heard.sentences:
            self.note(sentence)
        return selector, watcher.thinned()

    def validated(self, k: int, *, with_others: bool) -> Validation | None:
        """The score on held-out folds, of some other numbers of features too if asked for."""
        if not self.splits:
            return None
        n_train = min(train.size for train, _ in self.splits)
        also = counts_around(self.plan, k, n_train) if with_others else []
        try:
            with self.clock.step("validate"):
                return cross_validate(
                    self.plan.table,
                    self.plan.quick(k),
                    k,
                    self.splits,
                    also=also,
                    n_jobs=self.n_jobs,
                    progress=self.progress,
                )
        except ValueError as error:
            self.note(f"No cross-validated score: {one_line(error)}")
            return None

    def resampled(self, k: int) -> StabilitySelection | None:
        """How often each feature is selected from subsamples."""
        m = self.n_subsamples
        if not m:
            return None
        self.progress(f"Selecting again from {m} subsamples")
        again = StabilitySelection(self.plan.quick(k), n_subsamples=m, random_state=self.seed)
        try:
            with self.clock.step("resample"), told(), thread_backend(threads(self.n_jobs)):
                return again.fit(self.plan.table.X, self.plan.table.y)
        except ValueError as error:
            self.note(f"No selection frequencies: {one_line(error)}")
            return None


def _stability(resampled: StabilitySelection | None) -> tuple[float, float, float] | None:
    if resampled is None:
        return None
    low, high = resampled.stability_interval_
    return (resampled.stability_, low, high)


def _certificate(selector: Any) -> Certificate | None:
    if not hasattr(selector, "status_"):
        return None
    return Certificate(
        status=selector.status_,
        objective=float(selector.objective_),
        lower_bound=float(selector.lower_bound_),
        gap=float(selector.gap_),
        n_nodes=int(getattr(selector, "n_nodes_", 0)),
    )
