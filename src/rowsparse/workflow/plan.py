"""Which method, by its name, is fitted to a table, and with which parameters."""

from __future__ import annotations

import difflib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import enet_path
from sklearn.preprocessing import scale

from rowsparse._arrays import Array, Index, Mask
from rowsparse._text import joined
from rowsparse.evaluation.survival import targets_for
from rowsparse.selectors import TopK, list_selectors
from rowsparse.selectors.base.selector import ScoreSelector
from rowsparse.selectors.base.shared_parameters import task_taken
from rowsparse.selectors.registry import SelectorInfo, selector_info
from rowsparse.selectors.topk.loss_defaults import (
    OWN_TASKS,
    effective_alpha,
    effective_loss,
    effective_restarts,
)
from rowsparse.targets import encode_targets
from rowsparse.workflow.messages import InputError, quoted, setting, shown
from rowsparse.workflow.results import DataSummary
from rowsparse.workflow.settings import MethodSettings
from rowsparse.workflow.table import Table


@dataclass(eq=False, repr=False)
class _Ranking(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """The features with the largest scores, ``scores_``; ``order_`` has all, the best first."""

    tasks: ClassVar[tuple[str, ...]] = ("classification", "multilabel", "regression")
    supervised: ClassVar[bool] = True

    n_features_to_select: int = 10
    task: str = "auto"

    def fit(self, X: Any, y: Any) -> Self:
        """Rank the features."""
        self.n_features_in_ = X.shape[1]
        self.scores_ = self._scores(X.toarray() if sp.issparse(X) else np.asarray(X), y)
        self.order_ = np.argsort(-self.scores_, kind="stable")
        return self

    @abstractmethod
    def _scores(self, X: Array, y: Any) -> Array: ...

    def _get_support_mask(self) -> Mask:
        return np.isin(np.arange(self.n_features_in_), self.order_[: self.n_features_to_select])


class Lasso(_Ranking):
    """The features in the order in which they enter the path of the lasso.

    Classes are their 0/1 indicators; several targets share their features (multi-task lasso).
    """

    l1_ratio: ClassVar[float] = 1.0

    def _scores(self, X: Array, y: Any) -> Array:
        Z, Y = scale(X.astype(np.float64)), scale(encode_targets(y, self.task).Y)
        if self.task == "classification" and Y.shape[1] == 2:
            Y = Y[:, 1:]
        goal = Y if Y.shape[1] > 1 else Y[:, 0]
        alphas, coefs, _ = enet_path(np.asfortranarray(Z), goal, l1_ratio=self.l1_ratio)
        sizes = np.linalg.norm(coefs, axis=0) if coefs.ndim == 3 else np.abs(coefs)
        first = np.argmax(sizes > 0, axis=1)
        has_entered = (sizes > 0).any(axis=1)
        # Of those that enter in one step, the one that is larger at its end came first; those that
        # never enter come last, in the order of their correlations with the targets.
        alphas = np.append(alphas, 0.5 * alphas[-1])
        size = sizes[np.arange(first.size), first]
        later = alphas[first + 1] - alphas[first]
        entered = alphas[first] + later / (1.0 + size / max(size.max(), 1e-300))
        relevance = np.linalg.norm(Z.T @ Y, axis=1) / len(Z)
        return np.where(has_entered, entered, alphas[-1] * relevance / (1.0 + relevance))


class ElasticNet(Lasso):
    """The features in the order in which they enter the path of the elastic net.

    Half of its penalty is that of the lasso, half that of the ridge.
    """

    l1_ratio: ClassVar[float] = 0.5


@dataclass(eq=False, repr=False)
class RandomForest(_Ranking):
    """The features with the largest importances in a random forest of 300 trees."""

    class_weight: Any = None
    random_state: Any = None

    def _scores(self, X: Array, y: Any) -> Array:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        if self.task == "regression":
            forest = RandomForestRegressor(300, random_state=self.random_state)
        else:
            forest = RandomForestClassifier(
                300, random_state=self.random_state, class_weight=self.class_weight
            )
        return np.asarray(forest.fit(X, y).feature_importances_)


_OTHERS = {
    info.name: info
    for info in (
        SelectorInfo("lasso", Lasso, "baseline", "Tibshirani 1996", None),
        SelectorInfo("elasticnet", ElasticNet, "baseline", "Zou & Hastie 2005", None),
        SelectorInfo("randomforest", RandomForest, "baseline", "Breiman 2001", None),
    )
}


def find_method(name: str) -> SelectorInfo:
    """What is known of a method, by its name or that of its class.

    >>> find_method("random_forest").reference
    'Breiman 2001'
    """
    plain = "".join(character for character in name.lower() if character.isalnum())
    try:
        return _OTHERS.get(plain) or selector_info(name)
    except ValueError:
        close = difflib.get_close_matches(plain, list_methods(), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "see rowsparse methods."
        raise InputError(f"There is no method {name!r}: {hint}") from None


def list_methods(task: str | None = None) -> list[str]:
    """The names of all methods, or of those for one task."""
    others = [info.name for info in _OTHERS.values() if task is None or task in info.tasks]
    return sorted([*list_selectors(task=task), *others])


# -------------------------------------------------------------------------- what is fitted, and how
# Default time limit of a proof.
_PROOF_SECONDS = 10.0
# With more samples some models, and the scores of all k, take too long.
MANY_SAMPLES = 2000
_GRID = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500)

# Multiples of the k asked for that are scored too: by methods that are quick at each k, by those
# that are not, and for large tables, where more features than asked for take long.
_SHARES, _FEW_SHARES, _SMALLER = (0.25, 0.5, 1.5), (0.5, 1.5), (0.25, 0.5, 0.75)
_NAMED_OTHERWISE = (
    "n_features_to_select",
    "include",
    "exclude",
    "feature_groups",
    "random_state",
    "n_jobs",
)


@dataclass(frozen=True)
class Plan:
    """A method with its parameters, and the table that it is fitted to.

    ``adjusted`` are columns in every model that do not count as features.
    """

    info: SelectorInfo
    table: Table
    params: dict[str, Any]
    adjusted: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Name of the selector's class."""
        return str(self.info.cls.__name__)

    def accepts(self, parameter: str) -> bool:
        """Whether the selector has a parameter of that name."""
        return parameter in signature(self.info.cls).parameters

    @property
    def unit_of(self) -> Index:
        """For every column the first one of those that are selected with it, or not at all."""
        grouped = "feature_groups" in self.params
        return self.table.unit_of if grouped else np.arange(self.table.X.shape[1])

    def units_among(self, columns: Any) -> Index:
        """The features that these columns stand for, those of a category once."""
        return np.unique(self.unit_of[np.asarray(columns, dtype=np.intp)])

    @property
    def _included(self) -> list[int]:
        """The columns that must be selected, without those that do not count."""
        return [j for j in self.params.get("include", ()) if j not in self.adjusted]

    @property
    def forced(self) -> Mask:
        """The columns that must be selected, with those that are selected together with them."""
        return np.isin(self.unit_of, self.units_among(self._included))

    @property
    def choices(self) -> Index:
        """The features that may be selected or not, those of a category once."""
        settled = [*self._included, *self.adjusted, *self.params.get("exclude", ())]
        return np.setdiff1d(self.unit_of, self.units_among(settled))

    @property
    def n_units(self) -> int:
        """How many features there are, those of a category counted once."""
        return int(np.unique(self.unit_of).size) - self.n_adjusted

    @property
    def n_adjusted(self) -> int:
        """How many features are in every model and not counted."""
        return int(self.units_among(self.adjusted).size)

    @property
    def n_forced(self) -> int:
        """How many features must be selected, counted in the same way."""
        return int(self.units_among(self._included).size)

    @property
    def n_free(self) -> int:
        """How many features may be selected, counted in the same way."""
        return self.n_units - int(self.units_among(self.params.get("exclude", ())).size)

    def summary(self, notes: Sequence[str] = (), leaks: tuple[str, ...] = ()) -> DataSummary:
        """What results say about the data, where columns in every model are no features."""
        table = self.table
        n_samples, n_columns = table.X.shape
        return DataSummary(
            source=table.path.name,
            sha256=table.sha256,
            n_samples=n_samples,
            n_features=self.n_units,
            task=table.task,
            targets=table.target.names,
            classes=table.target.classes,
            class_counts=table.target.counts,
            notes=tuple(notes),
            leaks=leaks,
            n_columns=n_columns - len(self.adjusted),
            n_events=int(table.y["event"].sum()) if table.task == "survival" else None,
        )

    def check(self, k: int) -> None:
        """Refuse a number of features that what is included or excluded does not allow."""
        check_count(k, self.n_units)
        if self.n_forced > k:
            raise InputError(
                f"{setting('include')} has {self.n_forced} columns, more than {setting('k', k)}."
            )
        if self.n_free < k:
            raise InputError(
                f"{setting('exclude')} leaves {self.n_free} columns, fewer than {setting('k', k)}."
            )

    def counts_up_to(self, k_max: int) -> list[int]:
        """The numbers of features to score, up to ``k_max`` or to all there are.

        All of them for TopK; only some for methods that are fitted anew for each number, and for
        tables with too many samples to score every number quickly.
        """
        least, most = max(self.n_forced, 1), min(k_max, self.n_free)
        if least > most:
            raise InputError(
                f"{setting('include')} has {self.n_forced} columns, more than "
                f"{setting('k_max', most)}."
            )
        if self.info.cls is TopK and self.table.X.shape[0] <= MANY_SAMPLES:
            return list(range(least, most + 1))
        return sorted({least, most, *(k for k in _GRID if least < k < most)})

    def counts_around(self, k: int, n_train: int) -> list[int]:
        """Numbers of features to score beside k.

        Not fewer than must be selected; not more than k if there are too few training samples.
        """
        if self.info.kind == "deep":
            return []
        quick = self.info.cls is TopK or issubclass(self.info.cls, ScoreSelector)
        shares = _SMALLER if self.table.is_large else _SHARES if quick else _FEW_SHARES
        least, most = max(self.n_forced, 1), min(self.n_free, n_train - 1)
        around = {max(round(share * k), 1) for share in shares} - {k}
        return sorted(count for count in around if least <= count <= max(most, k))

    def parameters(self) -> dict[str, Any]:
        """The parameters of the method as they take effect, defaults included.

        Without those that are named otherwise in the settings, or hold columns.
        """
        every = self.selector(1).get_params(deep=False)
        if self.info.cls is TopK:
            n, task = self.table.X.shape[0], self.table.task
            loss = every["loss"] = effective_loss(every["loss"], task, n)
            every["alpha"] = effective_alpha(every["alpha"], loss, task)
            every["n_restarts"] = effective_restarts(every["n_restarts"], loss)
        return {name: value for name, value in every.items() if name not in _NAMED_OTHERWISE}

    def selector(self, k: int) -> Any:
        """The selector of k features."""
        return self.info.cls(self.n_asked(k), **self.params)

    def n_asked(self, k: int) -> int:
        """What a selector is asked for, so that k features are selected."""
        return k + self.n_adjusted if "include" in self.params else k

    def goal(self, rows: Index | None = None) -> Any:
        """What the selector is given as y, for all rows or some.

        Methods that know no survival times select for their martingale residuals in these rows.
        """
        y = self.table.y if rows is None else self.table.y[rows]
        return targets_for(self.info.cls, y, self.table.task)

    def in_fold(self, train: Index) -> Plan:
        """The plan with missing values filled from the training rows of a fold alone."""
        table = self.table.filled_from(train)
        return self if table is self.table else replace(self, table=table)

    def quick(self, k: int) -> Any:
        """The selector for the fits on parts of the samples: without restarts and proof."""
        params = dict(self.params)
        if self.info.name == "topk":
            params |= {"certify": False, "time_limit": None, "n_restarts": 0}
        return self.info.cls(self.n_asked(k), **params)


def check_count(k: int, n: int) -> None:
    """Refuse more features than there are."""
    if k > n:
        raise InputError(f"{setting('k', int(k))} is more than the {n:,} columns to select from.")


def make_plan(table: Table, settings: MethodSettings, seed: int = 0) -> Plan:
    """Decide how a method will be called; refuse settings that it does not have."""
    info = find_method(settings.method)
    if task_taken(info.tasks, table.task) is None:
        raise InputError(
            f"{info.cls.__name__} takes targets for {' or '.join(info.tasks)}; these are for "
            f"{table.task}."
        )
    accepted = signature(info.cls).parameters
    for name in ("certify", "loss", "alpha", "clip", "include", "time_limit"):
        if getattr(settings, name) not in (None, False, "") and name not in accepted:
            raise InputError(
                f"{info.cls.__name__} has no {setting(name)}: leave it out, or take "
                f"{setting('method', 'topk')}."
            )
    _check_loss(table, settings)
    params: dict[str, Any] = {"task": task_taken(info.tasks, table.task), "random_state": seed}
    if table.class_weight is not None:
        params["class_weight"] = table.class_weight
    params = {name: value for name, value in params.items() if name in accepted}
    given = {name: getattr(settings, name) for name in ("loss", "alpha", "clip", "time_limit")}
    params |= {name: value for name, value in given.items() if value is not None}
    if settings.certify:
        params |= {"certify": True, "time_limit": settings.time_limit or _PROOF_SECONDS}
    plan = _with_columns(Plan(info, table, params), settings)
    groups = [part.tolist() for part in plan.table.groups.values()]
    takes_groups = groups and plan.accepts("feature_groups")
    return replace(plan, params=plan.params | {"feature_groups": groups}) if takes_groups else plan


def _check_loss(table: Table, settings: MethodSettings) -> None:
    """Refuse a loss that the target, the categories or a proof do not allow."""
    loss = settings.loss
    own = OWN_TASKS.get(str(loss))
    if own is not None and table.task not in (own, "survival"):
        how = f"{setting('time')} and {setting('event')}" if own == "survival" else ""
        raise InputError(
            f"{setting('loss', loss)} is for {own}, and the target was read for {table.task}: read "
            f"it with {how or setting('task', own)}."
        )
    taken = next((name for name, task in OWN_TASKS.items() if task == table.task), None)
    if taken is not None and loss not in (None, "auto", taken):
        how = f", or take the target as numbers with {setting('task', 'regression')}"
        raise InputError(
            f"The loss for {table.task} is {setting('loss', taken)}: leave {setting('loss', loss)} "
            f"out{'' if table.task == 'survival' else how}."
        )
    if loss == "logistic" and table.task == "regression":
        raise InputError(
            f"{setting('loss', loss)} is for classes and labels, but the target holds numbers: "
            f"take {setting('loss', 'squared')}, or {setting('task', 'classification')} if they "
            "are classes."
        )
    if loss == "l21" and table.groups:
        raise InputError(
            f"{setting('loss', loss)} has no groups, and {quoted(list(table.groups))} is encoded "
            f"as one: take another loss, or leave the column out with {setting('drop')}."
        )


def _with_columns(plan: Plan, settings: MethodSettings) -> Plan:
    """The plan with the columns that must, or must not, be selected."""
    table, params = plan.table, dict(plan.params)
    excluded = table.columns_of("exclude", settings.exclude)
    included = table.columns_of("include", settings.include)
    both = sorted(set(excluded) & set(included))
    if both:
        name = shown(table.names[both[0]])
        raise InputError(f"{setting('include')} and {setting('exclude')} overlap in {name}.")
    adjusted = _adjusted(table, settings.adjust, {"include": included, "exclude": excluded})
    if plan.accepts("include") and (included or adjusted):
        params["include"] = sorted({*included, *adjusted})
    if excluded and plan.accepts("exclude"):
        params["exclude"] = excluded
    elif excluded:
        note = f"{len(excluded)} columns were excluded before selecting."
        table = table.without(excluded, note)
        adjusted = _adjusted(table, settings.adjust, {})
    return replace(plan, table=table, params=params, adjusted=tuple(adjusted))


def _adjusted(table: Table, wanted: str | None, others: dict[str, list[int]]) -> list[int]:
    """The columns in every model, all those of a category; refused if another setting has them."""
    named = {table.origin(j) for j in table.columns_of("adjust", wanted)}
    columns = [j for j in range(len(table.names)) if table.origin(j) in named]
    for name, other in others.items():
        both = sorted(set(columns) & set(other))
        if both:
            raise InputError(
                f"{setting('adjust')} and {setting(name)} overlap in "
                f"{shown(table.origin(both[0]))}."
            )
    if len(columns) == len(table.names):
        raise InputError(f"{setting('adjust')} names all columns: none is left to select from.")
    return columns


def plan_notes(plans: Sequence[Plan]) -> list[str]:
    """Sentences on a table, and on the one or several methods that are fitted to it."""
    table, notes = plans[0].table, [*plans[0].table.notes]
    if plans[0].adjusted:
        names = dict.fromkeys(table.origin(j) for j in plans[0].adjusted)
        notes.append(f"Adjusted for {quoted(list(names))}: in every model, and not counted.")
        apart = [plan.name for plan in plans if not plan.accepts("include")]
        if apart:
            notes.append(
                f"{joined(apart, 3)} selected among the other columns only; the models that score "
                "have both."
            )
    notes += [*_group_notes(plans), *_residual_notes(plans)]
    unweighted = [plan.name for plan in plans if not plan.accepts("class_weight")]
    if unweighted and table.class_weight is not None:
        notes.append(
            f"{joined(unweighted, 3)} selected without weights of classes; the models that score "
            "have them."
        )
    return notes


def _residual_notes(plans: Sequence[Plan]) -> list[str]:
    """Which methods select for the martingale residuals of survival times: at most one sentence."""
    names = [
        plan.name for plan in plans if plan.info.supervised and "survival" not in plan.info.tasks
    ]
    if not names or plans[0].table.task != "survival":
        return []
    know, they = ("knows", "it selects") if len(names) == 1 else ("know", "they select")
    return [f"{joined(names, 5)} {know} no censored times: {they} for martingale residuals."]


def _group_notes(plans: Sequence[Plan]) -> list[str]:
    """How several methods select the columns made of one category: at most two sentences."""
    table = plans[0].table
    if not table.groups:
        return []
    names, notes = quoted(list(table.groups)), []
    single = [plan.name for plan in plans if "feature_groups" not in plan.params]
    if len(single) < len(plans):
        by = (
            ""
            if not single
            else " by " + joined(plan.name for plan in plans if plan.name not in single)
        )
        notes.append(
            f"The columns made of {names} are selected{by} together or not at all, and count once."
        )
    if single:
        know, they = ("knows", "it") if len(single) == 1 else ("know", "they")
        notes.append(
            f"{joined(single, 3)} {know} no groups: of {names} {they} may select single values."
        )
    return notes
