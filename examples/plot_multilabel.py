"""
Several labels at once
======================

A sample may have several labels, as a photograph that shows both a beach and a mountain. One
choice of features has to serve all of them: each feature has one row of coefficients, with one
number for each label, and a row is zero or not as a whole.
"""

# %%
# Labels that share features
# --------------------------
# 400 samples, 100 features, five labels of which each is true for a quarter of the samples. Eight
# features are planted, and each of them matters to several labels.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_predict
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline

from rowsparse import TopK, get_selector
from rowsparse.datasets import make_row_sparse

X, Y, planted = make_row_sparse(
    400, 100, 8, 5, task="multilabel", correlation=0.8, imbalance=3.0, random_state=0
)
print(X.shape, Y.shape, "share of ones:", Y.mean(axis=0))

# %%
# A selector takes the matrix of zeros and ones as it is.
selector = TopK(8, loss="logistic", random_state=0).fit(X, Y)
print("found:", selector.get_support(indices=True))
print("planted:", np.flatnonzero(planted))

# %%
# How well do the features predict?
# ---------------------------------
# The features are selected inside each fold, and one logistic regression for each label is
# fitted on them. Neighbouring columns are correlated here: a test of single features (F) takes
# neighbours of a good feature for good features.
classifier = MultiOutputClassifier(LogisticRegression())
ks = [2, 4, 6, 8, 12, 16]
curves = {}
for name in ("topk", "mtfs", "fstatistic"):
    label = type(get_selector(name)).__name__
    curves[label] = []
    for k in ks:
        model = make_pipeline(get_selector(name, k), classifier)
        predicted = cross_val_predict(model, X, Y, cv=5)
        curves[label].append(f1_score(Y, predicted, average="macro"))
for label, values in curves.items():
    print(f"{label:11s}", np.round(values, 3))

# %%
# The rows of the coefficients, and the scores
# --------------------------------------------
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
chosen = selector.get_support(indices=True)
coef = selector.coef_[:, chosen].T
limit = np.abs(coef).max()
image = left.imshow(coef, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
left.set_xticks(range(5), [f"label {i}" for i in range(5)], rotation=30)
left.set_yticks(range(len(chosen)), [f"feature {j}" for j in chosen])
left.set_title("Coefficients of the selected features")
figure.colorbar(image, ax=left)
for label, values in curves.items():
    right.plot(ks, values, "o-", label=label)
right.axvline(8, color="0.8", ls="--", zorder=0)
right.set(xlabel="features selected (8 are planted)", ylabel="macro F1, 5 folds")
right.set_title("Features of three selectors")
right.legend(loc="lower right")
plt.show()
