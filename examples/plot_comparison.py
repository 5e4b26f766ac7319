"""
Comparing selectors fairly
==========================

Select features from all samples, then cross-validate a classifier on them: the accuracy is too
high, because the test samples took part in the selection. With many columns and few samples it is
far too high, even on noise. :func:`rowsparse.evaluation.selection_curve` selects inside the folds.
"""

# %%
# Noise
# -----
# 60 samples, 1000 columns and two classes that have nothing to do with them: every honest accuracy
# is about one half.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from rowsparse.evaluation import selection_curve
from rowsparse.plotting import ComparisonDisplay

rng = np.random.default_rng(0)
X, y = rng.standard_normal((60, 1000)), np.repeat([0, 1], 30)
ks = [5, 10, 20]
for protocol in ("published", "honest"):
    curve = selection_curve(["fstatistic", "topk"], X, y, ks, protocol=protocol)
    for name, values in zip(curve.selectors, curve.mean("accuracy", "linear SVM"), strict=True):
        print(f"{protocol:9s} {name:11s}", np.round(values, 2))

# %%
# Digits
# ------
# Four selectors, two classifiers, the same five folds for all.
X, y = load_digits(return_X_y=True)
names = ["topk", "mrmr", "fstatistic", "relieff"]
curve = selection_curve(names, X[::2], y[::2], ks=[3, 5, 8, 12, 20])
print(curve.selectors)

# %%
# How steadily the same features come out of the folds is another property of a selector.
for name in curve.selectors:
    stability, low, high = curve.stability(name, 8)
    print(f"{name:11s} stability of 8 features {stability:.2f} ({low:.2f} to {high:.2f})")

# %%
# The curves
# ----------
# Means over the folds, with their standard deviations: differences that are much smaller than these
# say little.
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, estimator in zip(axes, curve.estimators, strict=True):
    ComparisonDisplay.from_curve(curve, estimator=estimator, ax=ax)
plt.show()
