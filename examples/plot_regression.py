"""
Numbers to predict: how many features are enough?
=================================================

Ten measurements of 442 patients, and the progress of their diabetes a year later. Which
measurements predict it, and how many are worth asking for? :func:`rowsparse.topk_path` finds the
best choice of every size, and :class:`rowsparse.TopKCV` says by cross-validation which size is
enough.
"""

# %%
# The best choice of every size
# -----------------------------
# The target is a whole number between 25 and 346, which might as well be the number of a class:
# ``task="regression"`` says that it is not.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from rowsparse import TopKCV, topk_path

data = load_diabetes()
X, y, names = data.data, data.target, np.array(data.feature_names)
path = topk_path(X, y, 10, alpha=0.01, task="regression", random_state=0)
for k, support in zip(path.ks, path.supports, strict=True):
    print(f"{k:2d}", " ".join(names[support]))

# %%
# How many?
# ---------
# In each of ten folds the whole path is computed from the training samples and scored (R²) on the
# others. The default rule takes the fewest features whose mean score is within one standard error
# of the best: more features than that are not clearly better.
chooser = TopKCV(k_max=10, alpha=0.01, cv=10, task="regression", random_state=0).fit(X, y)
print(chooser.n_features_, "features:", " ".join(names[chooser.get_support()]))

# %%
# The curve, and when each feature enters
# ---------------------------------------
results = chooser.cv_results_
mean, ks = results["mean_test_score"], results["n_features"]
error = results["std_test_score"] / np.sqrt(10)
best = int(mean.argmax())
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.errorbar(ks, mean, error, fmt="o-", capsize=3)
left.axhline(
    mean[best] - error[best], color="0.6", ls=":", label="one standard error below the best"
)
left.axvline(chooser.n_features_, color="tab:orange", label=f"chosen: {chooser.n_features_}")
left.set(xlabel="number of features", ylabel="R² on test samples", xticks=ks)
left.legend(loc="lower right")
right.imshow(path.membership.T, cmap="Blues", vmax=1.5, aspect="auto")
right.set_xticks(range(10), path.ks)
right.set_yticks(range(10), names)
right.set(xlabel="number of features", title="Features of the best choice")
plt.show()
