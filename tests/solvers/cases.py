"""Small problems that the tests of the solvers share."""

from itertools import combinations

import numpy as np
from sklearn.preprocessing import StandardScaler

from rowsparse.design import make_design
from rowsparse.rows import lpinf_penalty
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.sparse.lpinf_solver import lpinf
from rowsparse.solvers.sparse.nmapg_solver import nmapg
from rowsparse.solvers.sparse.rfs_solver import rfs
from rowsparse.solvers.sparse.rpfs_solver import rpfs


def plain(X):
    """The design of X as it is."""
    return make_design(X, center=False, scale=False)[0]


def design_of(X, center=True):
    return make_design(X, center=center, scale=False)[0]


def dense(design):
    return design.columns(np.arange(design.shape[1]))


def n_rows(W):
    return int(np.count_nonzero(W.any(axis=1)))


def norm21(W):
    return float(np.linalg.norm(W, axis=1).sum())


def planted(seed=0):
    """Three classes that the first five of 200 columns tell apart, standardised."""
    rng = np.random.default_rng(seed)
    y = np.arange(90) % 3
    X = rng.standard_normal((90, 200))
    means = rng.standard_normal((3, 5))
    means -= means.mean(axis=0)
    X[:, :5] += (1.2 * means / np.sqrt(np.mean(means**2, axis=0)))[y]
    return StandardScaler().fit_transform(X), y


def regression(n=40, d=30, c=3, seed=0, noise=0.5, offset=0.0):
    """Targets that depend on the first four columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    W = np.zeros((d, c))
    W[:4] = rng.standard_normal((4, c))[:d]
    return X, X @ W + noise * rng.standard_normal((n, c)) + offset


def wrong_labels(seed, n=24, d=9, classes=3):
    """Classes that differ in a few features, with some labels wrong."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % classes)
    X = rng.standard_normal((n, d)) + 1.0
    X[:, :classes] += 2.0 * np.eye(classes)[y]
    y[: n // 8] = rng.integers(0, classes, n // 8)
    return X, np.eye(classes)[y]


def centred_regression(seed=0, n=30, d=60, c=3, informative=5, noise=0.3):
    """A standardised design and centred targets that depend on the first columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    W = np.zeros((d, c))
    W[:informative] = rng.standard_normal((informative, c)) + 1.0
    Y = X @ W + noise * rng.standard_normal((n, c))
    design, _ = make_design(X, center=True, scale=True)
    return design, Y - Y.mean(axis=0)


def lpinf_objective(design, Y, W, gamma, p):
    return 0.5 * np.sum((Y - dense(design) @ W) ** 2) + gamma * lpinf_penalty(W, p)


def solve_lpinf(design, Y, k, **options):
    options = {"p": 0.5, "gamma": None, "init": "best", "variant": "corrected", **options}
    options = {"n_samples": float(len(Y)), "tol": 1e-6, "max_iter": 2000, **options}
    return lpinf(design, Y, k, **options)


def solve_rfs(design, Y, gamma, **options):
    options = {"k": 1, "fit_intercept": True, "solver": "auto", "tol": 1e-6, **options}
    return rfs(design, Y, gamma=gamma, **{"max_iter": None, **options})


def labels(seed=0, n=40, d=60, c=3, noise=0.5, center=True):
    """A scaled design and labels of c classes that the first five features tell apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    X = rng.standard_normal((n, d))
    X[:, :5] += rng.standard_normal((c, 5))[y] / noise
    return make_design(X, center=center, scale=True)[0], np.eye(c)[y]


def solve_nmapg(design, Y, k, **options):
    options = {"gamma": 0.1, "rho": None, "mu": None, "init": "best", **options}
    options = {"variant": "corrected", "fit_intercept": True, **options}
    return nmapg(design, Y, k, **{"tol": 1e-7, "max_iter": 200, **options})


def solve_rpfs(design, Y, k, seed=0, **options):
    options = {"mu": 0.1, "rho": 1.02, "max_iter": 1000, "init": None, "n_restarts": 0, **options}
    options = {"init_scale": None, "variant": "corrected", "fit_intercept": True, **options}
    return rpfs(design, Y, k, rng=np.random.default_rng(seed), **{"tol": 1e-6, **options})


def loss_at(X, Y, W):
    return float(np.sum((Y - X @ W) ** 2))


def best_loss(X, Y, k):
    """The least squared loss over all supports of size k."""
    return min(
        float(np.linalg.lstsq(X[:, S], Y, rcond=None)[1].sum())
        for S in combinations(range(X.shape[1]), k)
    )


def l21_loss(X, Y, W, b):
    return np.linalg.norm(Y - X @ W - b, axis=1).sum()


def primal(X, Y, W, b, gamma, omega=1.0):
    loss = omega * np.linalg.norm(Y - X @ W - b, axis=1)
    return loss.sum() + gamma * np.linalg.norm(W, axis=1).sum()


def refit(design, Y, support, *, weights=None, gamma=0.0, fit_intercept=True, tol=1e-8):
    """The refit of the l2,1 loss on a support."""
    loss = L21Loss.from_targets(design, Y, weights, fit_intercept)
    return loss.refit(np.asarray(support), penalty=gamma, tol=tol)


def check_gradient(form, shape, seed=1):
    """The gradient of a composite's smooth part equals finite differences."""
    V, D = np.random.default_rng(seed).standard_normal((2, *shape))
    slope = np.vdot(form.gradient(V, form.product(V)), D)
    up, down = V + 1e-6 * D, V - 1e-6 * D
    difference = form.value(up, form.product(up)) - form.value(down, form.product(down))
    np.testing.assert_allclose(difference / 2e-6, slope, rtol=1e-5)


def check_lipschitz(form, shape, seed=3):
    """The gradient of a composite's smooth part changes no faster than its constant says."""
    rng = np.random.default_rng(seed)
    for scale in (1e-3, 0.1, 1.0):
        V, D = rng.standard_normal((2, *shape)) * scale
        change = form.gradient(V + D, form.product(V + D)) - form.gradient(V, form.product(V))
        assert np.linalg.norm(change) <= form.lipschitz * np.linalg.norm(D) * (1 + 1e-9)
