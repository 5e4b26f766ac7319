"""Images hold the ink they were given, and the selected pixels lie over their place."""

from __future__ import annotations

import base64
import io
import math

import numpy as np
from PIL import Image

from rowsparse.report.pixels import pixel_picture

from .reading import classed, parse, place


def test_selected_pixels_lie_over_their_place() -> None:
    root = parse(pixel_picture(np.zeros((4, 6)), [0, 7], "A picture"))
    (picture,) = classed(root, "chart")
    assert picture.get("viewBox") == "0 0 6 4"
    assert [place(p, "x", "y", "width") for p in classed(root, "pixel")] == [[0, 0, 1], [1, 1, 1]]


def test_the_png_holds_the_ink() -> None:
    ink = np.array([[0.0, 0.5, 1.0], [1.0, math.nan, 2.0]])
    (image,) = parse(pixel_picture(ink, [], "A picture")).iter("image")
    kind, _, data = image.get("href", "").partition(",")
    assert kind == "data:image/png;base64"
    read = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA"))
    assert read[..., 3].tolist() == [[0, 128, 255], [255, 0, 255]]
    assert not read[..., :3].any()
