"""Images of features that are pixels."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np

from rowsparse._arrays import Array
from rowsparse.report.svg import Svg, tag

__all__ = ["pixel_picture"]


def pixel_picture(image: Array, pixels: Sequence[int], label: str) -> Svg:
    """An image of values from 0 (no ink) to 1, with some pixels outlined."""
    rows, columns = image.shape
    size = {"width": columns, "height": rows}
    return tag(
        "svg",
        tag("image", href=_png(image), **size, preserveAspectRatio="none", class_="ink"),
        tag("rect", **size, class_="frame"),
        *[
            tag("rect", x=at % columns, y=at // columns, width=1, height=1, class_="pixel")
            for at in pixels
        ],
        class_="chart",
        viewBox=f"0 0 {columns} {rows}",
        role="img",
        aria_label=label,
    )


def _png(ink: Array) -> str:
    """A PNG as a data address: black, as opaque as `ink` says."""
    from PIL import Image

    alpha = np.round(255 * np.clip(np.nan_to_num(ink), 0.0, 1.0)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(np.dstack([np.zeros_like(alpha), alpha])).save(file, "png")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
