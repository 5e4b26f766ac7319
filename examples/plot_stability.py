"""
Are they stable?
================

Would other samples have given the same features? :class:`rowsparse.StabilitySelection` selects
from many random halves of the samples and counts. A feature that comes out nearly every time can
be relied on; two features that say the same take turns.
"""

# %%
# Thirty measurements of cells
# ----------------------------
# Radius, perimeter and area of a cell say nearly the same: many choices of four are about as good.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from rowsparse import FStatistic, StabilitySelection, TopK

data = load_breast_cancer()
X, y, names = data.data, data.target, data.feature_names

# %%
# Frequencies
# -----------
# ``stability_`` is the measure of Nogueira, Sechidis and Brown: 1 if the same features come out
# every time, about 0 if they might as well have been drawn at random.
selectors = {"TopK": TopK(4), "F statistic": FStatistic(4)}
results = {}
for name, selector in selectors.items():
    stable = StabilitySelection(selector, n_subsamples=100, random_state=0).fit(X, y)
    low, high = stable.stability_interval_
    print(f"{name}: stability {stable.stability_:.2f} (95 % interval {low:.2f} to {high:.2f})")
    results[name] = stable

# %%
# Which features take turns
# -------------------------
# The lines are 95 % intervals of the frequencies, and the four selected features are orange.
# Stable is not the same as useful: the F statistic picks the same four nearly every time, two that
# measure the size of the cell and two that measure its concave points.
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.5), layout="constrained", sharex=True)
for ax, (name, stable) in zip(axes, results.items(), strict=True):
    order = np.argsort(-stable.frequencies_, kind="stable")[:12]
    low, high = stable.frequency_intervals_[order].T
    place = np.arange(len(order))
    ax.hlines(place, low, high, color="0.6")
    colours = np.where(stable.support_[order], "tab:orange", "tab:blue")
    ax.scatter(stable.frequencies_[order], place, c=colours, zorder=3)
    ax.set_yticks(place, names[order])
    ax.invert_yaxis()
    ax.set(xlabel="share of the subsamples", xlim=(-0.02, 1.02))
    ax.set_title(f"{name}: stability {stable.stability_:.2f}")
plt.show()
