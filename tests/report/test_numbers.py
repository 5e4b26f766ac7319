"""Numbers are written as people write them, and no proof is rounded down."""

from __future__ import annotations

import math

import pytest

from rowsparse.report.numbers import (
    decimal,
    finite,
    fixed_format,
    metric_name,
    number,
    percent,
    percent_up,
    score,
    seconds,
    spread,
)

from .reading import plain


@pytest.mark.parametrize("gap", [1e-9, 0.000123, 0.00401, 0.0099999, 0.0996, 0.5, 0.9999])
def test_a_proven_percentage_is_never_rounded_down(gap: float) -> None:
    assert float(plain(percent_up(gap)).removesuffix(" %")) >= 100 * gap * (1 - 1e-8)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234567, "1,234,567"),
        (0.5, "0.5"),
        (-0.0312, "−0.0312"),
        (99.96, "100"),
        (2.5e-6, "2.5·10⁻⁶"),
        (3e12, "3·10¹²"),
        (math.inf, "∞"),
        (math.nan, "–"),
    ],
)
def test_numbers_are_written_as_people_do(value: float, text: str) -> None:
    assert number(value) == text


def test_scores_follow_their_metric() -> None:
    assert plain(score("accuracy", 0.9583)) == "95.8 %"
    assert score("r2", -0.25) == "−0.250"
    assert plain(spread("accuracy", 0.031)) == "± 3.1"
    assert spread("r2", math.nan) == ""
    assert percent(math.nan) == "–"
    assert plain(seconds(3600)) == "1 h"
    assert plain(seconds(59.99)) == "1 min"


def test_decimals_have_a_real_minus_and_no_negative_zero() -> None:
    assert decimal(-1.005, 1) == "−1.0"
    assert decimal(-0.004) == "0.00"
    assert decimal(math.inf) == "–"


def test_what_is_not_finite_is_left_out() -> None:
    assert finite([1, math.nan, -math.inf, 2.5]) == [1.0, 2.5]


def test_metrics_have_names_for_people() -> None:
    assert [metric_name(m) for m in ("accuracy", "macro_f1", "r2")] == [
        "accuracy",
        "macro-F1",
        "R²",
    ]


def test_a_column_has_the_decimals_of_its_largest_number() -> None:
    written = fixed_format([5.36, 0.4629, 0.0])
    assert [written(value) for value in (5.36, 0.4629, -0.001, 1234.5)] == [
        "5.36",
        "0.46",
        "0.00",
        "1,234.50",
    ]
    assert fixed_format([123456.0])(123456.4) == "123,456"
    assert fixed_format([])(0.5) == "0.50"
    assert fixed_format([1.0])(float("nan")) == "–"
