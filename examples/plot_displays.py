"""
Pictures of selectors and comparisons
=====================================

The displays of :mod:`rowsparse.plotting` follow those of scikit-learn: a class method computes what
there is to see and draws it, the object keeps the numbers as attributes, and ``plot(ax=...)`` draws
it again. matplotlib comes with the extra ``plot`` or ``report``.
"""

# %%
# What was selected, and how steadily
# -----------------------------------
# The scores of the selected features with the share of the subsamples that selects each.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from rowsparse import NearOptimal, StabilitySelection, TopK, TopKCV
from rowsparse.evaluation import compare_over_datasets, selection_curve
from rowsparse.plotting import (
    CertificateDisplay,
    ComparisonDisplay,
    CorrelationDisplay,
    NearOptimalDisplay,
    PathDisplay,
    SelectionDisplay,
    StabilityDisplay,
)

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
selector = TopK(5, loss="squared", certify=True, random_state=0).fit(X, y)
stable = StabilitySelection(TopK(5), threshold=0.6, random_state=0).fit(X, y)
SelectionDisplay.from_estimator(selector, stability=stable)
plt.show()

# %%
# The frequencies of more features, with intervals.
StabilityDisplay.from_estimator(stable, max_features=12)
plt.show()

# %%
# How many features
# -----------------
# With the data, the features of each choice are below the curve.
PathDisplay.from_estimator(TopKCV(k_max=15, random_state=0).fit(X, y), X, y)
plt.show()

# %%
# How sure
# --------
# The lower bound rises until it meets the objective.
CertificateDisplay.from_estimator(selector)
plt.show()

# %%
# Which other choices are as good
# -------------------------------
# A row for each choice within the tolerance, the best at the top; the features at the left are in
# all of them.
near = NearOptimal(TopK(5, loss="squared", random_state=0), tolerance=0.03).fit(X, y)
print(len(near.choices_), "choices; in all of them:", *X.columns[near.in_all_])
NearOptimalDisplay.from_estimator(near)
plt.show()

# %%
# Correlations of the selected features with each other, and with the closest that were left out.
CorrelationDisplay.from_estimator(selector, X, n_closest=2)
plt.show()

# %%
# Several selectors
# -----------------
curve = selection_curve(["topk", "fstatistic", "mrmr"], X, y, ks=[1, 2, 3, 5, 8, 12])
ComparisonDisplay.from_curve(curve, highlight="TopK")
plt.show()

# %%
# Scores on many data sets become mean ranks; bars join selectors that the test does not tell apart.
# Here the scores are random numbers.
rng = np.random.default_rng(0)
scores = rng.random((20, 5)) + np.array([0.8, 0.6, 0.5, 0.1, 0.0])
ComparisonDisplay.from_comparison(compare_over_datasets(scores, ["A", "B", "C", "D", "E"]))
plt.show()

# %%
# On axes of your own
# -------------------
figure, axes = plt.subplots(1, 2, figsize=(10, 3), layout="constrained")
display = SelectionDisplay.from_estimator(selector, ax=axes[0], color="tab:green")
CertificateDisplay.from_estimator(selector, ax=axes[1])
display.ax_.set_title("five features")
plt.show()
