"""In a volcano plot every feature has its place, and no name covers anything."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rowsparse.report.volcano import HEIGHT, volcano

from . import samples
from .reading import classed, parse, place


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
