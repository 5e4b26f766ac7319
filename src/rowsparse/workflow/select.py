"""Select features from a table, describe and score the selection; the best ones for every k."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index, Mask, dense_columns
from rowsparse._compat import HAS_CALLBACKS
from rowsparse._threads import one_blas_thread
from rowsparse.design import ColumnScaling, make_design
from rowsparse.evaluation.supports import strongest_first
from rowsparse.plotting.correlation_display import closest_left_out, correlations_with
from rowsparse.plotting.near_optimal_display import indispensable_first
from rowsparse.selectors import NearOptimal, StabilitySelection, stability, topk_path
from rowsparse.targets import NUMERIC_TASKS, encode_targets
from rowsparse.workflow.cross_validation import (
    Splits,
    cross_validate,
    fold_notes,
    imbalance_note,
    score_metric,
    table_folds,
)
from rowsparse.workflow.leakage import Leaks, find_leaks
from rowsparse.workflow.messages import InputError, one_line, setting, shown
from rowsparse.workflow.model import SavedModel, fit_model
from rowsparse.workflow.plan import Plan, make_plan, plan_notes
from rowsparse.workflow.results import (
    Alternatives,
    Certificate,
    CloseFeature,
    Distribution,
    ListedFeature,
    PathResult,
    ProgressPoint,
    RankedFeature,
    SelectionResult,
)
from rowsparse.workflow.run_log import (
    ProgressCallback,
    StepTimer,
    collect_warnings,
    recorded,
    silent,
    thread_count,
    versions,
)
from rowsparse.workflow.settings import MethodSettings, PathSettings, SelectSettings
from rowsparse.workflow.table import Table
from rowsparse.workflow.univariate import UnivariateTests, univariate

# Default number of subsamples for the selection frequencies: of a table, and of a large one.
_SUBSAMPLES, _FEW_SUBSAMPLES = 20, 5
_MOST_POINTS = 400
# Fewer groups of samples have too few different halves.
_LEAST_GROUPS = 4


def select(
    table: Table, settings: SelectSettings, *, progress: ProgressCallback = silent
) -> SelectionResult:
    """Select k features from a table."""
    plan = make_plan(table, settings, settings.seed)
    if plan.adjusted and not plan.accepts("include"):
        raise InputError(
            f"{plan.name} has no {setting('adjust')}: leave it out, or take "
            f"{setting('method', 'topk')}."
        )
    table = plan.table
    if settings.k != "auto":
        plan.check(settings.k)
    splits = table_folds(table, settings) if settings.cv else []
    metric = score_metric(table, splits, settings.metric)
    run = _Run(plan, settings, splits, metric, progress)
    with one_blas_thread(not table.is_large):
        return run.result()


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
    metric: str
    progress: ProgressCallback
    timer: StepTimer = field(default_factory=StepTimer)
    warnings: dict[str, None] = field(default_factory=dict)
    converged: bool = True

    @cached_property
    def tests(self) -> UnivariateTests | None:
        """Of each feature by itself."""
        with self.timer.step("tests"):
            return univariate(self.plan.table.as_numbers, self.plan.adjusted, self.settings.test)

    @cached_property
    def leaks(self) -> Leaks:
        """Columns that may hold what is to be predicted."""
        with self.timer.step("leakage"):
            return find_leaks(self.plan)

    def result(self) -> SelectionResult:
        """Run all steps."""
        for sentence in self.leaks.sentences():
            self.warn(sentence)
        plan, table, tests, k = self.plan, self.plan.table, self.tests, self.settings.k
        scored = self.scored()
        count = int(scored["curve"].chosen_k if k == "auto" else k)
        fitted, points = self.fitted(count)
        near = fitted if isinstance(fitted, NearOptimal) else None
        selector = fitted if near is None else near.selector_
        every = strongest_first(selector)
        order = every[~np.isin(every, plan.adjusted)]
        beside = np.array(plan.adjusted, dtype=np.intp)
        resampled = self.resampled(count)
        with self.timer.step("describe"):
            self.progress("Describing the features")
            units = units_of(table.X)
            among, closest = correlations(table, order, units, beside)
            features = ranked(
                table.as_numbers, selector, order, units, resampled, plan.forced, tests
            )
            covariates = ranked(table.as_numbers, selector, beside, units) if beside.size else ()
            spread = distributions(table.as_numbers, order)
        model = self.model(selector, np.concatenate([order, beside]))
        return SelectionResult(
            data=plan.summary(
                [*plan_notes([plan]), *fold_notes(table, self.settings)], self.leaks.names
            ),
            method=plan.name,
            method_reference=plan.info.reference,
            k=plan.units_among(order).size,
            k_was_chosen=k == "auto",
            settings=recorded(self.settings, plan.parameters() | {"stability": self.n_subsamples}),
            versions=versions(),
            features=features,
            covariates=covariates,
            certificate=_certificate(selector, plan, count),
            metric=self.metric,
            correlation=among,
            closest=closest,
            distributions=spread,
            stability=_stability(resampled, plan, count),
            progress=points,
            seconds=self.timer.seconds,
            warnings=tuple(self.warnings),
            objective=float(getattr(selector, "objective_", math.nan)),
            converged=self.converged,
            proof=getattr(selector, "proof_", None),
            n_forced=plan.n_forced,
            model=model,
            tests=tests,
            alternatives=None if near is None else _alternatives(near, plan),
            **scored,
        )

    def warn(self, sentence: str) -> None:
        """Add a sentence to the warnings, once."""
        self.warnings[sentence] = None

    def fitted(self, k: int) -> tuple[Any, tuple[ProgressPoint, ...]]:
        """The selector, or NearOptimal with it, fitted to all samples; the progress of the fit."""
        table = self.plan.table
        what = f"{self.plan.name}: selecting {k} of {table.X.shape[1]:,} features"
        self.progress(what)
        selector, recorder = self.plan.selector(k), _FitRecorder(what, self.progress)
        if HAS_CALLBACKS and hasattr(selector, "set_callbacks"):
            selector.set_callbacks(recorder)
        if self.settings.alternatives is not None:
            selector = NearOptimal(selector, tolerance=self.settings.alternatives)
        with self.timer.step("select"), collect_warnings() as found:
            selector.fit(table.X, self.plan.goal())
        self.progress(what)
        self.converged = found.converged and bool(getattr(selector, "converged_", True))
        for sentence in found.sentences:
            self.warn(sentence)
        return selector, recorder.thinned()

    def scored(self) -> dict[str, Any]:
        """The fields of the result on held-out samples; none without folds, or if that fails."""
        if not self.splits:
            return {}
        warning = imbalance_note(self.plan.table, self.metric, self.settings.metric)
        if warning is not None:
            self.warn(warning)
        k, settings = self.settings.k, self.settings
        if k == "auto":
            ks = self.plan.counts_up_to(settings.k_max)
        else:
            n_train = min(len(train) for train, _ in self.splits)
            ks = [k, *self.plan.counts_around(k, n_train)]
        try:
            with self.timer.step("validate"):
                found = cross_validate(
                    self.plan,
                    ks,
                    self.splits,
                    metric=self.metric,
                    n_jobs=settings.n_jobs,
                    progress=self.progress,
                )
        except ValueError as error:
            if k == "auto":
                raise
            self.warn(f"No cross-validated score: {one_line(error)}")
            return {}
        return found.findings(None if k == "auto" else k)

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
                return fit_model(self.plan.table, selector, order, self.plan.name, self.metric)
        except ValueError as error:
            self.warn(f"No model is saved: {one_line(error)}")
            return None

    def resampled(self, k: int) -> StabilitySelection | None:
        """How often each feature is selected from subsamples."""
        from joblib import parallel_config

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
            with (
                self.timer.step("resample"),
                collect_warnings(),
                one_blas_thread(workers > 1),
                parallel_config("threading", n_jobs=workers),
            ):
                return again.fit(table.X, self.plan.goal(), groups=table.sample_groups)
        except ValueError as error:
            self.warn(f"No selection frequencies: {one_line(error)}")
            return None


def _stability(
    resampled: StabilitySelection | None, plan: Plan, k: int
) -> tuple[float, float, float] | None:
    """How stable the choice is among the features that may be selected or not."""
    if resampled is None or k in (plan.n_forced, plan.n_free):
        return None
    value, low, high = stability(resampled.supports_[:, plan.choices])
    return value, low, high


def _certificate(selector: Any, plan: Plan, k: int) -> Certificate | None:
    if k in (plan.n_free, plan.n_forced):
        objective = float(getattr(selector, "objective_", math.nan))
        return Certificate("only", objective, objective, 0.0)
    if not hasattr(selector, "status_"):
        return None
    return Certificate(
        status=selector.status_,
        objective=float(selector.objective_),
        lower_bound=float(selector.lower_bound_),
        gap=float(selector.gap_),
        n_nodes=int(getattr(selector, "n_nodes_", 0)),
    )


# ------------------------------------------------------------------ choices that are nearly as good
def _alternatives(near: NearOptimal, plan: Plan) -> Alternatives:
    """The list of a fitted :class:`rowsparse.NearOptimal`, without columns that do not count."""
    units, best = plan.unit_of, near.objective_
    member = np.zeros((len(near.choices_), units.size), dtype=bool)
    for row, choice in zip(member, near.choices_, strict=True):
        row[units[choice]] = True
    member[:, units[list(plan.adjusted)]] = False
    order = indispensable_first(member, near.in_all_)
    place = {j: at for at, j in enumerate(order.tolist())}
    return Alternatives(
        tolerance=near.tolerance,
        is_complete=near.complete_,
        proven=near.tolerance_,
        features=tuple(_listed(near, plan, j) for j in order.tolist()),
        choices=tuple(
            tuple(sorted(place[j] for j in np.flatnonzero(row).tolist())) for row in member
        ),
        increases=tuple((near.objectives_ / best - 1.0 if best else near.objectives_).tolist()),
        n_uncertain=int(near.within_rounding_.sum()),
    )


def _listed(near: NearOptimal, plan: Plan, j: int) -> ListedFeature:
    """What is known of the feature whose first column is j."""
    return ListedFeature(
        name=_name(plan, j),
        columns=tuple(np.flatnonzero(plan.unit_of == j).tolist()),
        verdict="all" if near.in_all_[j] else "some" if near.in_some_[j] else "",
        share=float(near.share_[j]),
        cost_without=float(near.cost_without_[j]),
        cost_without_exact=bool(near.cost_without_exact_[j]),
        cost_with=float(near.cost_with_[j]),
        cost_with_exact=bool(near.cost_with_exact_[j]),
        copies=tuple(_name(plan, int(other)) for other in near.copies_.get(j, ())),
        is_forced=bool(plan.forced[j]),
    )


def _name(plan: Plan, j: int) -> str:
    """Of a feature, or of the category that a column is encoded from with others."""
    table = plan.table
    return table.origin(j) if (plan.unit_of == plan.unit_of[j]).sum() > 1 else table.names[j]


# ------------------------------------------------------------ descriptions of the selected features
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_N_CLOSEST = 3
_MOST_DISTRIBUTIONS = 40
_THIRDS = ("low", "middle", "high")


def units_of(X: Any) -> ColumnScaling:
    """Means and inverse standard deviations of all columns."""
    return make_design(X, center=True, scale=True)[1]


def ranked(
    table: Table,
    selector: Any,
    order: Index,
    units: ColumnScaling,
    frequency: Any = None,
    forced: Mask | None = None,
    tests: UnivariateTests | None = None,
) -> tuple[RankedFeature, ...]:
    """One record for each selected column.

    ``frequency`` is a fitted StabilitySelection, ``forced`` says which of all columns had to be
    selected, and ``tests`` are those of all columns.
    """
    if forced is None:
        forced = np.zeros(len(table.names), dtype=bool)
    effects, has_coef = _effects(table, selector, order, units)
    scores = np.asarray(selector.scores_, dtype=np.float64)
    features = []
    for rank, (j, effect) in enumerate(zip(order.tolist(), effects, strict=True), start=1):
        known = {} if tests is None else tests.of(j)
        if frequency is not None and not forced[j]:
            known |= frequency_of(frequency, j)
        features.append(
            RankedFeature(
                rank=rank,
                name=table.names[j],
                index=j,
                score=float(scores[j]),
                speaks_for=_speaks_for(table, effect),
                coefficients=tuple(effect.tolist()) if has_coef else (),
                is_forced=bool(forced[j]),
                **known,
            )
        )
    return tuple(features)


def frequency_of(found: StabilitySelection, feature: int) -> dict[str, Any]:
    """The fields of :class:`RankedFeature` on how often a feature was selected."""
    low, high = found.frequency_intervals_[feature].tolist()
    return {"frequency": float(found.frequencies_[feature]), "frequency_interval": (low, high)}


def _effects(table: Table, selector: Any, order: Index, units: ColumnScaling) -> tuple[Array, bool]:
    """The effect of a standard deviation of each feature on each target.

    These are coefficients where the selector has them (the second result says so), otherwise
    differences of means or correlations.
    """
    coef = getattr(selector, "coef_", None)
    d = table.X.shape[1]
    inverse = units.inv_scale[order]
    sd = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)
    if coef is not None and np.ndim(coef) in (1, 2) and np.shape(coef)[-1] == d:
        effects = np.atleast_2d(coef)[:, order].T * sd[:, None]
        if effects.shape[1] == 1 and len(table.target.classes) == 2:
            # Two classes may have one row, for the second.
            effects = np.hstack([-effects, effects])
        return effects, True
    Y = encode_targets(table.y, table.task).Y
    Z = (dense_columns(table.X, order) - units.mean[order]) * inverse
    if table.task in NUMERIC_TASKS:
        Y = Y - Y.mean(axis=0)
        return Z.T @ Y / np.maximum(np.linalg.norm(Y, axis=0), 1e-300) / np.sqrt(len(Y)), False
    return Z.T @ (Y / np.maximum(Y.sum(axis=0), 1.0)), False


def _speaks_for(table: Table, effect: Array) -> str:
    names = table.target.classes or table.target.names
    if len(names) != effect.size:
        return ""
    # Of two classes the effects are opposite: name the one with the positive effect.
    at = int(effect.argmax()) if len(table.target.classes) == 2 else int(np.abs(effect).argmax())
    if effect[at] == 0:
        return ""
    if table.task in NUMERIC_TASKS:
        return f"{'higher' if effect[at] > 0 else 'lower'} {names[at]}"
    return names[at] if effect[at] > 0 else f"against {names[at]}"


def correlations(
    table: Table, order: Index, units: ColumnScaling, beside: Index | None = None
) -> tuple[Array, tuple[tuple[CloseFeature, ...], ...]]:
    """Correlations of the selected features, and the closest features that were left out.

    ``beside`` are columns that are in the model without being selected.
    """
    every = correlations_with(table.X, order, units)
    taken = order if beside is None else np.union1d(order, beside)
    closest = closest_left_out(every, taken, _N_CLOSEST)
    found = tuple(
        tuple(CloseFeature(table.names[j], float(row[j])) for j in columns)
        for row, columns in zip(every, closest.tolist(), strict=True)
    )
    return every[:, order], found


def distributions(table: Table, order: Index) -> tuple[Distribution, ...]:
    """Quantiles of the strongest features in each class, label, or third of a number."""
    names: tuple[str, ...]
    shown = order[:_MOST_DISTRIBUTIONS]
    values = dense_columns(table.X, shown)
    if table.task in NUMERIC_TASKS:
        first = table.y if table.y.ndim == 1 else table.y[:, 0]
        part = np.searchsorted(np.quantile(first, (1 / 3, 2 / 3)), first, side="left")
        names, masks = _THIRDS, [part == at for at in range(3)]
    elif table.task == "multilabel":
        names, masks = table.target.classes, [column == 1 for column in table.y.T]
    else:
        names, masks = table.target.classes, [table.y == value for value in np.unique(table.y)]
    there = [at for at, mask in enumerate(masks) if mask.any()]
    quantiles = np.array([np.quantile(values[masks[at]], _QUANTILES, axis=0) for at in there])
    groups = tuple(names[at] for at in there)
    return tuple(
        Distribution(
            table.names[j],
            groups,
            quantiles[:, :, i],
            tuple(float(values[masks[at], i].mean()) for at in there)
            if np.isin(values[:, i], (0.0, 1.0)).all()
            else (),
        )
        for i, j in enumerate(shown.tolist())
    )


# --------------------------------------------------------------------- for every number of features
def find_path(
    table: Table, settings: PathSettings | None = None, *, progress: ProgressCallback = silent
) -> PathResult:
    """The support of TopK for every k, with objective and cross-validated score."""
    settings = settings or PathSettings()
    timer = StepTimer()
    plan = make_plan(table, settings.as_kind(MethodSettings), settings.seed)
    splits = table_folds(table, settings)
    metric = score_metric(table, splits, settings.metric)
    ks = plan.counts_up_to(settings.k_max)
    progress(f"The best features for every k up to {ks[-1]}")
    with timer.step("path"), collect_warnings() as found, one_blas_thread(not table.is_large):
        path = topk_path(table.X, table.y, plan.n_asked(ks[-1]), **plan.params)
    with timer.step("validate"), one_blas_thread(not table.is_large):
        validation = cross_validate(
            plan,
            ks,
            splits,
            metric=metric,
            with_all=False,
            n_jobs=settings.n_jobs,
            progress=progress,
        )
    effective = {name: plan.parameters()[name] for name in ("loss", "alpha")}
    imbalance = imbalance_note(table, metric, settings.metric)
    leaks = find_leaks(plan)
    # The path begins with the columns that are in every model alone.
    found_ks = path.ks - plan.n_adjusted
    first = int(np.searchsorted(found_ks, 1))
    beside = plan.units_among(plan.adjusted)
    names = list(table.names)
    for name, part in table.groups.items():
        names[int(part.min())] = name
    return PathResult(
        data=plan.summary([*plan_notes([plan]), *fold_notes(table, settings)], leaks.names),
        ks=tuple(found_ks[first:].tolist()),
        supports=tuple(
            np.setdiff1d(table.unit_of[support], beside) for support in path.supports[first:]
        ),
        names=tuple(names),
        objectives=tuple(path.objectives[first:].tolist()),
        curve=validation.curve(),
        settings=recorded(settings, {**effective, "task": table.task}),
        versions=versions(),
        seconds=timer.seconds,
        warnings=(*leaks.sentences(), *found.sentences, *([imbalance] if imbalance else [])),
        verdict=validation.held_out().verdict(),
    )
