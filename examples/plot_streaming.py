"""
Samples that come in blocks
===========================

Data larger than memory are read in blocks of rows. The squared loss needs nothing of the samples
but counts, means and products, which add up over blocks; one pass over the data is enough, and
the features are those that all samples at once would have given.
"""

# %%
# A source of blocks
# ------------------
# :class:`rowsparse.RowBlocks` takes any function that returns an iterator over blocks (X, y).
# Files in Parquet, Arrow or HDF5 have constructors of their own. Here 40 blocks of 500 rows are
# made as they are asked for: there are never more than 500 rows in memory.
import matplotlib.pyplot as plt
import numpy as np

from rowsparse import Moments, RowBlocks, TopK

weights = np.array([1.0, -0.8, 0.6, -0.4, 0.3, 0.2])
planted = np.array([5, 20, 37, 58, 71, 90])


def read():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((500, 100))
        yield X, X[:, planted] @ weights + 4.0 * rng.standard_normal(500)


selector = TopK(6, task="regression", random_state=0).fit(RowBlocks(read))
print("selected", selector.get_support(indices=True), "in", selector.n_passes_, "pass")

# %%
# The same from all rows at once
# ------------------------------
X, y = (np.concatenate(parts) for parts in zip(*read(), strict=True))
whole = TopK(6, task="regression", random_state=0).fit(X, y)
print("same features:", np.array_equal(selector.support_, whole.support_))
print("same objective:", np.isclose(selector.objective_, whole.objective_))

# %%
# A choice after every block
# --------------------------
# :class:`rowsparse.Moments` are the statistics themselves. They have the size of X'X, whatever the
# number of rows, can be saved, and merged with those of other machines. ``partial_fit`` of a
# selector does the same.
moments = Moments(task="regression")
chosen = np.zeros((40, 100), dtype=bool)
for block, (X, y) in enumerate(read()):
    moments.update(X, y)
    chosen[block] = TopK(6, task="regression", random_state=0).fit_moments(moments).support_

# %%
# The weaker a feature, the more rows it takes to find it.
ever = np.flatnonzero(chosen.any(axis=0))
others = np.setdiff1d(ever, planted)
rows = [*planted, *others]
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
colours = np.where(chosen[:, rows].T, np.where(np.isin(rows, planted), 2, 1)[:, None], 0)
ax.imshow(colours, cmap="Blues", vmax=2.6, aspect="auto", extent=(0, 20, len(rows), 0))
ax.axhline(len(planted), color="k", lw=0.8)
labels = [f"feature {j}: {w:+.1f}" for j, w in zip(planted, weights, strict=True)]
ax.set_yticks(np.arange(len(rows)) + 0.5, labels + [f"feature {j}" for j in others], fontsize=8)
ax.set(xlabel="thousands of rows read", title="Selected so far; below the line, noise")
plt.show()
