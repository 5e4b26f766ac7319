"""A small problem with a proof of all its steps."""

from __future__ import annotations

import numpy as np

from rowsparse import TopK


def kept_proof(n=40, d=30, k=4, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.standard_normal((n, 2))
    options = {"alpha": 0.05, "certify": True, "keep_proof": True, "random_state": 0}
    return X, y, TopK(k, **options).fit(X, y)
