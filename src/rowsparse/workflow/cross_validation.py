"""Scores on held-out samples, and the verdict on them: all choices are made inside each fold."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import stdtrit
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, PoissonRegressor, RidgeCV
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
    root_mean_squared_error,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier

from rowsparse._arrays import Array, Index, Mask
from rowsparse.evaluation.curve import Fold, default_estimators
from rowsparse.evaluation.metrics import (
    METRICS,
    Predictions,
    is_better_low,
    predict,
    prediction_score,
    score_by_chance,
)
from rowsparse.evaluation.supports import Selection, select_for_each
from rowsparse.evaluation.survival import has_pairs, log_rank
from rowsparse.selectors.meta.fold_scores import choose, drawn_folds
from rowsparse.targets import NUMERIC_TASKS
from rowsparse.workflow.messages import InputError, setting, shown
from rowsparse.workflow.plan import MANY_SAMPLES, Plan
from rowsparse.workflow.results import (
    ClassScore,
    Confusion,
    KCurve,
    NumberScore,
    SurvivalScore,
    Verdict,
)
from rowsparse.workflow.run_log import ProgressCallback, in_threads, silent
from rowsparse.workflow.settings import EvaluationSettings
from rowsparse.workflow.table import Table

# n^2 d beyond which a model on all features takes too long.
_TOO_LARGE = 1e9
# A class with this many times the samples of another makes accuracy say little.
_EXTREME = 10


# --------------------------------------------------------------------------- folds and their metric
def table_folds(table: Table, settings: EvaluationSettings) -> Splits:
    """Training and test rows of each fold; all workflows use the same for the same seed.

    Classes are stratified, and survival times by event. With a column of groups, the rows of a
    group are in one fold. Repeated folds follow one another, the first ones being those without
    repetition.
    """
    _check_count(table, settings.cv)
    splits: Splits = []
    for at in range(settings.repeats):
        splits += drawn_folds(
            settings.cv,
            table.X,
            table.y,
            table.task,
            table.sample_groups,
            shuffle=True,
            random_state=(settings.seed + at) % 2**32,
        )
    if any(test.size == 0 for _, test in splits):
        raise InputError(
            f"The groups of {shown(str(table.reading.groups_column))} cannot be spread over "
            f"{settings.cv} folds: take fewer with {setting('cv')}."
        )
    return splits


def fold_notes(table: Table, settings: EvaluationSettings) -> list[str]:
    """Sentences on folds that are not the usual ones."""
    notes = []
    if table.sample_groups is not None:
        notes.append(
            f"Rows with one value of {shown(str(table.reading.groups_column))} stay together in "
            f"folds and subsamples: {table.n_groups:,} groups."
        )
    if settings.repeats > 1:
        notes.append(
            f"The {settings.cv} folds were drawn {settings.repeats} times: scores are means over "
            f"{settings.cv * settings.repeats}, and each row is predicted {settings.repeats} times."
        )
    return notes


def _check_count(table: Table, cv: int) -> None:
    n = table.X.shape[0]
    most = n if table.task != "classification" else max(table.target.counts)
    if most < 2:
        raise InputError("No class has two samples: there is nothing to learn from.")
    if table.sample_groups is not None and table.n_groups < max(cv, 2):
        column = shown(str(table.reading.groups_column))
        few = f"{setting('groups_column')}: {column} has only {table.n_groups} different values"
        if table.n_groups < 2:
            raise InputError(f"{few}: folds need at least 2 groups.")
        raise InputError(f"{few}: take at most {setting('cv', table.n_groups)}.")
    if not 2 <= cv <= most:
        what = "samples" if table.task != "classification" else "samples of the largest class"
        raise InputError(
            f"{setting('cv')} must be between 2 and {most}, the number of {what}; got {cv}."
        )


def score_metric(table: Table, splits: Splits, wanted: str | None) -> str:
    """The metric of the scores; refused if the targets or the folds have no such metric.

    By default the customary one, or for classes whose sizes differ extremely the area under the
    ROC curve; balanced accuracy where some fold has too few classes for that.
    """
    known = METRICS[table.task]
    if wanted is not None and wanted not in known:
        raise InputError(
            f"{setting('metric')} for {table.task} is one of {', '.join(known)}; got "
            f"{shown(wanted)}."
        )
    if table.task == "survival" and not all(has_pairs(table.y[test]) for _, test in splits):
        raise InputError(
            f"One of the {len(splits)} folds has no two test samples whose times can be compared, "
            f"as too few have the event: take fewer folds with {setting('cv')}."
        )
    has_area = all((table.y[test] != table.y[test][0]).any() for _, test in splits)
    if wanted == "auc" and not has_area:
        raise InputError(
            f"{setting('metric')} auc needs two classes among the test samples of every fold, "
            f"and one of the {len(splits)} folds has one only: take fewer folds "
            f"({setting('cv')}), or another metric."
        )
    if wanted is None and imbalance(table) is not None:
        return "auc" if has_area else "balanced_accuracy"
    return known[0] if wanted is None else wanted


def imbalance(table: Table) -> tuple[str, int, str, int] | None:
    """The largest and the smallest class with their sizes, if these differ extremely."""
    if table.task != "classification":
        return None
    counts, names = table.target.counts, table.target.classes
    large, small = int(np.argmax(counts)), int(np.argmin(counts))
    if counts[large] < _EXTREME * counts[small]:
        return None
    return names[large], counts[large], names[small], counts[small]


def imbalance_note(table: Table, metric: str, wanted: str | None) -> str | None:
    """A sentence on classes of extremely different sizes: on the metric taken, or one to take."""
    found = imbalance(table)
    if found is None or (metric == wanted and metric != "accuracy"):
        return None
    large, n_large, small, n_small = found
    sizes = f"The class {shown(large)} has {n_large:,} samples and {shown(small)} has {n_small:,}: "
    if metric != wanted:
        return f"{sizes}scored by {setting('metric', metric)}, as accuracy would say little."
    return (
        f"{sizes}accuracy says little here; {setting('metric', 'balanced_accuracy')} counts every "
        f"class alike, and {setting('metric', 'auc')} needs no threshold."
    )


# ------------------------------------------------------------------------------------ in each fold
def judges(table: Table, metric: str | None = None) -> dict[str, Any]:
    """The models that judge a selection, the linear one first, with the weights of the classes.

    Only those that have probabilities, if the metric is one of these.
    """
    models = _judges(table.task, table.X.shape[0], metric)
    for model in models.values():
        if table.class_weight is not None and "class_weight" in model.get_params():
            model.set_params(class_weight=table.class_weight)
    return models


def _judges(task: str, n: int, metric: str | None) -> dict[str, Any]:
    model = LogisticRegression(max_iter=300)
    if metric == "log_loss":
        return {"logistic regression": model}
    if n <= MANY_SAMPLES or task not in ("classification", "multilabel"):
        return default_estimators(task)
    if task == "multilabel":
        return {"logistic regression": OneVsRestClassifier(model)}
    return {"logistic regression": model, "1-NN": KNeighborsClassifier(n_neighbors=1)}


def select_in_fold(plan: Plan, train: Index, ks: Sequence[int]) -> dict[int, Selection]:
    """What a method selects from the training samples of a fold, for each number of features.

    ``plan`` is that of the fold, see :meth:`Plan.in_fold`. All workflows select in folds by this
    function, so that the same k has the same score in each.
    """
    X, y = plan.table.X[train], plan.goal(train)
    columns = np.arange(X.shape[1])
    if plan.adjusted and not plan.accepts("include"):
        columns = np.setdiff1d(columns, plan.adjusted)
        X = X[:, columns]
    asked = {k: plan.n_asked(k) for k in ks}
    found = select_for_each(plan.quick(1), X, y, asked.values(), along_path=False)
    return {
        k: replace(
            found[count],
            k=k,
            support=np.union1d(columns[found[count].support], plan.adjusted).astype(np.intp),
        )
        for k, count in asked.items()
    }


def cross_validate(
    plan: Plan,
    ks: Iterable[int],
    splits: Splits,
    *,
    metric: str,
    with_all: bool = True,
    n_jobs: int | None = None,
    progress: ProgressCallback = silent,
) -> Validation:
    """Score a method by a linear model on held-out folds, for several numbers of features.

    ``metric`` is what the scores are, see :func:`score_metric`. ``with_all`` asks for the score
    with all features too, unless that takes too long. Without any ``ks`` there are the scores of
    what needs no selection alone.
    """
    n, d = plan.table.X.shape
    counts = tuple(sorted(set(ks)))
    with_all = with_all and n * n * d <= _TOO_LARGE
    work = [partial(_in_fold, plan, counts, metric, with_all, *split) for split in splits]
    what = f"Cross-validation, {len(splits)} folds"
    progress(what, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = in_threads(work, n_jobs, lambda count: progress(what, count / len(splits)))
    predicted, scores, references = zip(*found, strict=True)
    baseline, adjusted, chance = np.transpose(references)
    return Validation(
        plan.table, splits, metric, counts, np.array(scores), baseline, adjusted, chance, predicted
    )


def _in_fold(
    plan: Plan, ks: tuple[int, ...], metric: str, with_all: bool, train: Index, test: Index
) -> tuple[dict[int, Predictions], list[float], tuple[float, float, float]]:
    """Predictions and scores for each k; scores with all features, the covariates alone, and none.

    Features are selected and models are fitted by the training samples alone.
    """
    plan = plan.in_fold(train)
    table = plan.table
    model = next(iter(judges(table, metric).values()))
    fold = Fold(table.X, table.y, table.task, train, test)

    def score(said: Predictions) -> float:
        return prediction_score(metric, table.task, table.y[test], said)

    chosen = select_in_fold(plan, train, ks) if ks else {}
    predicted = {k: fold.of_columns(one.support).predictions(model) for k, one in chosen.items()}
    baseline = adjusted = np.nan
    if with_all:
        baseline = score(fold.predictions(_WITH_ALL.get(table.task, model)))
    if plan.adjusted:
        adjusted = score(fold.of_columns(list(plan.adjusted)).predictions(model))
    references = baseline, adjusted, score(guess(table, train, test))
    return predicted, [score(predicted[k]) for k in ks], references


# Models of all features, in the place of one without a ridge.
_WITH_ALL = {
    "regression": RidgeCV(np.logspace(-2, 4, 7)),
    "counts": GridSearchCV(PoissonRegressor(max_iter=300), {"alpha": np.logspace(-2, 1, 4)}, cv=3),
}


@dataclass(frozen=True)
class Validation:
    """Cross-validated scores of a method, for several numbers of features ``ks``.

    ``scores``, of shape (n_splits, n_ks), are those of each fold with the features selected in it;
    ``baseline``, ``adjusted`` and ``chance`` are its scores with all features, with the columns
    alone that are in every model, and without any feature, NaN if not computed. ``predicted`` has
    for each fold the predictions of its test samples, by the number of features.
    """

    table: Table
    splits: Splits
    metric: str
    ks: tuple[int, ...]
    scores: Array
    baseline: Array
    adjusted: Array
    chance: Array
    predicted: tuple[dict[int, Predictions], ...]

    @property
    def opponents(self) -> dict[str, Array]:
        """The scores of what needs no selection."""
        found = {GUESS: self.chance}
        if np.isfinite(self.adjusted).all():
            found[COVARIATES] = self.adjusted
        return found

    def curve(self, taken: int | None = None) -> KCurve:
        """The mean scores over k; ``taken`` is the k asked for, if any."""
        n_folds = one_repetition(self.splits, len(self.table.y))
        return score_curve(self.metric, self.ks, self.scores, taken, n_folds)

    def held_out(self, taken: int | None = None) -> HeldOut:
        """What was predicted with k features, or with the number that the other folds suggest."""
        if taken is None:
            n_folds = one_repetition(self.splits, len(self.table.y))
            counts = counts_by_other_folds(self.curve(), self.scores, n_folds)
        else:
            counts = [taken] * len(self.splits)
        return HeldOut(
            self.table,
            self.splits,
            self.metric,
            self.scores[np.arange(len(counts)), [self.ks.index(k) for k in counts]],
            tuple(found[k] for found, k in zip(self.predicted, counts, strict=True)),
            self.opponents,
        )

    def findings(self, taken: int | None = None) -> dict[str, Any]:
        """The fields of a result that say how well a selection predicts."""
        held = self.held_out(taken)
        return {
            "score": float(held.scores.mean()),
            "score_sd": float(held.scores.std()),
            "baseline_score": float(self.baseline.mean()),
            "covariate_score": float(self.adjusted.mean()),
            "chance_score": float(self.chance.mean()),
            "curve": self.curve(taken) if taken is None or len(self.ks) > 1 else None,
            "verdict": held.verdict(),
            "confusion": held.confusion(),
            "class_scores": held.class_scores(),
            "number_scores": held.number_scores(),
            "survival": held.survival(),
        }


def score_curve(
    metric: str,
    ks: Sequence[int],
    scores: Array,
    taken: int | None = None,
    n_folds: int | None = None,
) -> KCurve:
    """The curve of scores of shape (n_splits, n_ks).

    ``taken`` is the k asked for, if any; otherwise the fewest features whose mean score is within
    one standard error of the best are taken. ``n_folds`` is the number of folds if they are
    repeated.
    """
    table, alphas = scores[:, None, :], np.zeros(1)
    table = -table if is_better_low(metric) else table
    best = choose(table, alphas, one_std_err=False)[1]
    enough = choose(table, alphas, one_std_err=True, n_folds=n_folds)[1]
    return KCurve(
        metric=metric,
        ks=tuple(ks),
        mean=tuple(scores.mean(axis=0).tolist()),
        sd=tuple(scores.std(axis=0).tolist()),
        best_k=ks[best],
        enough_k=ks[enough],
        chosen_k=ks[enough] if taken is None else taken,
    )


def counts_by_other_folds(curve: KCurve, scores: Array, n_folds: int) -> list[int]:
    """The number of features that the curve of the other folds suggests, for each fold.

    So a fold takes no part in the choice of what is scored on it. With repeated folds, the others
    are those of the same repetition.
    """
    return [
        score_curve(curve.metric, curve.ks, scores[others]).chosen_k
        for others in other_folds(len(scores), n_folds)
    ]


def other_folds(n_splits: int, n_folds: int) -> list[list[int]]:
    """For each fold the others of its repetition."""
    starts = (at - at % n_folds for at in range(n_splits))
    return [
        [other for other in range(start, start + n_folds) if other != at]
        for at, start in enumerate(starts)
    ]


# --------------------------------------------------------- what predictions of held-out samples say
Splits = list[tuple[Index, Index]]

# What a selection has to be better than: no features; its own predictions, given to the samples at
# random; and the columns that are in every model.
GUESS, SHUFFLED, COVARIATES = "guess", "shuffled", "covariates"
# The corrected test of a few folds is liberal: at this level, and not at 0.95, noise was called
# better in at most one of twenty tables of every kind.
_CONFIDENCE = 0.975
# As many points of a curve, and as many samples, as a figure can show.
_CURVE_POINTS, _MOST_POINTS = 200, 2000


def guess(table: Table, train: Index, test: Index) -> Predictions:
    """What is predicted without any feature: the commonest class, or the mean.

    The probabilities of the classes are their shares, and all labels, or risks, have the same
    value.
    """
    blind, y = np.zeros((table.X.shape[0], 1)), table.y[train]
    if table.task == "survival":
        return Predictions(np.zeros(test.size))
    if table.task != "classification":
        model = DummyRegressor() if table.task in NUMERIC_TASKS else DummyClassifier()
        answers = model.fit(blind[train], y).predict(blind[test])
        return Predictions(answers, np.zeros(answers.shape))
    return predict(DummyClassifier().fit(blind[train], y), blind[test], table.task)


def one_repetition(splits: Splits, n: int) -> int:
    """How many of the folds have each of the n samples once; the others repeat them."""
    return int(np.searchsorted(np.cumsum([test.size for _, test in splits]), n)) + 1


def judged(metric: str, splits: Splits, scores: Array, opponents: Mapping[str, Array]) -> Verdict:
    """Judge the scores of the folds against those of opponents in the same folds.

    The margin is that of a two-sided t test of the differences at the level of 5 %, with the
    variance of Nadeau and Bengio (2003), as training samples are shared among the folds. Only what
    is beyond the margin of every opponent is better; the verdict is the one on the strongest.
    """
    m = len(splits)
    share = np.mean([test.size / train.size for train, test in splits])
    sign = -1.0 if is_better_low(metric) else 1.0
    found = []
    for name, others in opponents.items():
        gains = sign * (np.asarray(scores) - others)
        gain = float(gains.mean())
        error = float(np.std(gains, ddof=1) * np.sqrt(1 / m + share))
        margin = float(stdtrit(m - 1, _CONFIDENCE)) * error
        rounding = 1e-12
        better = gain > margin + rounding
        level = "better" if better else "unclear" if gain > rounding else "worse"
        found.append(Verdict(level, metric, gain, margin, name, float(np.mean(others))))
    return min(found, key=lambda one: (("worse", "unclear", "better").index(one.level), one.gain))


@dataclass(frozen=True)
class HeldOut:
    """What was predicted in the folds with the numbers of features that were taken in them.

    ``scores`` has the score of each fold, ``predicted`` the predictions of its test samples, and
    ``opponents`` the scores of what needs no selection.
    """

    table: Table
    splits: Splits
    metric: str
    scores: Array
    predicted: tuple[Predictions, ...]
    opponents: Mapping[str, Array]

    def verdict(self) -> Verdict:
        """Whether they predict better than what needs no selection."""
        table = self.table
        shuffled = [
            score_by_chance(self.metric, table.task, table.y[test], said)
            for (_, test), said in zip(self.splits, self.predicted, strict=True)
        ]
        opponents = {**self.opponents, SHUFFLED: np.array(shuffled)}
        return judged(self.metric, self.splits, self.scores, opponents)

    @property
    def truth(self) -> Array:
        """The targets of the test samples, one fold after the other."""
        return np.concatenate([self.table.y[test] for _, test in self.splits])

    @property
    def answers(self) -> Array:
        """The predictions of them."""
        return np.concatenate([one.answers for one in self.predicted])

    def confusion(self) -> Confusion | None:
        """Which classes were predicted for which; None where there are no classes."""
        if self.table.task != "classification":
            return None
        right = [
            float(np.mean(said.answers == self.table.y[test]))
            for (_, test), said in zip(self.splits, self.predicted, strict=True)
        ]
        counts = confusion_matrix(self.truth, self.answers, labels=np.unique(self.table.y))
        return Confusion(
            self.table.target.classes, counts, float(np.mean(right)), float(np.std(right))
        )

    def class_scores(self) -> tuple[ClassScore, ...]:
        """Sensitivity, specificity and curves of each class or label, all folds pooled."""
        if self.table.task not in ("classification", "multilabel"):
            return ()
        y, answers, names = self.truth, self.answers, self.table.target.classes
        if self.table.task == "multilabel":
            every = np.concatenate([one.values for one in self.predicted])
            columns = zip(y.T == 1, answers.T == 1, every.T, strict=True)
        else:
            classes = np.unique(self.table.y)
            every = np.concatenate([_aligned(one, classes) for one in self.predicted])
            columns = zip(y == classes[:, None], answers == classes[:, None], every.T, strict=True)
        return tuple(_class_score(name, *one) for name, one in zip(names, columns, strict=True))

    def number_scores(self) -> tuple[NumberScore, ...]:
        """The errors of each number or count, all folds pooled; none for other targets."""
        if self.table.task not in NUMERIC_TASKS:
            return ()
        guessed = [guess(self.table, train, test).answers for train, test in self.splits]
        observed, predicted, means = (
            np.asarray(values, dtype=np.float64).reshape(len(values), -1)
            for values in (self.truth, self.answers, np.concatenate(guessed))
        )
        return tuple(
            NumberScore(
                name,
                float(root_mean_squared_error(observed[:, j], predicted[:, j])),
                float(root_mean_squared_error(observed[:, j], means[:, j])),
                *_thinned(_MOST_POINTS, observed[:, j], predicted[:, j]),
            )
            for j, name in enumerate(self.table.target.names)
        )

    def survival(self) -> SurvivalScore | None:
        """The halves of the samples by risk; None where the target is no survival time."""
        if self.table.task != "survival":
            return None
        m = one_repetition(self.splits, len(self.table.y))
        splits = self.splits[:m]
        y = np.concatenate([self.table.y[test] for _, test in splits])
        risks = [np.asarray(one.answers) for one in self.predicted[:m]]
        high = np.concatenate([risk > np.median(risk) for risk in risks])
        if high.all() or not high.any():
            return None
        inflation = 1.0 + m * float(np.mean([test.size / train.size for train, test in splits]))
        strata = np.repeat(np.arange(m), [test.size for _, test in splits])
        return SurvivalScore(y, high, log_rank(y, high, strata, inflation=inflation))


def _aligned(said: Predictions, classes: Array) -> Array:
    """The values with a column for every class; one unknown to the model has the lowest value."""
    assert said.values is not None
    aligned = np.full((len(said.values), classes.size), said.values.min())
    aligned[:, np.searchsorted(classes, said.classes)] = said.values
    return aligned


def _class_score(name: str, is_one: Mask, said_one: Mask, value: Array) -> ClassScore:
    positive, negative = int(is_one.sum()), int((~is_one).sum())
    share = positive / is_one.size
    if not positive or not negative:
        return ClassScore(name, positive, share, np.nan, np.nan, np.nan, np.nan)
    precision, recall, _ = precision_recall_curve(is_one, value, drop_intermediate=True)
    return ClassScore(
        name,
        positive,
        share,
        float(np.mean(said_one[is_one])),
        float(np.mean(~said_one[~is_one])),
        float(roc_auc_score(is_one, value)),
        float(average_precision_score(is_one, value)),
        *_thinned(_CURVE_POINTS, *roc_curve(is_one, value)[:2]),
        *_thinned(_CURVE_POINTS, recall, precision),
    )


def _thinned(most: int, *curve: Array) -> Iterator[tuple[float, ...]]:
    """The points of a curve, or `most` of them."""
    at = np.unique(np.linspace(0, curve[0].size - 1, most).astype(int))
    return (tuple(values[at].tolist()) for values in curve)
