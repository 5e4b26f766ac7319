"""
Ten pixels that tell the digits apart
=====================================

The digits are pictures of 8 x 8 pixels. Which ten of the 64 pixels serve a linear model of the ten
classes best, together?
"""

# %%
# ``TopK`` fits one linear model for all classes and lets only ten pixels have coefficients. It
# exchanges pixels until no exchange lowers the objective any more.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from rowsparse import FStatistic, TopK

X, y = load_digits(return_X_y=True)
together = TopK(10, random_state=0).fit(X, y)
print("pixels:", together.get_support(indices=True))
print(f"objective: {together.objective_:.1f}")

# %%
# A filter takes the ten pixels that are best one by one, and many of them say the same.

one_by_one = FStatistic(10).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(7, 3.6))
for ax, selector in zip(axes, (together, one_by_one), strict=True):
    ax.imshow(X.mean(axis=0).reshape(8, 8), cmap="gray_r")
    for pixel in selector.get_support(indices=True):
        row, column = divmod(pixel, 8)
        ax.add_patch(plt.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, ec="C1", lw=3))
    ax.set(title=type(selector).__name__, xticks=[], yticks=[])
figure.suptitle("Ten pixels, over the mean of all digits")
plt.show()

# %%
# Judged on samples that took no part in the selection: each fold of the cross-validation picks its
# own pixels.

from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

for selector in (TopK(10, random_state=0), FStatistic(10)):
    model = make_pipeline(selector, KNeighborsClassifier(5))
    accuracy = cross_val_score(model, X, y, cv=5).mean()
    print(f"{type(selector).__name__:>10}: accuracy {accuracy:.3f}")
