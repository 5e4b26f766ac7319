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
from sklearn.datasets import load_diabetes

from rowsparse import TopKCV, topk_path
from rowsparse.plotting import PathDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True)
path = topk_path(X, y, 10, alpha=0.01, task="regression", random_state=0)
for k, support in zip(path.ks, path.supports, strict=True):
    print(f"{k:2d}", " ".join(X.columns[support]))

# %%
# How many?
# ---------
# In each of ten folds the whole path is computed from the training samples and scored (R²) on the
# others. The default rule takes the fewest features whose mean score is within one standard error
# of the best: more features than that are not clearly better.
chooser = TopKCV(k_max=10, alpha=0.01, cv=10, task="regression", random_state=0).fit(X, y)
print(chooser.n_features_, "features:", " ".join(chooser.get_feature_names_out()))

# %%
# The scores, with their standard errors, and the number that was chosen:
PathDisplay.from_estimator(chooser)
plt.show()

# %%
# And what each feature adds on all samples, with the features of each choice below. A best choice
# need not be that of one feature less and one more; on these data all of them are.
PathDisplay.from_path(path, X.columns)
plt.show()
