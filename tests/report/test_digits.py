"""The picture of the digits: a row for each method, its pixels outlined in every image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from rowsparse.demo import DigitsDemo, DigitsRow
from rowsparse.report.digits import draw_digits, save_digits_figure

PICKED = np.array([9, 20, 43])
METHODS = tuple(
    DigitsRow(name, "A. Author 2020", np.isin(np.arange(64), PICKED), 0.1, 700.0, (0.8, 0.9))
    for name in ("First", "Second")
)
WHOLE = DigitsRow("All pixels", "", np.ones(64, dtype=bool), None, 553.5, (0.97, 0.99))
RESULT = DigitsDemo(3, np.random.default_rng(0).uniform(0, 16, (10, 8, 8)), (*METHODS, WHOLE))


def test_every_method_has_ten_images_with_its_pixels() -> None:
    figure = draw_digits(RESULT)
    assert len(figure.axes) == 2 * 10
    for axis in figure.axes:
        centres = [(p.get_x() + 0.42, p.get_y() + 0.42) for p in axis.patches]
        pixels = [round(8 * y + x) for x, y in centres]
        assert pixels == PICKED.tolist()
    digits = [np.asarray(axis.images[0].get_array()) for axis in figure.axes[10:]]
    np.testing.assert_array_equal(digits, RESULT.mean_digits)


def test_the_words_name_the_methods_and_their_accuracies() -> None:
    figure = draw_digits(RESULT)
    beside = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert beside[:4] == ["First", "A. Author 2020", "85.0 %", "correct"]
    title, _, foot = (text.get_text() for text in figure.texts)
    assert title == "Which 3 pixels tell the ten handwritten digits apart?"
    assert foot.endswith("With all 64 pixels: 98.0 %.")


def test_the_file_is_an_image(tmp_path: Path) -> None:
    save_digits_figure(RESULT, tmp_path / "digits.png")
    with Image.open(tmp_path / "digits.png") as image:
        assert image.size[0] == round(11.2 * 160)
