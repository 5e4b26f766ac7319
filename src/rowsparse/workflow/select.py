"""Select features from a table, and describe and score the selection."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from rowsparse._arrays import Index
from rowsparse._compat import HAS_CALLBACKS
from rowsparse._threads import one_blas_thread
from rowsparse.evaluation.supports import strongest_first
from rowsparse.selectors import StabilitySelection, stability
from rowsparse.workflow.class_scores import class_scores
from rowsparse.workflow.cross_validation import (
    Validation,
    check_folds,
    confusion,
    cross_validate,
    score_metric,
)
from rowsparse.workflow.feature_count import counts_around, counts_up_to, score_curve
from rowsparse.workflow.feature_descriptions import (
    class_means,
    correlations,
    distributions,
    ranked,
    units_of,
)
from rowsparse.workflow.fit_model import fit_model
from rowsparse.workflow.folds import Splits, fold_notes, table_folds
from rowsparse.workflow.leakage import Leaks, find_leaks
from rowsparse.workflow.messages import InputError, one_line, setting, shown
from rowsparse.workflow.model import SavedModel
from rowsparse.workflow.plan import Plan, make_plan
from rowsparse.workflow.results import (
    Certificate,
    KCurve,
    ProgressPoint,
    SelectionResult,
    Verdict,
)
from rowsparse.workflow.run_log import (
    ProgressCallback,
    StepTimer,
    collect_warnings,
    recorded,
    silent,
    versions,
)
from rowsparse.workflow.settings import SelectSettings
from rowsparse.workflow.table import Table
from rowsparse.workflow.threads import thread_backend, thread_count
from rowsparse.workflow.univariate import univariate
from rowsparse.workflow.verdict import imbalance_warning

__all__ = ["select"]

# Default number of subsamples for the selection frequencies: of a table, and of a large one.
_SUBSAMPLES, _FEW_SUBSAMPLES = 20, 5
_MOST_POINTS = 400
# Fewer groups of samples have too few different halves.
_LEAST_GROUPS = 4


def select(
    table: Table, settings: SelectSettings, *, progress: ProgressCallback = silent
) -> SelectionResult:
    """Select k features from a table.

    Parameters
    ----------
    table : Table
        See :func:`rowsparse.workflow.table.read_table`.
    settings : SelectSettings
        Number of features, method, folds, subsamples.
    progress : callable
        See :class:`rowsparse.workflow.run_log.ProgressCallback`.

    Returns
    -------
    SelectionResult
    """
    plan = make_plan(table, settings, settings.seed)
    if plan.adjusted and not plan.accepts("include"):
        raise InputError(
            f"{plan.name} has no {setting('adjust')}: leave it out, or take "
            f"{setting('method', 'topk')}."
        )
    table = plan.table
    if settings.k != "auto":
        plan.check(settings.k)
    if settings.image_shape is not None:
        _check_image(settings.image_shape, table.X.shape[1])
    metric = score_metric(table, settings.metric)
    splits = table_folds(table, settings) if settings.cv else []
    check_folds(table, splits, metric)
    run = _Run(plan, settings, splits, progress)
    with one_blas_thread(not table.is_large):
        result = run.result()
        if settings.image_shape is None:
            return result
        return replace(result, image_shape=settings.image_shape, class_means=class_means(table))


def _check_image(shape: tuple[int, int], d: int) -> None:
    """Refuse an image with other pixels than there are columns."""
    if math.prod(shape) != d:
        raise InputError(
            f"{setting('image_shape', tuple(shape))} has {math.prod(shape):,} pixels, but the "
            f"table has {d:,} columns to select from."
        )


# ------------------------------------------------------------------------------ the selection
class _FitRecorder:
    """A callback of scikit-learn that records each iteration of a fit and shows the progress."""

    def __init__(self, what: str, progress: ProgressCallback) -> None:
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
    """The steps of one selection, with their seconds and warnings."""

    plan: Plan
    settings: SelectSettings
    splits: Splits
    progress: ProgressCallback
    timer: StepTimer = field(default_factory=StepTimer)
    warnings: dict[str, None] = field(default_factory=dict)
    converged: bool = True

    @cached_property
    def leaks(self) -> Leaks:
        """Columns that may hold what is to be predicted."""
        with self.timer.step("leakage"):
            return find_leaks(self.plan)

    def result(self) -> SelectionResult:
        """Run all steps."""
        for sentence in self.leaks.sentences():
            self.warn(sentence)
        plan, table, k = self.plan, self.plan.table, self.settings.k
        validation, curve = self.validated()
        count = int(curve.chosen_k if curve is not None and k == "auto" else k)
        scores = np.full(1, np.nan) if validation is None else validation.of(count)
        verdict = self.verdict(validation, count)
        selector, points = self.fitted(count)
        every = strongest_first(selector)
        order = every[~np.isin(every, plan.adjusted)]
        beside = np.array(plan.adjusted, dtype=np.intp)
        resampled = self.resampled(count)
        with self.timer.step("describe"):
            self.progress("Describing the features")
            units = units_of(table.X)
            among, alternatives = correlations(table, order, units, beside)
            tests = univariate(table)
            features = ranked(table, selector, order, units, resampled, plan.forced, tests)
            covariates = ranked(table, selector, beside, units) if beside.size else ()
            spread = distributions(table, order)
        model = self.model(selector, np.concatenate([order, beside]))
        return SelectionResult(
            data=replace(
                table.summary(),
                n_features=plan.n_units,
                leaks=self.leaks.names,
                notes=(*table.notes, *fold_notes(table, self.settings)),
            ),
            method=plan.name,
            method_reference=plan.info.reference,
            k=plan.units_among(order).size,
            k_was_chosen=k == "auto",
            settings=recorded(self.settings, plan.parameters() | {"stability": self.n_subsamples}),
            versions=versions(),
            features=features,
            covariates=covariates,
            covariate_score=math.nan if validation is None else validation.adjusted,
            certificate=_certificate(selector),
            metric=score_metric(table, self.settings.metric),
            score=float(scores.mean()),
            score_sd=float(scores.std()),
            baseline_score=math.nan if validation is None else validation.baseline,
            chance_score=math.nan if validation is None else float(validation.chance.mean()),
            curve=curve,
            correlation=among,
            alternatives=alternatives,
            distributions=spread,
            stability=_stability(resampled, plan, count),
            progress=points,
            confusion=None
            if validation is None
            else confusion(table, self.splits, validation, count),
            seconds=self.timer.seconds,
            warnings=tuple(self.warnings),
            objective=float(getattr(selector, "objective_", math.nan)),
            converged=self.converged,
            proof=getattr(selector, "proof_", None),
            n_forced=plan.n_forced,
            verdict=verdict,
            model=model,
            tests=tests,
            class_scores=()
            if validation is None
            else class_scores(table, self.splits, validation, count),
        )

    def warn(self, sentence: str) -> None:
        """Add a sentence to the warnings, once."""
        self.warnings[sentence] = None

    def fitted(self, k: int) -> tuple[Any, tuple[ProgressPoint, ...]]:
        """The selector fitted to all samples, and the progress of the fit."""
        table = self.plan.table
        what = f"{self.plan.name}: selecting {k} of {table.X.shape[1]:,} features"
        self.progress(what)
        selector, recorder = self.plan.selector(k), _FitRecorder(what, self.progress)
        if HAS_CALLBACKS and hasattr(selector, "set_callbacks"):
            selector.set_callbacks(recorder)
        with self.timer.step("select"), collect_warnings() as found:
            selector.fit(table.X, table.y)
        self.progress(what)
        self.converged = found.converged and bool(getattr(selector, "converged_", True))
        for sentence in found.sentences:
            self.warn(sentence)
        return selector, recorder.thinned()

    def validated(self) -> tuple[Validation | None, KCurve | None]:
        """Cross-validated scores, and the curve of them where there are several k."""
        if not self.splits:
            return None, None
        k, settings = self.settings.k, self.settings
        if k == "auto":
            ks = counts_up_to(self.plan, settings.k_max)
        else:
            ks = [k, *counts_around(self.plan, k, min(len(train) for train, _ in self.splits))]
        try:
            with self.timer.step("validate"):
                found = cross_validate(
                    self.plan,
                    ks,
                    self.splits,
                    metric=settings.metric,
                    n_jobs=settings.n_jobs,
                    progress=self.progress,
                )
        except ValueError as error:
            if k == "auto":
                raise
            self.warn(f"No cross-validated score: {one_line(error)}")
            return None, None
        if k == "auto":
            self.warn(
                "The number of features was chosen on the same folds as the score: it may be a "
                "little too good."
            )
            return found, score_curve(found.metric, found.ks, found.scores, n_folds=settings.cv)
        several = len(found.ks) > 1
        curve = score_curve(found.metric, found.ks, found.scores, k, settings.cv)
        return found, curve if several else None

    def verdict(self, validation: Validation | None, k: int) -> Verdict | None:
        """Whether k features predict better than guessing; a warning if that is hard to tell."""
        if validation is None:
            return None
        warning = imbalance_warning(self.plan.table)
        if warning is not None:
            self.warn(warning)
        return validation.verdict(self.plan.table, self.splits, k)

    @property
    def n_subsamples(self) -> int:
        """How many subsamples there are, by default fewer of a large table."""
        if self.settings.stability is not None:
            return self.settings.stability
        if self.plan.info.kind == "deep":
            return 0
        return _FEW_SUBSAMPLES if self.plan.table.is_large else _SUBSAMPLES

    def model(self, selector: Any, order: Index) -> SavedModel | None:
        """The linear model on the selected features, fitted to all samples."""
        try:
            with self.timer.step("model"):
                metric = score_metric(self.plan.table, self.settings.metric)
                return fit_model(self.plan.table, selector, order, self.plan.name, metric)
        except ValueError as error:
            self.warn(f"No model is saved: {one_line(error)}")
            return None

    def resampled(self, k: int) -> StabilitySelection | None:
        """How often each feature is selected from subsamples."""
        m = self.n_subsamples
        table = self.plan.table
        if not m:
            return None
        if table.sample_groups is not None and table.n_groups < _LEAST_GROUPS:
            self.warn(
                f"No selection frequencies: {shown(str(table.reading.groups_column))} has "
                f"{table.n_groups} different values, too few for subsamples of whole groups."
            )
            return None
        self.progress(f"Selecting again from {m} subsamples")
        again = StabilitySelection(
            self.plan.quick(k), n_subsamples=m, random_state=self.settings.seed
        )
        workers = thread_count(self.settings.n_jobs)
        try:
            with self.timer.step("resample"), collect_warnings(), thread_backend(workers):
                return again.fit(table.X, table.y, groups=table.sample_groups)
        except ValueError as error:
            self.warn(f"No selection frequencies: {one_line(error)}")
            return None


def _stability(
    resampled: StabilitySelection | None, plan: Plan, k: int
) -> tuple[float, float, float] | None:
    """How stable the choice is among the features that may be selected or not."""
    if resampled is None or k <= plan.n_forced:
        return None
    value, low, high = stability(resampled.supports_[:, plan.choices])
    return value, low, high


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
