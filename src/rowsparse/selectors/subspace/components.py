"""Scores from the components of a subspace, and the number of components."""

from __future__ import annotations

from typing import Any

from rowsparse._arrays import Mask
from rowsparse._validation import resolve_count
from rowsparse.selectors.base.selector import ScoredFeatures
from rowsparse.selectors.base.source import Samples
from rowsparse.solvers.solution import Solution


def scored_features(solution: Solution, varies: Mask, *, scale: float = 1.0) -> ScoredFeatures:
    """A solution as scored features; ``scale`` converts its objective to the units of X."""
    return ScoredFeatures(
        scores=solution.scores,
        varies=varies,
        support=solution.support,
        n_iter=solution.n_iter,
        converged=solution.converged,
        attributes={
            "components_": solution.W.T.copy(),
            "objective_": float(solution.objective * scale),
            "history_": solution.history * scale,
        },
    )


def resolve_components(
    n_components: int | None, default: int, selector: Any, source: Samples
) -> int:
    """The dimension of the subspace: at most the number of features it is made of."""
    if n_components is None:
        return min(default, source.k)
    asked = resolve_count(selector.n_features_to_select, source.X.shape[1])
    if n_components > asked:
        raise ValueError(
            f"n_components must be at most n_features_to_select={asked}, so that {asked} features "
            f"can carry it; got {n_components}."
        )
    return min(int(n_components), source.k)
