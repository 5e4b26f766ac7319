"""The attributes and methods that every fitted selector has.

The fitted attributes are those with a trailing underscore; :class:`FittedSelector` reduces X to
the selected features, and shows in a notebook what was selected.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rowsparse._arrays import Array, Index, Mask, on_device, to_device, to_host
from rowsparse.selectors.base.source import checked_device_array, is_dask, is_foreign
from rowsparse.targets import TASKS

# scikit-learn's check of X sets these, or removes them, itself.
SET_BY_VALIDATION = ("n_features_in_", "feature_names_in_")

_MOST_FEATURES = 20
_LONGEST = 60
# Notebooks keep no style sheet of ours: the few rules are attributes, and colours are inherited.
_CELL = 'style="text-align:left;padding:2px 12px 2px 0"'
_NUMBER = 'style="text-align:right;padding:2px 12px 2px 0"'


# ----------------------------------------------------------------------- fitted attributes
def fitted_attributes(estimator: Any) -> dict[str, Any]:
    """The attributes that fit has set: with a trailing and no leading underscore."""
    return {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and not name.startswith("_")
    }


def forget_last_fit(estimator: Any) -> None:
    """Delete the fitted attributes, except those that the check of X sets."""
    for name in fitted_attributes(estimator).keys() - SET_BY_VALIDATION:
        delattr(estimator, name)


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was if its fit fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        # scikit-learn cleans up the attributes of its callbacks itself.
        callbacks = {name: value for name, value in vars(estimator).items() if "callback" in name}
        vars(estimator).clear()
        vars(estimator).update(before | callbacks)
        raise


# ------------------------------------------------------------------------------ the choice
class FittedSelector(SelectorMixin):  # type: ignore[misc]
    """A selector whose choice is the mask ``support_``."""

    # Tasks of the targets that the method accepts, and whether it needs any.
    tasks: ClassVar[tuple[str, ...]] = TASKS[1:]
    supervised: ClassVar[bool] = True
    # Whether fit works on arrays that are on a device, without copying them to the host.
    takes_device_arrays: ClassVar[bool] = False

    support_: Mask

    @property
    def _requires_targets(self) -> bool:
        """Whether y may not be None, with the present parameters."""
        return self.supervised

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self, "support_")
        return np.asarray(self.support_)

    def transform(self, X: Any) -> Any:
        """Reduce X to the selected features.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            The samples: also a torch tensor or a CuPy array, wherever it is, or a dask array or
            dataframe.

        Returns
        -------
        array of shape (n_samples, n_selected)
            Of the library and on the device of X; a dask collection is not computed.
        """
        if is_dask(X):
            from rowsparse.streams.dask_partitions import selected_columns

            names = getattr(self, "feature_names_in_", None)
            return selected_columns(X, self._get_support_mask(), names)
        if not is_foreign(X):
            return super().transform(X)
        return _take_columns(self, X, np.flatnonzero(self._get_support_mask()))

    def inverse_transform(self, X: Any) -> Any:
        """Put selected features back in their places, among columns of zeros.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_selected)
            What :meth:`transform` returned.

        Returns
        -------
        array of shape (n_samples, n_features)
            Of the library and on the device of X.
        """
        if not is_foreign(X):
            return super().inverse_transform(X)
        support = self._get_support_mask()
        return _put_columns(X, np.flatnonzero(support), support.size)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self._requires_targets
        tags.target_tags.multi_output = self.tasks != ("classification",)
        tags.target_tags.single_output = True
        return tags

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """For notebooks: scikit-learn's diagram, after a fit with a summary above it."""
        diagram = super()._repr_html_
        return lambda: self._summary() + str(diagram())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] = self._summary() + bundle["text/html"]
        return bundle

    def _summary(self) -> str:
        # Looked up where it is: asking for it would make the choice after partial_fit.
        return summary_html(self) if "support_" in vars(self) else ""


def _take_columns(selector: Any, X: Any, columns: Index) -> Any:
    """Some columns of X, checked, in its library and on its device."""
    if on_device(X):
        X = checked_device_array(selector, X, reset=False)
    else:  # a tensor: NumPy checks it in place
        validate_data(selector, to_host(X), dtype=None, reset=False)
    return array_namespace(X).take(X, to_device(columns.astype(np.int64), X), axis=1)


def _put_columns(X: Any, columns: Index, d: int) -> Any:
    """The columns of X in their places among d, all others zero, in its library and device."""
    if X.ndim != 2 or X.shape[1] != columns.size:
        raise ValueError("X has a different shape than during fitting.")
    xp = array_namespace(X)
    full = xp.zeros((X.shape[0], d), dtype=X.dtype, device=getattr(X, "device", None))
    for j, column in enumerate(columns.tolist()):
        full[:, column] = X[:, j]
    return full


# --------------------------------------------------------------------------- in a notebook
def summary_html(selector: Any) -> str:
    """The selected features of a fitted selector, strongest first, and how good the choice is.

    Parameters
    ----------
    selector : object
        With ``support_``, and perhaps ``scores_`` or ``frequencies_``, ``coef_``, ``objective_``,
        ``status_`` and ``gap_``.

    Returns
    -------
    str
        HTML; names of features are shown as text.
    """
    support = np.asarray(selector.support_)
    scores, heading = _shown_scores(selector)
    chosen = np.flatnonzero(support)
    order = chosen[np.argsort(-scores[chosen], kind="stable")]
    columns: list[tuple[str, Array]] = [(heading, scores)] if heading else []
    largest = _largest_coefficients(selector, support.size)
    if largest is not None:
        columns.append(("largest coefficient", largest))
    rows = "".join(_row(selector, int(j), columns) for j in order[:_MOST_FEATURES])
    head = "".join(f"<th {_NUMBER}>{name}</th>" for name, _ in columns)
    left = order.size - _MOST_FEATURES
    more = f"<p>… and {left:,} more.</p>" if left > 0 else ""
    return (
        '<div class="rowsparse-summary">'
        f"<p><b>{_text(type(selector).__name__)}</b>: {chosen.size:,} of {support.size:,} features"
        f"{_quality(selector)}.</p><table><thead><tr><th {_CELL}>feature</th>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{more}</div>"
    )


def _shown_scores(selector: Any) -> tuple[Array, str]:
    for name, heading in (("scores_", "score"), ("frequencies_", "selected in")):
        values = getattr(selector, name, None)
        if values is not None:
            return np.asarray(values, dtype=np.float64), heading
    return np.zeros(len(selector.support_)), ""


def _largest_coefficients(selector: Any, d: int) -> Array | None:
    """For each feature the coefficient of largest size, over all targets."""
    coef = getattr(selector, "coef_", None)
    if coef is None or np.ndim(coef) not in (1, 2) or np.shape(coef)[-1] != d:
        return None
    rows = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    at: Index = np.argmax(np.abs(np.nan_to_num(rows)), axis=0)
    return np.asarray(rows[at, np.arange(d)])


def _row(selector: Any, j: int, columns: list[tuple[str, Array]]) -> str:
    names = getattr(selector, "feature_names_in_", None)
    name = f"x{j}" if names is None else str(names[j])
    cells = "".join(f"<td {_NUMBER}>{_number(float(values[j]))}</td>" for _, values in columns)
    return f"<tr><td {_CELL}><bdi>{_text(name)}</bdi></td>{cells}</tr>"


def _quality(selector: Any) -> str:
    """Objective, and how close to the best possible it is, as the end of a sentence."""
    parts = []
    objective = getattr(selector, "objective_", None)
    if objective is not None and math.isfinite(objective):
        parts.append(f"objective {_number(float(objective))}")
    status, gap = getattr(selector, "status_", None), getattr(selector, "gap_", math.nan)
    if status == "optimal":
        parts.append("proven to be the least possible")
    elif status == "gap" and 0 <= gap < 1:
        parts.append(f"proven to be within {_up(100 * gap)} % of the lowest possible")
    elif status is not None:
        parts.append("not proven to be the best")
    if getattr(selector, "converged_", True) is False:
        parts.append("not converged")
    return "".join(f"; {part}" for part in parts)


def _up(value: float) -> str:
    """Three figures, rounded up: a proof may not be rounded down."""
    if not value:
        return "0"
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(value / step - 1e-9) * step:.3g}"


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "\N{MINUS SIGN}") if math.isfinite(value) else str(value)


def _text(name: str) -> str:
    """A name as text, on one line and not too long."""
    short = name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}…{name[-_LONGEST // 3 :]}"
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in short)
    return html.escape(shown.encode("utf-8", "replace").decode("utf-8"))
