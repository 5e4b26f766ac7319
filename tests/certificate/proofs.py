"""Small problems with proofs, and statements."""

from __future__ import annotations

import numpy as np

from rowsparse import TopK
from rowsparse.certificate import Statement
from rowsparse.certificate.data import Scaled, Table


def kept_proof(n=40, d=30, k=4, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.standard_normal((n, 2))
    options = {"alpha": 0.05, "certify": True, "loss": "squared", "random_state": 0}
    return X, y, TopK(k, **options).fit(X, y)


def statement(d, k, **changes):
    values = {
        "alpha": 0.5,
        "loss": "squared",
        "task": "regression",
        "standardize": True,
        "fit_intercept": True,
        "class_weight": None,
        "include": [],
        "exclude": [],
        "clip": None,
    }
    return Statement(n_features=d, k=k, **values | changes)


def table_of(X, labels, weights=None, k=1, **changes):
    weights = np.ones(len(X)) if weights is None else weights
    about = statement(X.shape[1], k, **changes)
    return Table(about, X, labels, weights, about.class_weight)


def scaled(X, labels, weights=None, **changes):
    return Scaled.from_table(table_of(X, labels, weights, **changes))
