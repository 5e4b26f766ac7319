"""How many features: the numbers that are tried, and the one that their scores suggest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rowsparse._arrays import Array
from rowsparse.evaluation import is_better_low
from rowsparse.selectors import TopK
from rowsparse.selectors.base.selector import ScoreSelector
from rowsparse.selectors.meta.cross_validation import choose
from rowsparse.workflow.cross_validation import MANY_SAMPLES
from rowsparse.workflow.messages import InputError, setting
from rowsparse.workflow.plan import Plan
from rowsparse.workflow.results import KCurve

__all__ = ["counts_around", "counts_up_to", "score_curve"]

_GRID = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500)

# Multiples of the k asked for that are scored too: by methods that are quick at each k, by those
# that are not, and for large tables, where more features than asked for take long.
_SHARES, _FEW_SHARES, _SMALLER = (0.25, 0.5, 1.5), (0.5, 1.5), (0.25, 0.5, 0.75)


def counts_up_to(plan: Plan, k_max: int) -> list[int]:
    """The numbers of features to score, up to ``k_max`` or to all there are.

    Every one for TopK, and some of them for methods that are fitted anew for each, and where
    there are so many samples that it takes long to score one.
    """
    least, most = max(plan.n_forced, 1), min(k_max, plan.n_free)
    if least > most:
        raise InputError(
            f"{setting('include')} has {plan.n_forced} columns, more than {setting('k_max', most)}."
        )
    if plan.info.cls is TopK and plan.table.X.shape[0] <= MANY_SAMPLES:
        return list(range(least, most + 1))
    return sorted({least, most, *(k for k in _GRID if least < k < most)})


def counts_around(plan: Plan, k: int, n_train: int) -> list[int]:
    """Numbers of features to score beside k.

    Not fewer than must be selected; not more than k if there are too few training samples.
    """
    if plan.info.kind == "deep":
        return []
    quick = plan.info.cls is TopK or issubclass(plan.info.cls, ScoreSelector)
    shares = _SMALLER if plan.table.is_large else _SHARES if quick else _FEW_SHARES
    least, most = max(plan.n_forced, 1), min(plan.n_free, n_train - 1)
    around = {max(round(share * k), 1) for share in shares} - {k}
    return sorted(count for count in around if least <= count <= max(most, k))


def score_curve(
    metric: str,
    ks: Sequence[int],
    scores: Array,
    taken: int | None = None,
    n_folds: int | None = None,
) -> KCurve:
    """The curve of scores of shape (n_splits, n_ks).

    ``taken`` is the k asked for, if any; otherwise the fewest features whose mean score is within
    one standard error of the best are taken. ``n_folds`` is the number of folds if they are
    repeated.
    """
    table, alphas = scores[:, None, :], np.zeros(1)
    table = -table if is_better_low(metric) else table
    best = choose(table, alphas, one_std_err=False)[1]
    enough = choose(table, alphas, one_std_err=True, n_folds=n_folds)[1]
    return KCurve(
        metric=metric,
        ks=tuple(ks),
        mean=tuple(scores.mean(axis=0).tolist()),
        sd=tuple(scores.std(axis=0).tolist()),
        best_k=ks[best],
        enough_k=ks[enough],
        chosen_k=ks[enough] if taken is None else taken,
    )
