"""
Are they the only ones?
=======================

A selector gives one answer, and the question that follows is which of its features could be
exchanged. :class:`rowsparse.NearOptimal` lists every choice that is nearly as good as the best one,
and proves that there are no others.
"""

# %%
# Five of thirty measurements of cells
# ------------------------------------
# All choices of five with a loss of at most 3 % above the least one, of 142,506.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from rowsparse import NearOptimal, StabilitySelection, TopK
from rowsparse.plotting import NearOptimalDisplay, StabilityDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
near = NearOptimal(TopK(5, random_state=0), tolerance=0.03).fit(X, y)
print(len(near.choices_), "choices; proven to be all:", near.complete_)

# %%
# Which can be exchanged, and which cannot
# ----------------------------------------
# A row for each choice, the best at the top. The features at the left are in all of them: without
# one of them, the loss is more than 3 % above the least.
NearOptimalDisplay.from_estimator(near)
plt.show()

# %%
# What it costs to leave one out
# ------------------------------
# ``cost_without_`` is the least rise of the loss if a feature is left out, ``cost_with_`` if it is
# forced in. Where a listed choice has that rise it is exact; otherwise it is at least that much.
print(near.to_frame()[["name", "verdict", "share", "cost_without", "cost_with"]].round(3))

# %%
# Not a statement about other samples
# -----------------------------------
# The list is about the loss on these samples. Whether a feature would come back on others is
# another question, and :class:`rowsparse.StabilitySelection` asks it.
stable = StabilitySelection(TopK(5, random_state=0), n_subsamples=50, random_state=0).fit(X, y)
StabilityDisplay.from_estimator(stable, max_features=12)
plt.show()
