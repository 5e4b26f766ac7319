"""Objectives and duality gaps computed here, from the definition, not taken from a solver."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def l21_norm(A: Array) -> float:
    return float(np.linalg.norm(A, axis=1).sum())


def rfs_objective(X: Array, Y: Array, W: Array, b: Array | float, gamma: float) -> float:
    """||Y - XW - 1b||_21 + gamma ||W||_21."""
    return l21_norm(Y - X @ W - b) + gamma * l21_norm(W)


def rfs_dual(X: Array, Y: Array, Theta: Array, gamma: float, *, centred: bool) -> float:
    """<Y, T> for Theta made feasible: ||t_i|| <= 1, ||x_j'T|| <= gamma, with intercept 1'T = 0."""
    T = Theta - Theta.mean(axis=0) if centred else Theta
    samples = float(np.linalg.norm(T, axis=1).max())
    features = float(np.linalg.norm(X.T @ T, axis=1).max()) / gamma
    return float(np.vdot(Y, T)) / max(1.0, samples, features)


def least_squares_objective(X: Array, Y: Array, W: Array, penalty: float) -> float:
    """1/2 ||Y - XW||_F^2 + penalty ||W||_21."""
    return 0.5 * float(np.sum((Y - X @ W) ** 2)) + penalty * l21_norm(W)


def least_squares_dual(X: Array, Y: Array, W: Array, penalty: float) -> float:
    """<Y, T> - 1/2 ||T||_F^2 at the residual of W, made feasible: ||x_j'T|| <= penalty."""
    R = Y - X @ W
    T = R / max(1.0, float(np.linalg.norm(X.T @ R, axis=1).max()) / penalty)
    return float(np.vdot(Y, T)) - 0.5 * float(np.sum(T**2))


def n_rows(W: Array) -> int:
    """Number of rows that are not exactly zero."""
    return int(np.count_nonzero(W.any(axis=1)))
