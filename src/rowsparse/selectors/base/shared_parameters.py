"""The parameters that selectors share: their constraints, the check before a fit, and docstrings.

A line ``{name}`` in a docstring stands for the entry of that name below; ``{inherited_parameters}``
and ``{inherited_attributes}`` for those sections of the class it is derived from. They are filled
in when a class or function is defined.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Collection
from inspect import cleandoc
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from rowsparse._parameters import Allowed, AnyValue, Constraint, Flag, Number, OneOf, Satisfies
from rowsparse.targets import ASKED_TASKS, TASKS

__all__ = [
    "COUNT",
    "VARIANTS",
    "allowed_values",
    "check_parameters",
    "documented_attributes",
    "filled_docstring",
    "generator",
    "task_taken",
    "with_task",
]

VARIANTS = ("corrected", "published")


def _is_count(value: Any) -> bool:
    if isinstance(value, numbers.Integral):
        return value is not True and int(value) >= 1
    return Number(low=0, low_open=True, high=1).accepts(value)


def _is_class_weight(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, str) and value == "balanced")


def _is_number_of_workers(value: Any) -> bool:
    return Number(integer=True).accepts(value) and value != 0


def _is_random_state(value: Any) -> bool:
    try:
        check_random_state(value)
    except (TypeError, ValueError):
        return False
    return True


COUNT = Satisfies("an integer of at least 1, or a fraction above 0 and at most 1", _is_count)

# A class overrides these and adds its own parameters in its class attribute ``allowed``.
_SHARED: Allowed = {
    "n_features_to_select": COUNT,
    "variant": OneOf(VARIANTS),
    "fit_intercept": Flag(),
    "standardize": Flag(),
    "clip": Number(low=0.0, low_open=True, optional=True),
    "task": OneOf(TASKS),
    "class_weight": Satisfies("'balanced', a dict", _is_class_weight, optional=True),
    "n_restarts": Number(low=0, integer=True),
    "tol": Number(low=0.0, low_open=True),
    "max_iter": Number(low=1, integer=True),
    "time_limit": Number(low=0.0, low_open=True, optional=True),
    "n_jobs": Satisfies(
        "an integer other than 0, with -1 for all processors", _is_number_of_workers, optional=True
    ),
    "random_state": Satisfies(
        "an integer from 0 to 2**32 - 1, a RandomState", _is_random_state, optional=True
    ),
    "include": AnyValue(),
    "exclude": AnyValue(),
    "feature_groups": AnyValue(),
}


def allowed_values(cls: type) -> dict[str, Constraint]:
    """The constraint of each parameter: shared ones, overridden along the class hierarchy."""
    table = dict(_SHARED)
    for base in reversed(cls.__mro__):
        table |= vars(base).get("allowed", {})
    return table


def check_parameters(estimator: Any) -> None:
    """Raise an error of one sentence for the first parameter with a wrong value."""
    table = allowed_values(type(estimator))
    for name, value in estimator.get_params(deep=False).items():
        if name in table:
            table[name].check(name, value)


def task_taken(tasks: Collection[str], task: str) -> str | None:
    """The task that a selector of some tasks takes targets for, None if it does not take them.

    Of survival times these are the martingale residuals, which the caller has to pass.
    """
    if task in ASKED_TASKS and task not in tasks:
        task = "regression"
    return task if task in tasks else None


def with_task(selector: Any, task: str) -> Any:
    """A clone whose parameters ``task``, also those of selectors within it, are no longer "auto".

    What y holds is a property of all samples: some of them may look like something else. Counts
    are numbers to those that know none.
    """
    fresh = clone(selector)
    params = fresh.get_params(deep=True)
    for name, value in params.items():
        outer, _, last = name.rpartition("__")
        owner = params[outer] if outer else fresh
        taken = task_taken(getattr(owner, "tasks", ()), task)
        if last == "task" and value == "auto" and taken is not None:
            owner.set_params(task=taken)
    return fresh


def generator(random_state: Any) -> np.random.Generator:
    """A NumPy generator from a ``random_state`` of scikit-learn."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


# ------------------------------------------------------------------------------------- docstrings
Documented = TypeVar("Documented")

_ATTRIBUTES = re.compile(r"^Attributes\n-+\n", re.MULTILINE)
_HEADING = re.compile(r"^\w+\n-+\n", re.MULTILINE)
_PLACEHOLDER = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)

_ENTRIES = {
    # ------------------------------------------------------------------------- parameters
    "targets": """
y : array-like of shape (n_samples,) or (n_samples, n_targets)
    Class labels, 0/1 label indicators (dense or sparse), or numbers.
sample_weight : array-like of shape (n_samples,), optional
    Weight of each sample; an integer weight equals repeating the sample.
""",
    "n_features_to_select": """
n_features_to_select : int or float, default=10
    How many features to keep; a float between 0 and 1 is a share of all.
""",
    "fit_intercept": """
fit_intercept : bool, default=True
    Whether b is free.
""",
    "standardize": """
standardize : bool, default=True
    Whether columns are centred and scaled to unit standard deviation (on the fly).
    Coefficients come back in the units of the data.
""",
    "clip": """
clip : float, optional
    Limit for standardised columns: they are cut off at -clip and clip and standardised again
    before anything else, so that a few extreme values, such as the counts of rare words, weigh
    less. Objective, coefficients and proof are about these columns; ``transform`` returns the
    columns as they are. None for no limit.
""",
    "standardize_or_centre": """
standardize : bool, default=True
    Whether columns are centred and scaled to unit standard deviation (on the fly) or centred
    only.
""",
    "task": """
task : {TASKS}, default="auto"
    What y holds{IF_GIVEN}. "auto": text, booleans and categories are classes; whole numbers
    are if they take few values, each seen several times (at most 20 values, or 50 about
    equally frequent ones); other numbers are numbers, and columns of 0 and 1 are labels. A
    warning says so where it is a close call.
""",
    "class_weight": """
class_weight : None, "balanced" or dict, default=None
    Weights of the classes, multiplied into ``sample_weight``.
""",
    "aggregate": """
aggregate : {"mean", "max", "mean_rank"}, default="mean"
    How the scores of several labels, each with and without it, become one: their mean, the
    largest, or one over the mean rank. Constant labels are left out.
""",
    "alpha": """
alpha : float or "auto", default="auto"
    Ridge, per sample: the weight of ||W||_F^2, or with a loss that is a likelihood of half of
    it, is ``alpha`` times the sum of the sample weights. It counts on standardised columns unless
    ``standardize=False``. "auto" is 0.02 for the logistic and the Cox loss, 0.1 for the Poisson
    loss, and for the squared one 0.1 for numbers and 0.5 for classes and labels: unlike ridges,
    so compare losses at given ones.
""",
    "path_loss": """
loss : {"auto", "squared", "logistic", "poisson", "cox"}, default="auto"
    The sum of squared residuals; or, for classes and labels, the negative log-likelihood of
    logistic regression: of the second of two classes; of several classes each against the
    rest, or of each label, summed; or, for counts, half the deviance of Poisson regression; or,
    for survival times, half that of Cox regression. "auto" is "cox" for structured arrays of
    events and times, "logistic" for classes and labels and "squared" for numbers, whole ones
    too; of classes and labels from more than 100,000 samples, and from Moments and streams, it
    is always "squared".
""",
    "constraints": """
include, exclude : list of int or str, optional
    Columns that must and must not be selected, by index or name.
feature_groups : list of lists, or array of shape (n_features,), optional
    Columns that come and go together: lists of columns, each column in one list at most and
    on its own if in none, or one label a column.
""",
    "network": """
standardize : bool, default=True
    Whether columns are scaled to unit standard deviation; they are centred in any case.
device : str or None, default=None
    Where to train: a device of PyTorch, or "auto" for a GPU if there is one. None is the
    device of X if X is a tensor, and the CPU otherwise.
time_limit : float or None, default=None
    Seconds after which training ends, wherever it is; the result then depends on the machine.
""",
    # ------------------------------------------------------------------- fitted attributes
    "choice": """
support_ : array of bool of shape (n_features,)
    The selected features.
ranking_ : array of int of shape (n_features,)
    1 for the selected features, then 2, 3, ... by falling score.
{input}
""",
    "row_norms_model": """
scores_ : array of shape (n_features,)
    Row norms of the coefficients; features with a zero row are scored, below all others, by
    how close they are to entering.
{model}
""",
    "order": """
order_ : array of int of shape (n_features,)
    All features, the best first; constant columns come last.
""",
    "order_if_gamma": """
order_ : array of int of shape (n_features,)
    All features, the best first, if ``gamma`` was given: its first k are the choice for k.
""",
    "model": """
coef_ : array of shape (n_targets, n_features)
    Coefficients in the units of the data, a row for each class, label or column of y; of shape
    (n_features,) for one-dimensional y of numbers, as in scikit-learn.
intercept_ : array of shape (n_targets,)
    Intercepts; a float for one-dimensional y of numbers.
""",
    "clip_limits": """
clip_limits_ : array of shape (2, n_features)
    With ``clip``: the least and the largest value of each column, infinite if it is constant.
    The linear model is ``np.clip(X, *clip_limits_) @ coef_.T + intercept_``.
""",
    "iterations": """
history_ : array
    The objective after each iteration.
n_iter_ : int
    Number of iterations.
converged_ : bool
    Whether the method's own criterion was met; if not, a ``ConvergenceWarning`` says so.
""",
    "convergence": """
n_iter_ : int
    Number of iterations.
converged_ : bool
    Whether the method's own criterion was met; if not, a ``ConvergenceWarning`` says so.
""",
    "search": """
scores_ : array of shape (n_features,)
    For a selected feature, how much the objective rises without it; for the others, on a
    scale below these, how much it would fall with them.
objective_ : float
    The objective at ``coef_``, of W in units of the standardised columns.
history_, n_iter_ : array and int
    The best objective after the first start and after each round of others, and their number.
n_starts_ : int
    Number of starts.
""",
    "input": """
task_ : str
    What y was taken for: "classification", "multilabel" or "regression"{UNLESS_GIVEN}.
classes_ : array
    The classes, for classification.
{columns}
""",
    "streamed": """
moments_ : Moments
    After ``partial_fit``: the statistics of all blocks so far.
n_passes_ : int
    After a fit from :class:`RowBlocks` or a dask collection: how often it was read.
""",
    "columns": """
n_features_in_ : int
    Number of columns of X.
feature_names_in_ : array of str
    Names of the columns, if X has them.
""",
}


def filled_docstring(documented: Documented) -> Documented:
    """Replace the placeholders in the docstring of a class or function; a decorator."""
    if documented.__doc__ is not None:  # it is None under python -OO
        if isinstance(documented, type):
            documented._docstring = documented.__doc__  # type: ignore[attr-defined]
        documented.__doc__ = _filled(documented, documented.__doc__)
    return documented


def documented_attributes(documented: type) -> frozenset[str] | None:
    """The fitted attributes that the docstrings of a class and its bases list.

    None under python -OO, where there are no docstrings.
    """
    docs = [vars(base).get("__doc__") for base in documented.__mro__[:-1]]
    if not any(docs):
        return None
    sections = [re.split(_ATTRIBUTES, cleandoc(doc))[1:2] for doc in docs if doc]
    lists = [re.split(_HEADING, section)[0] for found in sections for section in found]
    names = [re.findall(r"^([\w, ]+) :", listed, re.MULTILINE) for listed in lists]
    return frozenset(name for found in names for entry in found for name in entry.split(", "))


def _inherited(documented: Any, section: str) -> str:
    """A section of the docstring of the first base class that has one, for this class."""
    base = next(base for base in documented.__mro__[1:] if vars(base).get("_docstring"))
    text = cleandoc(base._docstring)
    return re.split(rf"^{section}\n-+\n", text, flags=re.M)[1].partition("\n\n")[0]


def _filled(documented: Any, text: str) -> str:
    return _PLACEHOLDER.sub(lambda match: _entry(documented, match[2], indent=match[1]), text)


def _entry(documented: Any, name: str, *, indent: str) -> str:
    if name.startswith("inherited_"):
        entry = _inherited(documented, name.removeprefix("inherited_").capitalize())
    else:
        entry = _ENTRIES[name].strip("\n")
    text = _filled(documented, entry)
    tasks = getattr(documented, "tasks", TASKS[1:])
    optional = not getattr(documented, "supervised", True)
    listed = ", ".join(f'"{task}"' for task in ("auto", *tasks))
    text = text.replace("{TASKS}", f"{{{listed}}}")
    text = text.replace("{IF_GIVEN}", ", if it is given" if optional else "")
    text = text.replace("{UNLESS_GIVEN}", "; not set without y" if optional else "")
    return "\n".join(indent + line for line in text.split("\n"))
