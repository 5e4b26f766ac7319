"""A fitted selector in a notebook: what it selected, above scikit-learn's diagram."""

from __future__ import annotations

import html
import math
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index

__all__ = ["summary_html"]

_MOST_FEATURES = 20
_LONGEST = 60
# Notebooks keep no style sheet of ours: the few rules are attributes, and colours are inherited.
_CELL = 'style="text-align:left;padding:2px 12px 2px 0"'
_NUMBER = 'style="text-align:right;padding:2px 12px 2px 0"'


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
    strength, heading = _strength(selector)
    chosen = np.flatnonzero(support)
    order = chosen[np.argsort(-strength[chosen], kind="stable")]
    columns: list[tuple[str, Array]] = [(heading, strength)] if heading else []
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


def _strength(selector: Any) -> tuple[Array, str]:
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
        parts.append("proven to be the best possible")
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
