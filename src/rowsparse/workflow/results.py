"""Results of the workflows, as they are printed, drawn and written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rowsparse._arrays import Array, Index
from rowsparse.evaluation.survival import KaplanMeier

if TYPE_CHECKING:
    from rowsparse.certificate import Proof
    from rowsparse.evaluation import SelectionCurve
    from rowsparse.workflow.model import SavedModel
    from rowsparse.workflow.univariate import UnivariateTests


@dataclass(frozen=True)
class DataSummary:
    """Where the data came from, and what was done to them before the selection.

    A feature whose values are encoded as several columns counts once in ``n_features``, unless the
    method selects these columns one by one; ``n_columns`` are the columns. ``classes`` are those of
    the target, or the labels. ``notes`` has a sentence for each thing that was done, and ``leaks``
    the columns that may hold what is to be predicted. ``n_events`` of survival times is how many
    rows have the event.
    """

    source: str
    sha256: str
    n_samples: int
    n_features: int
    task: str
    targets: tuple[str, ...]
    classes: tuple[str, ...] = ()
    class_counts: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    n_columns: int | None = None
    leaks: tuple[str, ...] = ()
    n_events: int | None = None

    @property
    def outputs(self) -> tuple[str, ...]:
        """What a model has coefficients for: classes, labels, numbers, or the risk."""
        return self.classes or (self.targets if self.n_events is None else ("risk",))


@dataclass(frozen=True)
class RankedFeature:
    """One selected feature, or one column of those that a selected feature is encoded as.

    ``rank`` is 1 for the strongest, ``index`` the column among the features, and ``score`` the
    method's own. ``frequency`` is the share of the resamples in which it was selected, with its 95
    % interval; None if it had to be selected (``is_forced``). ``speaks_for`` is what a high value
    speaks for by the largest coefficient (or the largest mean, for methods without coefficients): a
    class or label, "against" one, or a higher or lower number; empty if there is no effect.
    ``coefficients`` are one for each class or target, per standard deviation of the feature; empty
    if none. The last four are of the feature by itself, see
    :class:`rowsparse.workflow.univariate.UnivariateTests`.
    """

    rank: int
    name: str
    index: int
    score: float
    frequency: float | None = None
    frequency_interval: tuple[float, float] | None = None
    speaks_for: str = ""
    coefficients: tuple[float, ...] = ()
    is_forced: bool = False
    p_value: float | None = None
    fdr: float | None = None
    effect: float | None = None
    effect_in: str = ""


@dataclass(frozen=True)
class CloseFeature:
    """A feature left out that is close to a selected one."""

    name: str
    correlation: float


@dataclass(frozen=True)
class Certificate:
    """How close to the best possible choice the selection is.

    ``status`` is "optimal" (proven), "gap" (within ``gap``, proven), "heuristic" (nothing is
    proven) or "only" (there is no other choice). ``gap`` is relative to the objective.
    """

    status: str
    objective: float
    lower_bound: float
    gap: float
    n_nodes: int = 0


@dataclass(frozen=True)
class ListedFeature:
    """A feature of some choice that is nearly as good as the best one.

    ``verdict`` is "all" or "some" of the choices within the tolerance, as far as that is proven,
    and ``share`` that of the listed ones. ``cost_without`` and ``cost_with`` are by how much the
    objective rises at least, as a share, if it is left out or forced in; exact where a listed
    choice has that objective. ``columns`` are among those that may be selected, and ``copies`` are
    equal features that may take its place.
    """

    name: str
    columns: tuple[int, ...]
    verdict: str
    share: float
    cost_without: float
    cost_without_exact: bool
    cost_with: float
    cost_with_exact: bool
    copies: tuple[str, ...] = ()
    is_forced: bool = False


@dataclass(frozen=True)
class Alternatives:
    """The choices that are nearly as good as the best one; see :class:`rowsparse.NearOptimal`.

    An objective may exceed the least one by ``tolerance``, as a share. Up to ``proven`` the choices
    are proven to be all, negative if not even the best one is proven; ``is_complete`` says whether
    that is all within the tolerance. ``features`` are those in some choice, the indispensable ones
    first. ``choices`` has for each, the best one first, the places of its features among these, and
    ``increases`` by how much its objective exceeds that of the best one, as a share. For
    ``n_uncertain`` of them rounding decides whether they are within the tolerance.
    """

    tolerance: float
    is_complete: bool
    proven: float
    features: tuple[ListedFeature, ...]
    choices: tuple[tuple[int, ...], ...]
    increases: tuple[float, ...]
    n_uncertain: int = 0

    @property
    def indispensable(self) -> tuple[ListedFeature, ...]:
        """Those that all choices have without having to."""
        return tuple(one for one in self.features if one.verdict == "all" and not one.is_forced)

    def of(self, column: int) -> ListedFeature | None:
        """The feature that a column is, or belongs to."""
        return next((one for one in self.features if column in one.columns), None)


@dataclass(frozen=True)
class ProgressPoint:
    """Objective and lower bound of a search or a proof after some seconds."""

    seconds: float
    objective: float
    lower_bound: float | None = None


@dataclass(frozen=True)
class KCurve:
    """Cross-validated score over the number of features.

    ``mean`` and ``sd`` are over the folds, ``best_k`` has the best mean, ``enough_k`` is the least
    k within one standard error of it, and ``chosen_k`` is the one taken.
    """

    metric: str
    ks: tuple[int, ...]
    mean: tuple[float, ...]
    sd: tuple[float, ...]
    best_k: int
    enough_k: int
    chosen_k: int

    def by_k(self) -> dict[int, tuple[float, float]]:
        """Mean and standard deviation of each k."""
        return dict(zip(self.ks, zip(self.mean, self.sd, strict=True), strict=True))


@dataclass(frozen=True)
class Distribution:
    """How a selected feature is distributed in each class.

    ``groups`` are names of classes (or thirds of a number: low, middle, high), ``quantiles`` has
    a row for each with the 5, 25, 50, 75 and 95 % points, in the units of the data. ``shares`` has
    the share of ones in each group of a feature of 0 and 1, and is empty otherwise.
    """

    feature: str
    groups: tuple[str, ...]
    quantiles: Array
    shares: tuple[float, ...] = ()


@dataclass(frozen=True)
class Confusion:
    """Cross-validated predictions: ``counts[i, j]`` samples of class i were predicted as j."""

    classes: tuple[str, ...]
    counts: Array
    accuracy: float
    accuracy_sd: float


@dataclass(frozen=True)
class ClassScore:
    """How well a class, or a label, is told from the rest, cross-validated.

    ``share`` is that of its samples among all, ``sensitivity`` the share of them that were
    predicted as such, and ``specificity`` that of the others that were not. ``average_precision``
    is the mean of the precisions over the recalls that are reached. The last four are points of
    the ROC and of the precision-recall curve.
    """

    name: str
    n_samples: int
    share: float
    sensitivity: float
    specificity: float
    auc: float
    average_precision: float
    false_positive_rate: tuple[float, ...] = ()
    true_positive_rate: tuple[float, ...] = ()
    recall: tuple[float, ...] = ()
    precision: tuple[float, ...] = ()


@dataclass(frozen=True)
class NumberScore:
    """How well a number or a count is predicted, cross-validated.

    ``rmse`` is the root of the mean squared difference over all predictions of all folds, and
    ``guess_rmse`` that of the mean of the training samples. ``observed`` and ``predicted`` have
    each sample, or some of many.
    """

    name: str
    rmse: float
    guess_rmse: float
    observed: tuple[float, ...]
    predicted: tuple[float, ...]


@dataclass(frozen=True)
class SurvivalScore:
    """Survival of the halves of the held-out samples by their risk scores.

    ``y`` has events and times of the samples of all folds; of the first ones, if they are repeated.
    ``is_high`` says whether the risk score of a sample is above the median of its own fold: the
    models of different folds have scores of their own. ``p_value`` is that of the log-rank test of
    the halves, within the folds; NaN if no event tells. Its variance is corrected as Nadeau and
    Bengio (2003) do that of scores, as the models share samples.
    """

    y: Array
    is_high: Array
    p_value: float

    @property
    def halves(self) -> tuple[KaplanMeier, KaplanMeier]:
        """The curves of the half with the higher risk, and of the other one."""
        return KaplanMeier.of(self.y[self.is_high]), KaplanMeier.of(self.y[~self.is_high])


@dataclass(frozen=True)
class Verdict:
    """Whether a selection predicts better than what needs none.

    ``level`` is "better" (the gain is beyond the noise of the folds), "unclear" (there is a gain
    within that noise) or "worse" (there is none). ``gain`` is the mean over the folds of the
    difference in ``metric``, and ``margin`` what it must exceed. ``opponent`` is what it is
    compared with: "guess" (the commonest class, or the mean), "shuffled" (the same predictions,
    given to the samples at random) or "covariates" (the columns in every model alone), whichever
    is the hardest to beat; ``opponent_score`` is its mean score.
    """

    level: str
    metric: str
    gain: float
    margin: float
    opponent: str = "guess"
    opponent_score: float = float("nan")


@dataclass(frozen=True)
class HoldoutScore:
    """How well a saved model predicts a table that took no part in the selection.

    ``chance`` is the score of a prediction without features (the most frequent class, or the mean,
    of the table of the selection), and ``scores`` has all metrics for such targets.
    """

    source: str
    n_samples: int
    metric: str
    score: float
    chance: float
    scores: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Result:
    """What all results have.

    ``settings``, ``versions`` and ``seconds`` are all that it takes to repeat the run, and the time
    of each step; ``warnings`` are sentences for the user, as on convergence.
    """

    data: DataSummary
    settings: dict[str, Any]
    versions: dict[str, str]
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    verdict: Verdict | None = None


@dataclass(frozen=True, kw_only=True)
class SelectionResult(Result):
    """Result of :func:`rowsparse.workflow.select.select`; what was not measured is None or empty.

    ``method_reference`` is the paper. ``k`` features were selected, those encoded as several
    columns counted once; ``n_forced`` of them had to be. ``features`` has one record for each
    selected column, in the order of their ranks, and ``covariates`` those in every model that are
    not counted. ``objective`` is what the method minimises, at its choice; ``certificate`` is None
    for methods without a statement on optimality, and ``proof`` has every step. ``progress`` is how
    the objective fell and the bound rose, and ``converged`` whether the method's own criterion was
    met.

    ``score`` is the cross-validated one of a linear model on the selected features; NaN without.
    ``baseline_score``, ``covariate_score`` and ``chance_score`` are the same with all features,
    with the covariates alone, and without any. ``stability`` is the measure of Nogueira et al. over
    the resamples, with its 95 % interval, of the features that may be selected or not.

    ``correlation`` is that of the selected features, and ``closest`` has for each those that were
    left out and are closest to it; ``distributions`` are of the first ones. ``tests`` are of every
    feature of the table by itself; None with too few samples. ``model`` is the selection with a
    linear model, for other tables, and ``holdout`` its score on one that took no part.
    """

    method: str
    method_reference: str
    k: int
    k_was_chosen: bool
    features: tuple[RankedFeature, ...]
    certificate: Certificate | None
    metric: str
    correlation: Array
    closest: tuple[tuple[CloseFeature, ...], ...]
    distributions: tuple[Distribution, ...]
    stability: tuple[float, float, float] | None
    progress: tuple[ProgressPoint, ...]
    objective: float = float("nan")
    converged: bool = True
    proof: Proof | None = None
    n_forced: int = 0
    model: SavedModel | None = None
    holdout: HoldoutScore | None = None
    class_scores: tuple[ClassScore, ...] = ()
    number_scores: tuple[NumberScore, ...] = ()
    survival: SurvivalScore | None = None
    tests: UnivariateTests | None = None
    covariates: tuple[RankedFeature, ...] = ()
    covariate_score: float = float("nan")
    alternatives: Alternatives | None = None
    score: float = float("nan")
    score_sd: float = float("nan")
    baseline_score: float = float("nan")
    chance_score: float = float("nan")
    curve: KCurve | None = None
    confusion: Confusion | None = None


@dataclass(frozen=True, kw_only=True)
class ComparisonResult(Result):
    """Result of :func:`rowsparse.workflow.compare.compare`.

    ``verdict`` is on the best mean score; None if every method failed. ``names`` are those of all
    features, and ``baseline_score`` and ``chance_score`` the scores of the first judge with all
    features and without any, on the same folds.
    """

    curve: SelectionCurve
    names: tuple[str, ...] = ()
    baseline_score: float = float("nan")
    chance_score: float = float("nan")


@dataclass(frozen=True, kw_only=True)
class PathResult(Result):
    """Result of :func:`rowsparse.workflow.select.find_path`: the support for every k.

    ``verdict`` is on the k that the curve suggests.
    """

    ks: tuple[int, ...]
    supports: tuple[Index, ...]
    names: tuple[str, ...]
    objectives: tuple[float, ...]
    curve: KCurve
