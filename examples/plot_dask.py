"""
Dask: data on many machines
===========================

Dask collections take the place of X and y in ``fit``. Every partition of rows becomes its
statistics where it lies, neighbours are merged in pairs, and one small matrix comes back, from
which the features are selected. This example uses the threads of one process; with a
``distributed.Client`` the same lines run on a cluster.
"""

# %%
# Without dask there is nothing to show: ``pip install "rowsparse[dask]"`` brings it.
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np

from rowsparse import TopK

HAS_DASK = find_spec("dask") is not None
if not HAS_DASK:
    print('This example needs dask: pip install "rowsparse[dask]".')

# %%
# A dask array
# ------------
# 100,000 rows in 20 partitions. Nothing is computed before ``fit``.
if HAS_DASK:
    import dask
    import dask.array as da

    X = da.random.default_rng(0).standard_normal((100_000, 60), chunks=(5_000, 60))
    noise = da.random.default_rng(1).standard_normal(100_000, chunks=5_000)
    y = X[:, 3] - 0.5 * X[:, 17] + 0.25 * X[:, 42] + 3.0 * noise
    with dask.config.set(scheduler="threads", num_workers=2):
        selector = TopK(3, task="regression", random_state=0).fit(X, y)
    print("selected:", selector.get_support(indices=True))

# %%
# ``transform`` gives a dask array of the selected columns, not computed yet.
if HAS_DASK:
    print(selector.transform(X))

# %%
# What is sent
# ------------
# X stays where it is. What goes over the wire is one matrix of d x d numbers for each merge,
# however many rows there are.
rows = np.logspace(4, 9, 50)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for columns, colour in ((100, "tab:blue"), (1000, "tab:orange")):
    ax.loglog(rows, 8e-6 * rows * columns, color=colour, label=f"X, {columns} columns")
    ax.axhline(8e-6 * columns**2, color=colour, ls="--", label=f"X'X, {columns} columns")
ax.set(xlabel="rows", ylabel="MB", title="Size of the data and of what comes back")
ax.legend()
plt.show()
