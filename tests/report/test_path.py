"""The page of a path has every feature that was ever selected."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from rowsparse.report import path_charts

from . import samples
from .made import parsed


def test_the_path_names_every_feature_that_was_ever_in() -> None:
    result = samples.path()
    ever = {result.names[j] for support in result.supports for j in support}
    words = parsed("path").text["main"]
    assert all(name in words for name in ever)
    rows = [a for a in parsed("path").every("th") if a.get("class") == "feature"]
    assert len(rows) == len(ever)


def test_charts_have_a_bar_for_each_k_and_the_objectives() -> None:
    result = samples.path()
    membership, scores, objective = path_charts(result)
    axes = Figure((10, membership.height / 72)).add_subplot()
    membership.draw(axes)
    names = [label.get_text() for label in axes.get_yticklabels()]
    counts = [sum(result.names.index(name) in s for s in result.supports) for name in names]
    widths = [
        sum(np.ptp(path.vertices[:, 0]) for path in bars.get_paths()) for bars in axes.collections
    ]
    assert widths == counts
    assert scores.name == "scores"
    axes = Figure().add_subplot()
    objective.draw(axes)
    assert axes.lines[0].get_xydata().tolist() == [
        [k, value] for k, value in zip(result.ks, result.objectives, strict=True)
    ]
