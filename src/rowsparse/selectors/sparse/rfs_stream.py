"""RFS on samples that come in blocks: one pass over them for each step of IRLS."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array
from rowsparse.design import Units
from rowsparse.moments import Moments
from rowsparse.moments.growing_targets import GrowingTargets
from rowsparse.moments.moments import checked_block
from rowsparse.selectors.base.from_moments import MAX_PRODUCTS
from rowsparse.selectors.base.moments import (
    MomentsSample,
    column_scales,
    design_without_rows,
    read_moments,
)
from rowsparse.selectors.base.problem import LinearProblem
from rowsparse.selectors.base.ranges import Dimension
from rowsparse.selectors.base.sample import ALL_CONSTANT
from rowsparse.solvers.l21.irls_sums import Iterate, RowSums, irls_from_sums, row_sums
from rowsparse.solvers.solution import Solution
from rowsparse.streams import RowBlocks
from rowsparse.streams.block import Block
from rowsparse.streams.class_weights import with_class_weights
from rowsparse.streams.passes import gather
from rowsparse.targets import check_sample_weight, target_array

__all__ = ["StreamedProblem", "StreamedSample", "read_stream", "solve_stream", "streamed_problem"]

# Entries of a block that are centred and multiplied at a time.
_CHUNK_ENTRIES = 1 << 22


@dataclass
class StreamedSample(MomentsSample):
    """Statistics of single columns, and the blocks with the class weights in their weights."""

    blocks: RowBlocks
    moments: Moments


def read_stream(selector: Any, blocks: RowBlocks) -> StreamedSample:
    """The first pass; with class weights, the first two."""
    weighted = with_class_weights(blocks, selector.class_weight, selector.task)
    moments = gather(weighted, selector.task, most_products=0)
    if moments.n_features > MAX_PRODUCTS:
        raise ValueError(
            f"RFS needs X'X in memory, and the {moments.n_features} columns are more than "
            f"{MAX_PRODUCTS}: use FStatistic to choose some of them first."
        )
    sample = read_moments(selector, moments, needs_products=False, weighted=True)
    return StreamedSample(**vars(sample), blocks=weighted, moments=moments)


@dataclass
class _Rows:
    """How blocks become rows of the problem: Z, Y and the weights."""

    mean: Array
    inv_scale: Array
    targets: GrowingTargets
    y_unit: float

    def add(
        self,
        sums: RowSums | None,
        block: Block,
        _: int,
        *,
        gamma: float,
        before: Iterate | None,
        last: Iterate | None,
    ) -> RowSums:
        """Add the sums over a block."""
        X, _names = checked_block(block.X)
        n, d = X.shape
        Y, omega = np.empty((0, self.targets.width)), np.empty(0)
        if n:
            Y = self.targets.encoded(target_array(block.y, n))[1] / self.y_unit
            weights = check_sample_weight(block.sample_weight, n)
            omega = np.ones(n) if weights is None else weights
        if d != self.mean.size or Y.shape[1] != self.targets.width:
            raise ValueError("it is not as it was in the pass before: the data must not change.")
        kept = np.flatnonzero(omega)
        step = max(1, _CHUNK_ENTRIES // d)
        # One chunk at least: a block without rows has sums of zeros.
        for start in range(0, max(kept.size, 1), step):
            rows = kept[start : start + step]
            Z = X[rows].toarray() if sp.issparse(X) else X[rows]
            Z = (Z.astype(np.float64) - self.mean) * self.inv_scale
            found = row_sums(Z, Y[rows], omega[rows], gamma, before, last)
            sums = found if sums is None else sums.merged(found)
        assert sums is not None
        return sums


@dataclass
class StreamedProblem(LinearProblem):
    """A problem without rows, and the blocks that have them."""

    blocks: RowBlocks | None = None
    rows: _Rows | None = None


def streamed_problem(
    sample: StreamedSample,
    *,
    standardize: bool,
    fit_intercept: bool,
    dimensions: dict[str, Dimension],
) -> StreamedProblem:
    """The problem of RFS; see :func:`~rowsparse.selectors.base.problem.linear_problem`."""
    found, targets = sample.statistics, sample.targets
    center = bool(standardize or fit_intercept)
    inv_scale, x_unit = column_scales(sample, standardize, center)
    if not inv_scale.any():
        raise ValueError(ALL_CONSTANT)
    mean = found.x_mean if center else np.zeros(inv_scale.size)
    square = found.x_square + found.weight * (found.x_mean - mean) ** 2
    return StreamedProblem(
        design_without_rows(np.sqrt(square) * inv_scale),
        Units(mean, inv_scale, x_unit),
        targets.Y,
        targets,
        None,
        sample.k,
        bool(fit_intercept),
        sample.monitor,
        {"objective": Dimension(y=1), **dimensions},
        found.weight,
        blocks=sample.blocks,
        rows=_Rows(mean, inv_scale, sample.moments.targets, targets.unit),
    )


def solve_stream(problem: StreamedProblem, gamma: float, *, tol: float, max_iter: int) -> Solution:
    """IRLS, a pass over the blocks for each step."""
    blocks, rows = problem.blocks, problem.rows
    assert blocks is not None
    assert rows is not None

    def one_pass(before: Iterate | None, last: Iterate | None) -> RowSums:
        add = partial(rows.add, gamma=gamma, before=before, last=last)
        return blocks.aggregate(add, RowSums.merged)

    return irls_from_sums(
        one_pass,
        gamma,
        fit_intercept=problem.fit_intercept,
        tol=tol,
        max_iter=max_iter,
        monitor=problem.monitor,
    )
