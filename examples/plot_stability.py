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
from sklearn.datasets import load_breast_cancer

from rowsparse import FStatistic, StabilitySelection, TopK
from rowsparse.plotting import CorrelationDisplay, StabilityDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)

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
# The lines are 95 % intervals of the frequencies. Stable is not the same as useful: the F statistic
# picks the same four nearly every time, two that measure the size of the cell and two that measure
# its concave points.
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, (name, stable) in zip(axes, results.items(), strict=True):
    StabilityDisplay.from_estimator(stable, max_features=10, ax=ax)
    ax.set_title(f"{name}\n{ax.get_title()}", fontsize=10)
plt.show()

# %%
# What could take the place of a feature
# --------------------------------------
# The four features, and for each of them the one left out that is closest to it.
CorrelationDisplay.from_estimator(TopK(4, random_state=0).fit(X, y), X)
plt.show()
