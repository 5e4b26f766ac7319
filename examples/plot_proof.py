"""
A proof, saved and checked by somebody else
===========================================

"No other five features are better" is a strong claim. With ``keep_proof=True`` a certificate comes
with all its steps, and whoever has the data can check them with
:func:`rowsparse.certificate.verify`: plain NumPy, without the search that made the proof.
"""

# %%
# Make a proof
# ------------
import tempfile
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from rowsparse import TopK
from rowsparse.certificate import Proof, verify
from rowsparse.certificate.steps import Dual

X, y = load_wine(return_X_y=True)
selector = TopK(5, loss="squared", certify=True, keep_proof=True, random_state=0).fit(X, y)
path = Path(tempfile.mkdtemp()) / "proof.npz"
selector.proof_.save(path)
print(selector.status_, "in", len(selector.proof_), "steps,", path.stat().st_size, "bytes")

# %%
# Check it
# --------
# The file holds numbers only, no pickle. ``verify`` computes every bound anew from X and y, and
# returns the value that no choice of five features is below.
proof = Proof.load(path)
bound = verify(X, y, proof)
print(f"objective claimed {proof.objective:.6f}, bound verified {bound:.6f}")

# %%
# A damaged proof proves less
# ---------------------------
# Every step holds a matrix W, and the inequality behind the bound is true for any W. Whoever
# changes numbers in a proof, by accident or not, ends with a lower bound, never with a false one.
for factor in (1.0, 1.01, 1.03, 1.1, 1.3):
    steps = [
        replace(step, dual=Dual(step.dual.features, factor * step.dual.W)) if step.dual else step
        for step in proof.steps
    ]
    print(f"W times {factor}: bound {verify(X, y, replace(proof, steps=steps)):.6f}")

# %%
# All choices, to see that it is so
# ---------------------------------
# Thirteen columns are few enough to try all 1287 choices of five. None is below the bound.
Z = (X - X.mean(axis=0)) / X.std(axis=0)
Y = (y[:, None] == np.unique(y)).astype(float)
Y -= Y.mean(axis=0)
ridge = 0.5 * len(Z)
G, C = Z.T @ Z + ridge * np.eye(Z.shape[1]), Z.T @ Y
values = []
for choice in combinations(range(Z.shape[1]), 5):
    rows = list(choice)
    W = np.linalg.solve(G[np.ix_(rows, rows)], C[rows])
    values.append(np.sum(Y**2) - np.sum(C[rows] * W))
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ax.hist(values, bins=60, color="0.75")
ax.axvline(bound, color="tab:blue", label="verified lower bound")
ax.axvline(selector.objective_, color="tab:orange", ls="--", label="the choice of TopK")
ax.set(xlabel="objective", ylabel="choices", title="All 1287 choices of five columns")
ax.legend()
plt.show()
print(f"least of all {min(values):.6f}")
