"""What the code of a page draws."""

from __future__ import annotations

from io import BytesIO
from typing import Any

_DPI = 110


def figure_of(code: str, names: dict[str, Any], page: str) -> bytes:
    """The figure that code draws last with pyplot, as PNG; ``names`` are those it may use."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    exec(compile(code, page, "exec"), names)
    if not plt.get_fignums():
        raise ValueError(f"{page}: this code draws nothing:\n{code}")
    image = BytesIO()
    plt.gcf().savefig(image, dpi=_DPI, metadata={"Software": None})
    plt.close("all")
    return image.getvalue()
