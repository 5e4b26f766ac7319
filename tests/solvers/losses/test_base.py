"""Refits of a loss: each computed once, and once more where it has to be finer."""

from __future__ import annotations

import numpy as np

from rowsparse.solvers.losses.base import Refits
from rowsparse.solvers.losses.l21 import L21Loss

from ..cases import plain, regression


class Counting(L21Loss):
    """The l2,1 loss, with a list of the refits asked of it."""

    asked: list

    def refit(self, support, *, penalty, tol):
        self.asked.append((support.tolist(), penalty, tol))
        return super().refit(support, penalty=penalty, tol=tol)


def refits(tol=1e-3):
    X, Y = regression(20, 6, 2, noise=2.0)
    loss = Counting(plain(X), Y, np.ones(20), True)
    object.__setattr__(loss, "asked", [])
    return Refits(loss, 0.5, tol), loss


def test_a_support_is_refitted_once_whatever_its_order():
    fits, loss = refits()
    one, two = fits.at(np.array([3, 1])), fits.at(np.array([1, 3]))
    assert one is two
    assert loss.asked == [([1, 3], 0.5, 1e-3)]
    assert one.support.tolist() == [1, 3]


def test_a_finer_tolerance_replaces_the_refit_and_a_coarser_one_does_not():
    fits, loss = refits()
    coarse = fits.at(np.array([0, 2]))
    assert fits.at(np.array([0, 2]), 1e-2) is coarse
    fine = fits.at(np.array([0, 2]), 1e-9)
    assert fine.gap <= 1e-9 * fine.objective
    assert fits.at(np.array([0, 2])) is fine
    assert [tol for _, _, tol in loss.asked] == [1e-3, 1e-9]
    assert len(fits) == 1


def test_the_best_is_the_one_with_the_least_objective():
    fits, _ = refits()
    for j in range(6):
        fits.at(np.array([j]))
    assert [fit.support.tolist() for fit in fits.fits] == [[j] for j in range(6)]
    assert fits.best().objective == min(fit.objective for fit in fits.fits)
