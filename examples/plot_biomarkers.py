"""
A biomarker panel with planted genes
====================================

A panel is to tell four subtypes of a disease apart by as few genes as possible. Genes act in
pathways: those of one pathway rise and fall together, and a test of single genes finds many copies
of the strongest signal. The data here are made, with six marker genes planted, so that we can count
how many of them each method finds.
"""

# %%
# Patients, pathways and genes
# ----------------------------
# 200 patients and 1500 genes in 50 pathways of 30. Six pathways have one marker gene each, and
# the subtype depends on these six genes only. The other genes of the pathway follow the marker
# with noise.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rowsparse import FStatistic, TopK

rng = np.random.default_rng(1)
n_patients, n_pathways, n_genes = 200, 50, 30
markers = np.arange(6) * n_genes  # the first gene of each of six pathways
subtype = np.repeat([0, 1, 2, 3], n_patients // 4)
shift = np.zeros((4, 6))
shift[[0, 1, 2], [0, 1, 2]] = 2.0
shift[[0, 1, 2], [3, 4, 5]] = 1.5
activity = rng.standard_normal((n_patients, n_pathways))
activity[:, :6] += shift[subtype]
own = rng.standard_normal((n_patients, n_pathways, n_genes))
X = 0.7 * (activity[:, :, None] + own).reshape(n_patients, -1)
X[:, markers] = activity[:, :6] + 0.3 * rng.standard_normal((n_patients, 6))
y = np.array(["A", "B", "C", "D"])[subtype]
print(X.shape)

# %%
# Six genes by a test of each gene, and six genes together
# --------------------------------------------------------
# The accuracy is that of logistic regression on the genes that were selected inside each fold.
panels = {"F statistic": FStatistic(6), "TopK": TopK(6, random_state=0)}
for name, selector in panels.items():
    model = make_pipeline(selector, StandardScaler(), LogisticRegression())
    accuracy = cross_val_score(model, X, y, cv=5).mean()
    found = np.intersect1d(selector.fit(X, y).get_support(indices=True), markers)
    print(f"{name}: {found.size} of 6 markers, accuracy {accuracy:.3f}")

# %%
# Is there a better panel?
# ------------------------
# There are 1.6e16 choices of six genes. ``certify=True`` proves that none of them has a lower
# objective than the one that was found.
proven = TopK(6, loss="squared", certify=True, random_state=0).fit(X, y)
print(proven.status_, "after", proven.n_nodes_, "subproblems")

# %%
# What the two see
# ----------------
# The six strongest genes by F lie in few pathways. TopK takes one gene a pathway.
scores = panels["F statistic"].scores_
figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
shown = np.arange(8 * n_genes)
ax.plot(shown, scores[shown], ".", color="0.75", label="other genes")
ax.plot(markers, scores[markers], "o", ms=11, mfc="none", mec="k", label="planted markers")
for (name, selector), style in zip(panels.items(), ("x", "+"), strict=True):
    chosen = selector.get_support(indices=True)
    ax.plot(chosen, scores[chosen], style, ms=10, mew=2, label=f"selected by {name}")
for edge in range(0, shown.size + 1, n_genes):
    ax.axvline(edge - 0.5, color="0.9", lw=0.8, zorder=0)
ax.set(xlabel="gene (the first 8 of 50 pathways, 30 genes each)", ylabel="F statistic")
ax.legend(loc="upper right")
plt.show()
