"""Numbers as people write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

_SPACE = "\u00a0"  # A number and its unit stay on one line.
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_METRIC_NAMES = {
    "auc": "AUC",
    "balanced_accuracy": "balanced accuracy",
    "d2": "D²",
    "log_loss": "log loss",
    "macro_f1": "macro-F1",
    "mae": "mean absolute error",
    "r2": "R²",
    "rmse": "RMSE",
}
_SHARES = {"accuracy", "balanced_accuracy"}


def metric_name(metric: str) -> str:
    """What a metric is called."""
    return _METRIC_NAMES.get(metric, metric)


def best_word(metric: str) -> str:
    """What the best score is: the highest, or the lowest of an error."""
    from rowsparse.evaluation.metrics import is_better_low

    return "lowest" if is_better_low(metric) else "highest"


def finite(values: Iterable[float]) -> list[float]:
    """The values that are neither NaN nor infinite."""
    return [float(value) for value in values if math.isfinite(value)]


def decimal(value: float, places: int = 2) -> str:
    """A number with ``places`` decimal places, and never a negative zero.

    Examples
    --------
    >>> decimal(-0.456), decimal(-0.001), decimal(float("nan"))
    ('−0.46', '0.00', '–')
    """
    if not math.isfinite(value):
        return "–"
    return f"{round(value, places) + 0.0:,.{places}f}".replace("-", "−")


def number(value: float, digits: int = 3) -> str:
    """A number with about `digits` figures that matter.

    Examples
    --------
    >>> number(0.01234), number(7129), number(1.5e-7), number(float("nan"))
    ('0.0123', '7,129', '1.5·10⁻⁷', '–')
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    size = abs(value)
    if size and not 1e-4 <= size < 1e9:
        mantissa, power = _parts(value, digits)
        text = (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + power
    elif size >= 10 ** (digits - 1) or value == int(value):
        text = f"{value:,.0f}"
    else:
        places = digits - 1 - math.floor(math.log10(size))
        text = f"{value:.{places}f}".rstrip("0").rstrip(".")
    return text.replace("-", "−")


def p_value(value: float) -> str:
    """A p-value: three decimals, or a power of ten where these would be 0.00.

    Examples
    --------
    >>> p_value(0.0312), p_value(1.26e-7), p_value(0.0)
    ('0.031', '1.3·10⁻⁷', '<\\xa010⁻³⁰⁰')
    """
    if not value > 1e-300:
        return "–" if math.isnan(value) else f"<{_SPACE}10⁻³⁰⁰"
    if value >= 9.995e-3:
        return decimal(value, 3)
    return "".join(_parts(value, 2))


def _parts(value: float, digits: int) -> tuple[str, str]:
    """A number as a mantissa and a power of ten."""
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    return mantissa, f"·10{str(int(power)).translate(_RAISED)}"


def fixed_format(values: Iterable[float], digits: int = 3) -> Callable[[float], str]:
    """How to write the numbers of a column: all with the decimals that the largest needs.

    Examples
    --------
    >>> [fixed_format([12.34, 0.5])(value) for value in (12.34, 0.5)]
    ['12.3', '0.5']
    >>> fixed_format([1e-7])(1e-7)
    '1·10⁻⁷'
    """
    largest = max(map(abs, finite(values)), default=0.0)
    if largest and not 1e-4 <= largest < 1e9:
        return number
    most = digits - 1 - math.floor(math.log10(largest)) if largest else digits - 1
    places = min(max(most, 0), 6)
    return lambda value: decimal(value, places) if math.isfinite(value) else number(value)


def digits_between(low: float, high: float) -> int:
    """How many figures tell the ticks of an axis from low to high apart, for :func:`number`.

    Examples
    --------
    >>> digits_between(0, 10), digits_between(281.38, 281.42)
    (3, 6)
    """
    size = max(abs(low), abs(high))
    if not high > low:
        return 3
    return max(3, math.ceil(math.log10(size / (high - low))) + 2)


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage.

    Examples
    --------
    >>> percent(0.9583).replace("\\u00a0", " ")
    '95.8 %'
    """
    text = decimal(100 * share, digits)
    return f"{text}{_SPACE}%" if math.isfinite(share) else text


def percent_up(share: float) -> str:
    """A percentage with two figures, never less than `share`: a proof may not be rounded down.

    Examples
    --------
    >>> percent_up(0.00401).replace("\\u00a0", " "), percent_up(0.004).replace("\\u00a0", " ")
    ('0.41 %', '0.4 %')
    """
    return f"0.001{_SPACE}%" if share < 1e-5 else _two_figures(100 * share, math.ceil, -1e-9)


def percent_down(share: float) -> str:
    """A percentage of two figures, never more than `share`: a bound may not be rounded up.

    Examples
    --------
    >>> percent_down(0.00409).replace("\\u00a0", " "), percent_down(0.02).replace("\\u00a0", " ")
    ('0.4 %', '2 %')
    """
    if not share >= 1e-5:
        return f"0{_SPACE}%"
    if not math.isfinite(share):
        return f"∞{_SPACE}%"
    return _two_figures(100 * share, math.floor, 1e-9)


def _two_figures(value: float, rounded: Callable[[float], int], slack: float) -> str:
    """A percentage rounded to two figures; of its last one, `slack` is rounding."""
    places = max(0, 1 - math.floor(math.log10(value)))
    text = f"{rounded(value * 10.0**places + slack) / 10.0**places:.{places}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + f"{_SPACE}%"


def score(metric: str, value: float) -> str:
    """A score in the way its metric is usually given.

    Examples
    --------
    >>> score("accuracy", 0.5).replace("\\u00a0", " "), score("r2", 0.5)
    ('50.0 %', '0.500')
    """
    if metric in ("mae", "rmse"):
        return number(value)  # in the units of the target
    return percent(value) if metric in _SHARES else decimal(value, 3)


def spread(metric: str, value: float) -> str:
    """A standard deviation of a score, without its unit."""
    if not math.isfinite(value):
        return ""
    text = decimal(100 * value, 1) if metric in _SHARES else score(metric, value)
    return f"±{_SPACE}{text}"


def seconds(value: float) -> str:
    """A time.

    Examples
    --------
    >>> [seconds(s).replace("\\u00a0", " ") for s in (0.00042, 0.35, 12.34, 75, 7260)]
    ['0.4 ms', '0.35 s', '12.3 s', '1 min 15 s', '2 h 1 min']
    """
    if not math.isfinite(value):
        return "–"
    if value < 0.0995:
        return f"{number(1000 * value, 1 if value < 0.01 else 2)}{_SPACE}ms"
    if value < 59.95:
        return f"{value:.2f}{_SPACE}s" if value < 0.995 else f"{value:.1f}{_SPACE}s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes}{_SPACE}min" + (f" {rest}{_SPACE}s" if rest else "")
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,}{_SPACE}h" + (f" {minutes}{_SPACE}min" if minutes else "")


def tick_score(metric: str, value: float) -> str:
    """A score at an axis, as short as it can be.

    Examples
    --------
    >>> tick_score("accuracy", 0.925).replace("\\u00a0", " "), tick_score("r2", 0.5)
    ('92.5 %', '0.5')
    """
    return f"{number(100 * value)}{_SPACE}%" if metric in _SHARES else number(value)
