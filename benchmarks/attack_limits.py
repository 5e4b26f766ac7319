"""Limits of the provers made so small that tiny problems take the paths of large ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

from rowsparse.solvers.proof import (
    column_candidates,
    diagonal,
    expander,
    gram_candidates,
    tree,
)

# Without a Gram matrix, with columns in blocks, with few or no choices that are tried instead of
# relaxed, with working sets that grow one by one, and with problems of their own for most nodes.
_SMALL: tuple[tuple[ModuleType, dict[str, Any]], ...] = (
    (gram_candidates, {"_MAX_GRAM": 0}),
    (gram_candidates, {"_MAX_PAIRED": 2, "_FEW_PAIRED": 0}),
    (gram_candidates, {"_BLOCK_ENTRIES": 16}),
    (gram_candidates, {"_CHEAP_PAIRS": 3, "_LEAST_CHUNK": 1}),
    (gram_candidates, {"_CHUNK": 2, "_GROUP_ENTRIES": 1}),
    (column_candidates, {"_FEW_WAYS": 0, "_MAX_WAYS": 1}),
    (column_candidates, {"_BLOCK_ENTRIES": 16}),
    (column_candidates, {"_BATCH_ENTRIES": 1}),
    (expander, {"_FIRST_SET": 1}),
    (expander, {"_LIKELY": 1, "_MIN_ENTERING": 1}),
    (expander, {"_COMPACT": 0.9}),
    (tree, {"_OPEN_PER_TASK": 2, "_NODES_BEFORE_SEARCH": 1}),
    (diagonal, {"_NODES_PER_FEATURE": 0}),
)


@contextmanager
def small_limits(seed: int) -> Iterator[None]:
    """About half of the limits, which ones depends on the seed."""
    drawn = np.random.default_rng([seed, 3]).random(len(_SMALL)) < 0.5
    with ExitStack() as stack:
        for (module, limits), is_drawn in zip(_SMALL, drawn, strict=True):
            if is_drawn:
                stack.enter_context(mock.patch.multiple(module, **limits))
        yield
