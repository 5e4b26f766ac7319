"""No name of a dot covers anything."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.report.labels import RADIUS, placed_labels
from rowsparse.report.lines import HEAD, NARROW, WIDE


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
