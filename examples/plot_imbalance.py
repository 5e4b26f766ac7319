"""
A rare class
============

Two common classes and a rare one, of 3 % of the samples. Whoever counts errors hardly notices the
rare class, and a selection that counts every sample alike spends all its features on the common
ones. ``class_weight="balanced"`` gives every class the same weight.
"""

# %%
# Data with a rare class
# ----------------------
# Features 0 to 7 tell the two common classes apart, a little each. Features 8 to 10 mark the
# rare class. The other 189 are noise.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import ConfusionMatrixDisplay, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from rowsparse import TopK

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 1000)
y[:30] = 2
X = rng.standard_normal((1000, 200))
X[:, :8] += np.array([0.5, -0.5, 0.0])[y][:, None]
X[:, 8:11] += np.array([0.0, 0.0, 2.0])[y][:, None]

# %%
# Eight features with and without class weights
# ---------------------------------------------
# The classifier that follows has balanced weights in both cases: only the selection differs.
# Balanced accuracy is the mean of the shares of each class that are recognised.
folds = StratifiedKFold(5, shuffle=True, random_state=0)
selectors = {
    "every sample alike": TopK(8, loss="squared", random_state=0),
    'class_weight="balanced"': TopK(8, loss="squared", class_weight="balanced", random_state=0),
}
predicted = {}
for name, selector in selectors.items():
    model = make_pipeline(selector, LogisticRegression(class_weight="balanced"))
    predicted[name] = cross_val_predict(model, X, y, cv=folds)
    score = balanced_accuracy_score(y, predicted[name])
    print(f"{name}: features {selector.fit(X, y).get_support(indices=True)}")
    print(f"    balanced accuracy {score:.3f}")

# %%
# Who is recognised
# -----------------
# Rows are the true classes; the numbers are shares of a row.
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, (name, values) in zip(axes, predicted.items(), strict=True):
    ConfusionMatrixDisplay.from_predictions(
        y,
        values,
        normalize="true",
        display_labels=["common 1", "common 2", "rare"],
        values_format=".2f",
        cmap="Blues",
        colorbar=False,
        ax=ax,
    )
    ax.set_title(f"selected with {name}" if "=" in name else f"selected, {name}", fontsize=11)
plt.show()
