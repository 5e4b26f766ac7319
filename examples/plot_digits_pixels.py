"""
Ten pixels of handwritten digits
================================

Which ten of the 64 pixels tell the ten digits apart? A filter scores every pixel by itself, so
that neighbours, which say nearly the same, are picked together. :class:`rowsparse.TopK` judges
the pixels together: it looks for the ten whose linear model has the least error, for all digits
at once, with squares by default or with the logistic loss.
"""

# %%
# The data
# --------
# Images of 8 x 8 pixels, 1797 of them, ship with scikit-learn.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from rowsparse import MRMR, FStatistic, TopK

X, y = load_digits(return_X_y=True)

# %%
# Four selections of ten pixels
# -----------------------------
# A selector goes into a pipeline like any other transformer. Inside ``cross_val_score`` the pixels
# are selected from the training samples of each fold alone, so that the accuracy is an honest one.
selectors = {
    "F statistic": FStatistic(10),
    "mRMR": MRMR(10),
    "TopK, squared": TopK(10, loss="squared", random_state=0),
    "TopK, logistic": TopK(10, loss="logistic", n_restarts=2, random_state=0),
}
classifier = KNeighborsClassifier(5)
accuracy = {
    name: cross_val_score(make_pipeline(selector, classifier), X, y, cv=5).mean()
    for name, selector in selectors.items()
}
accuracy["all 64 pixels"] = cross_val_score(classifier, X, y, cv=5).mean()
for name, value in accuracy.items():
    print(f"{name:14s} {value:.3f}")

# %%
# Where the pixels are
# --------------------
# The number on a pixel is its place among the ten, by ``scores_``.
figure, axes = plt.subplots(1, 4, figsize=(11, 3.8), layout="constrained")
for ax, (name, selector) in zip(axes, selectors.items(), strict=True):
    selector.fit(X, y)
    ax.imshow(X.mean(axis=0).reshape(8, 8), cmap="Greys", vmax=24)
    chosen = selector.get_support(indices=True)
    by_score = sorted(chosen, key=lambda pixel: -selector.scores_[pixel])
    for place, pixel in enumerate(by_score, start=1):
        row, column = divmod(int(pixel), 8)
        square = plt.Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor="tab:orange")
        ax.add_patch(square)
        ax.text(column, row, str(place), ha="center", va="center")
    ax.set_title(f"{name}\naccuracy {accuracy[name]:.3f}", fontsize=11)
    ax.set_axis_off()
figure.suptitle(f"The ten pixels (all 64: accuracy {accuracy['all 64 pixels']:.3f})")
plt.show()
