"""In a volcano plot every feature has its place, and no name covers anything."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rowsparse.report.lines import HEAD, NARROW, WIDE
from rowsparse.report.volcano import HEIGHT, RADIUS, placed_labels, volcano

from . import samples
from .reading import classed, parse, place


@pytest.mark.parametrize("n", [3, 12, 60])
def test_labels_cover_no_line_no_dot_and_no_other_label(n: int) -> None:
    rng = np.random.default_rng(n)
    dots = [(x, y, f"gene_{at:04d}") for at, (x, y) in enumerate(rng.random((n, 2)) * [97, 290])]
    labels = placed_labels(dots, [150.0], (HEAD, 318.0), [50.0])
    assert labels
    for width in (NARROW, 400, WIDE, 1500):
        shown = [one for one in labels if width >= WIDE or not one.is_extra]
        boxes = [one.box(width) for one in shown]
        for at, (left, right, top, bottom) in enumerate(boxes):
            assert left >= 0
            assert right <= width
            assert top >= HEAD
            assert bottom <= 318
            assert not top < 150 < bottom
            assert not left < width / 2 < right
            for a, b, c, d in boxes[:at]:
                assert right <= a or b <= left or bottom <= c or d <= top
            for x, y, _ in dots:
                far = abs(x * width / 100 - np.clip(x * width / 100, left, right))
                assert far >= RADIUS or not top - RADIUS < y < bottom + RADIUS


def test_few_labels_all_have_room_on_a_phone() -> None:
    labels = placed_labels([(10, 50, "a"), (50, 90, "b"), (95, 130, "c")], [], (HEAD, 318.0))
    assert [(one.words, one.is_extra) for one in labels] == [
        ("a", False),
        ("b", False),
        ("c", False),
    ]
    assert labels[-1].side == -1


def test_every_feature_is_drawn_and_the_selected_ones_are_marked() -> None:
    result = samples.with_tests(samples.genes(8, 300))
    assert result.tests is not None
    root = parse(volcano(result.tests, result.features, 40))
    dots = classed(root, "dot")
    assert len(dots) == 8
    # Lower p-values are higher up.
    order = np.argsort([result.tests.p[f.index] for f in result.features])
    heights = [place(dots[at], "cy")[0] for at in order.tolist()]
    assert all(a <= b for a, b in pairwise(heights))
    cloud = classed(root, "cloud")[0].get("d", "")
    assert 200 < cloud.count("M") <= 292
    assert all(0 <= place(dot, "cx")[0] <= 100 for dot in dots)
    assert all(0 <= place(dot, "cy")[0] <= HEIGHT for dot in dots)
    assert len(classed(root, "level")) == (result.tests.count() > 0)


def test_a_volcano_of_many_features_is_a_small_drawing() -> None:
    result = samples.with_tests(samples.genes(20, 20_000))
    assert result.tests is not None
    assert len(volcano(result.tests, result.features, 40)) < 100_000


def test_infinite_effects_and_p_of_zero_are_inside() -> None:
    result = samples.with_tests(samples.genes(3, 30))
    assert result.tests is not None
    j = result.features[0].index
    result.tests.effects[j], result.tests.p[j], result.tests.fdr[j] = np.inf, 0.0, 0.0
    root = parse(volcano(result.tests, result.features, 40))
    assert all(np.isfinite(place(dot, "cx", "cy")).all() for dot in classed(root, "dot"))
