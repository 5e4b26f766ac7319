"""Results of the workflows, as they are printed, drawn and written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rowsparse._arrays import Array, Index

if TYPE_CHECKING:
    from rowsparse.certificate import Proof
    from rowsparse.evaluation import SelectionCurve
    from rowsparse.workflow.class_scores import ClassScore
    from rowsparse.workflow.model import SavedModel
    from rowsparse.workflow.univariate import UnivariateTests

__all__ = [
    "Alternative",
    "Certificate",
    "ComparisonResult",
    "Confusion",
    "DataSummary",
    "Distribution",
    "HoldoutScore",
    "KCurve",
    "PathResult",
    "ProgressPoint",
    "RankedFeature",
    "SelectionResult",
    "Verdict",
]


@dataclass(frozen=True)
class DataSummary:
    """Where the data came from, and what was done to them before the selection.

    Attributes
    ----------
    source : str
        Name of the file, without its folder.
    sha256 : str
        Of the file.
    n_samples, n_features : int
        Rows, and features that could be selected; one whose values are encoded as several
        columns counts once, unless the method selects these columns one by one.
    task : {"classification", "multilabel", "regression"}
        What the targets are.
    targets : tuple of str
        Names of the target columns.
    classes : tuple of str
        Names of the classes, or of the labels; empty for numbers.
    class_counts : tuple of int
        How many samples each has.
    notes : tuple of str
        One sentence for each thing that was done: columns left out as identifiers or constants,
        columns of categories encoded, values imputed.
    n_columns : int or None
        Columns that the features are encoded as; None if there are as many.
    leaks : tuple of str
        Columns that may hold what is to be predicted: they predict it alone, or follow the order
        of the rows as it does.
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


@dataclass(frozen=True)
class RankedFeature:
    """One selected feature, or one column of those that a selected feature is encoded as.

    Attributes
    ----------
    rank : int
        1 for the strongest.
    name : str
        As in the table; may hold any characters.
    index : int
        Column among the features.
    score : float
        The method's own score.
    frequency : float or None
        Share of the resamples in which the feature was selected.
    frequency_interval : tuple of float or None
        Its 95 % confidence interval.
    speaks_for : str
        What a high value speaks for by the largest coefficient (or the largest mean, for methods
        without coefficients): a class or label, "against" one, or a higher or lower number; empty
        if there is no effect.
    coefficients : tuple of float
        One for each class or target, per standard deviation of the feature; empty if none.
    is_forced : bool
        Whether it had to be selected (``include``); then it has no frequency.
    p_value, fdr : float or None
        Of the feature by itself, see :class:`rowsparse.workflow.univariate.UnivariateTests`.
    effect : float or None
        How much higher it is in ``effect_in``, or its correlation with that.
    effect_in : str
        The class, label or target.
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
class Alternative:
    """A feature left out that is close to a selected one."""

    name: str
    correlation: float


@dataclass(frozen=True)
class Certificate:
    """How close to the best possible choice the selection is.

    ``status`` is "optimal" (proven), "gap" (within ``gap``, proven) or "heuristic" (nothing is
    proven). ``gap`` is relative to the objective.
    """

    status: str
    objective: float
    lower_bound: float
    gap: float
    n_nodes: int = 0


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
class Verdict:
    """Whether a selection predicts better than guessing the commonest class, or the mean.

    ``level`` is "better" (the gain is beyond the noise of the folds), "unclear" (there is a gain
    within that noise) or "worse" (there is none). ``gain`` is the mean over the folds of the
    difference in ``metric``, and ``margin`` what it must exceed.
    """

    level: str
    metric: str
    gain: float
    margin: float


@dataclass(frozen=True)
class HoldoutScore:
    """How well a saved model predicts a table that took no part in the selection.

    Attributes
    ----------
    source : str
        Name of the table.
    n_samples : int
    metric : str
        The metric of ``score``.
    score : float
    chance : float
        The score of a prediction without features: the most frequent class, or the mean, of the
        table of the selection.
    scores : dict of str to float
        All metrics for such targets.
    """

    source: str
    n_samples: int
    metric: str
    score: float
    chance: float
    scores: dict[str, float]


@dataclass(frozen=True)
class SelectionResult:
    """Result of :func:`rowsparse.workflow.select.select`.

    Attributes
    ----------
    data : DataSummary
    method, method_reference : str
        Name of the selector, and its paper.
    k : int
        Number of features selected, those encoded as several columns counted once.
    k_was_chosen : bool
        Whether cross-validation chose k.
    settings : dict
        Everything needed to repeat the run.
    versions : dict of str to str
        Python, rowsparse, numpy, scipy, scikit-learn.
    features : tuple of RankedFeature
        One for each selected column, in the order of their ranks.
    covariates : tuple of RankedFeature
        Columns that are in every model and not counted (``adjust``), with their coefficients.
    covariate_score : float
        Cross-validated score of the model with these alone; NaN if there are none.
    certificate : Certificate or None
        None for methods without a statement on optimality.
    metric : str
        Name of the score; accuracy, macro_f1 or r2.
    score, score_sd : float
        Cross-validated score of a linear model on the selected features; NaN if not computed.
    baseline_score, chance_score : float
        The same with all features, and without any.
    curve : KCurve or None
    correlation : array of shape (k, k)
        Of the selected features, in the order of ``features``.
    alternatives : tuple of tuple of Alternative
        For each selected feature the closest ones that were left out.
    distributions : tuple of Distribution
        One for each selected feature (at most the first 40).
    stability : tuple of float or None
        The measure of Nogueira et al. over the resamples, with its 95 % interval. Features that
        had to be selected, or must not be, are left out of it; None if no choice is left.
    progress : tuple of ProgressPoint
        How the objective fell and the bound rose over time.
    confusion : Confusion or None
        For classes.
    image_shape : tuple of int or None
        Height and width, for features that are pixels.
    class_means : array of shape (n_classes, n_features) or None
        For images only.
    seconds : dict of str to float
        Time of each step: read, select, validate, ...
    warnings : tuple of str
        Sentences for the user, as on convergence.
    objective : float
        What the method minimises, at its choice; NaN for methods that minimise nothing.
    converged : bool
        Whether the method's own criterion was met.
    proof : Proof or None
        Every step of the proof, with ``certify``.
    n_forced : int
        How many of the k features had to be selected.
    verdict : Verdict or None
        Whether the score is better than that of guessing; None without a score.
    model : SavedModel or None
        The selection with a linear model, for other tables.
    holdout : HoldoutScore or None
        The score of that model on a table that took no part.
    class_scores : tuple of ClassScore
        One for each class or label.
    tests : UnivariateTests or None
        Of every feature of the table by itself; None with too few samples.
    """

    data: DataSummary
    method: str
    method_reference: str
    k: int
    k_was_chosen: bool
    settings: dict[str, Any]
    versions: dict[str, str]
    features: tuple[RankedFeature, ...]
    certificate: Certificate | None
    metric: str
    score: float
    score_sd: float
    baseline_score: float
    chance_score: float
    curve: KCurve | None
    correlation: Array
    alternatives: tuple[tuple[Alternative, ...], ...]
    distributions: tuple[Distribution, ...]
    stability: tuple[float, float, float] | None
    progress: tuple[ProgressPoint, ...]
    confusion: Confusion | None
    image_shape: tuple[int, int] | None = None
    class_means: Array | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    objective: float = float("nan")
    converged: bool = True
    proof: Proof | None = None
    n_forced: int = 0
    verdict: Verdict | None = None
    model: SavedModel | None = None
    holdout: HoldoutScore | None = None
    class_scores: tuple[ClassScore, ...] = ()
    tests: UnivariateTests | None = None
    covariates: tuple[RankedFeature, ...] = ()
    covariate_score: float = float("nan")


@dataclass(frozen=True)
class ComparisonResult:
    """Result of :func:`rowsparse.workflow.compare.compare`.

    ``verdict`` is on the best mean score; None if every method failed. ``names`` are those of all
    features, and ``baseline_score`` and ``chance_score`` the scores of the first judge with all
    features and without any, on the same folds.
    """

    data: DataSummary
    curve: SelectionCurve
    settings: dict[str, Any]
    versions: dict[str, str]
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    verdict: Verdict | None = None
    names: tuple[str, ...] = ()
    baseline_score: float = float("nan")
    chance_score: float = float("nan")


@dataclass(frozen=True)
class PathResult:
    """Result of :func:`rowsparse.workflow.path.find_path`: the support for every k.

    ``verdict`` is on the k that the curve suggests.
    """

    data: DataSummary
    ks: tuple[int, ...]
    supports: tuple[Index, ...]
    names: tuple[str, ...]
    objectives: tuple[float, ...]
    curve: KCurve
    settings: dict[str, Any]
    versions: dict[str, str]
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    verdict: Verdict | None = None
